import { graphStyle } from '../../output/graph/graph-style.ts';
import { pageStyle } from '../../output/html/page-style.ts';

/** The look of a report, and what a site has besides: a bar, tiles, badges, lists and forms. */
export const siteStyle = `${pageStyle}${graphStyle}
body{min-height:100vh}
main{max-width:1180px;padding:20px 16px 48px}
main:focus{outline:0}
h1 code{font-size:inherit}
a{text-decoration-thickness:1px;text-underline-offset:2px}
.skip{position:absolute;left:-999px;top:4px;background:var(--paper);padding:6px 10px;z-index:3}
.skip:focus{left:8px}
.bar{max-width:none;padding:0;background:var(--box);border-bottom:1px solid var(--line)}
.bar-inner{max-width:1180px;margin:0 auto;padding:8px 16px;display:flex;flex-wrap:wrap;gap:4px 14px;align-items:center}
.brand{font-weight:700;color:var(--ink);text-decoration:none}
.bar nav{display:flex;gap:4px}
.bar nav a{padding:4px 8px;border-radius:6px;color:var(--ink);text-decoration:none}
.bar nav a:hover{background:var(--paper)}
.bar nav a[aria-current]{font-weight:600;box-shadow:inset 0 -2px 0 var(--ask);border-radius:6px 6px 0 0}
.clock{margin-left:auto;font-variant-numeric:tabular-nums}
.bar form{margin:0}
body:has(main [name=token]) .bar .button{display:none}
#who{display:contents}
.who{max-width:16em;min-width:3em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
button,.button{display:inline-block;font:inherit;font-size:14px;line-height:1.4;padding:5px 12px;border:1px solid var(--wire);border-radius:6px;background:var(--paper);color:var(--ink);cursor:pointer;text-decoration:none}
button:hover,.button:hover{border-color:var(--ink)}
.confirm button:disabled{opacity:.5;border-color:var(--wire);cursor:default}
.primary{background:var(--ask);border-color:var(--ask);color:var(--paper);font-weight:600}
#connection{margin:0;padding:8px 16px;text-align:center;background:var(--change);color:var(--paper);font-weight:600}
.lost main .badge,.lost main time{color:var(--faint)}
.head{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:flex-start;margin-bottom:4px}
.head>div:first-child{flex:1 1 320px;min-width:0}
.crumbs{font-size:13px;margin:0 0 4px;overflow-wrap:anywhere}
.actions{display:flex;flex-wrap:wrap;gap:8px}
.badge{display:inline-flex;align-items:center;gap:6px;font-size:13px;line-height:1.4;font-weight:600;white-space:nowrap}
.badge::before{content:"";width:8px;height:8px;border-radius:50%;background:currentColor;flex:none}
.badge.faint{font-size:13px;font-weight:600}
.badge.odd::before{border-radius:1px}
.badge.bad::before{border-radius:1px;transform:rotate(45deg)}
.standing{display:flex;flex-wrap:wrap;gap:4px 12px;align-items:baseline;margin:6px 0 0}
.standing .badge{font-size:16px}
.rows time{white-space:normal}
.checked{display:inline-flex;flex-wrap:wrap;gap:0 8px}
time span{white-space:nowrap;font-variant-numeric:tabular-nums}
.age{color:var(--faint)}
.scripted .at{display:none}
.scripted .age{color:inherit}
.scripted .facts .at,.scripted .standing .at{display:inline}
.scripted .facts .age,.scripted .standing .age{color:var(--faint)}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,150px),1fr));gap:10px;padding:0;margin:16px 0;list-style:none}
@media (min-width:720px){.tiles{grid-template-columns:repeat(5,1fr)}}
.tiles a{display:block;height:100%;padding:12px 14px;border:1px solid var(--line);border-radius:8px;color:var(--ink);text-decoration:none;background:var(--paper)}
.tiles a:hover{border-color:var(--wire);background:var(--box)}
.tiles strong{display:block;font-size:26px;line-height:1.2;font-weight:600;font-variant-numeric:tabular-nums}
.tiles small{display:block;color:var(--faint);font-size:13px}
.facts{display:grid;grid-auto-flow:dense;grid-template-columns:repeat(auto-fill,minmax(min(100%,290px),1fr));gap:8px 20px;margin:12px 0 0;padding:0}
.facts div{min-width:0}
.facts .long{grid-column:1/-1}
dt{color:var(--faint);font-size:13px}
dt,dd{margin:0;overflow-wrap:anywhere}
.rows{border-collapse:collapse;width:100%;margin:4px 0 12px;font-size:14px}
.rows th,.rows td{text-align:left;padding:8px 14px 8px 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere;vertical-align:top}
.rows th{font-size:13px;font-weight:600;color:var(--faint);white-space:nowrap}
.rows tbody tr:hover{background:var(--box)}
@media (min-width:720px){.rows .name{width:40%}.rows .text{width:60%}.rows td[data-title=Status],.rows td[data-title=Since],.rows td[data-title=Checked]{min-width:7em}.rows .by:not(:empty){min-width:10em}.rows td:not(.name,.text,.by){white-space:nowrap}}
@media (max-width:719px){.bar-inner{gap:4px 10px}.clock,.who{font-size:13px}.clock{margin-left:0}.who{flex:1 1 0;text-align:right}.bar-inner .button{margin-left:auto}.facts{gap:4px}.facts div{display:grid;grid-template-columns:84px minmax(0,1fr);gap:8px}.wide,.tiles small{display:none}.tiles a{display:flex;gap:10px;align-items:baseline;padding:8px 12px}.tiles strong{font-size:20px}dd{font-size:14px}.rows thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}.rows tr{display:flex;flex-wrap:wrap;gap:2px 10px;padding:8px 0;border-bottom:1px solid var(--line)}.rows td{padding:0;border:0;min-width:0}.rows td:empty{display:none}.rows td[data-title]:not(.text){font-size:13px}.rows td[data-title]:not(.text,:has(>.badge))::before{content:attr(data-title) " ";color:var(--faint)}.rows td:first-child,.rows .text{flex-basis:100%}.rows td:first-child{font-weight:600}.rows a,.crumbs a,.pager a,.tasks a:not(.button),dd a{display:inline-block;padding-block:4px}}
@media (min-width:720px) and (max-width:999px){.rows .name{width:60%}.rows .text{width:40%}.rows td[data-title]{min-width:0}.rows .at{white-space:normal}.rows td:has(>time,>.checked,>a>time){min-width:8.5em}}
.by bdi{display:-webkit-inline-box;vertical-align:top;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden;max-width:24em}
@media (min-width:720px){.rows .name:has(.resource-link){width:45%}.rows .name:has(.resource-link)~.text{width:55%}}
.rows .brief{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden}
.rows .all td{font-size:13px;font-weight:400}
@media (min-width:720px){.rows .brief{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden}
.rows .all td{padding-block:10px}.rows tbody+tbody::before{content:"";display:block;height:12px}}
@media (max-width:999px){.rows .mode{display:none}}
@media (min-width:1000px){.rows .by:not(:empty){min-width:13em}}
.panel{border:1px solid var(--line);border-radius:8px;padding:12px 14px;margin:12px 0;overflow-wrap:anywhere}
.panel.bad{border-left:4px solid var(--bad);color:inherit}
.panel.change{border-left:4px solid var(--change);color:inherit}
.panel h2,.panel h3{margin:0 0 4px;font-size:15px}
.panel ul{margin:0;padding-left:20px}
.panel p{margin:4px 0}
.tasks{list-style:none;margin:4px 0 12px;padding:0}
.tasks>li{display:flex;gap:10px;padding:8px 0;border-bottom:1px solid var(--line)}
.tasks>li::before{content:"";flex:none;width:8px;height:8px;margin-top:7px;border-radius:50%;background:var(--ask)}
.tasks>li>div{min-width:0;overflow-wrap:anywhere}
.tasks ul{margin:2px 0 0;padding-left:18px}
.tasks p{margin:2px 0 0}
.filter{display:flex;flex-wrap:wrap;gap:8px 12px;align-items:flex-end;margin:12px 0}
.filter label{display:flex;flex-direction:column;font-size:13px;color:var(--faint);min-width:0;flex:1 1 150px}
.filter button,.filter .button{padding-block:7px}
input[type=text],input[type=search],input[type=password],select,textarea{font:inherit;width:100%;padding:6px 10px;border:1px solid var(--wire);border-radius:6px;background:var(--paper);color:var(--ink);min-width:0;min-height:36px}
.narrow{max-width:460px;margin:24px auto}
.narrow form label,.confirm label{display:block;margin:12px 0;max-width:460px}
.confirm .actions{margin-top:16px}
.effect{margin:16px 0;max-width:70em}
.plan~.confirm{position:sticky;bottom:0;background:var(--paper);border-top:1px solid var(--line)}
.plan~.confirm .actions{margin:12px 0}
html:has(.plan~.confirm){scroll-padding-bottom:80px}
details.group{border-bottom:1px solid var(--line)}
details.group>summary{padding:8px 0;cursor:pointer;overflow-wrap:anywhere}
details.group>summary h2{display:inline;margin:0}
.facts+.plan{margin-top:20px}
details.group>summary .badge{margin:0 6px 0 4px}
details.group>summary strong{font-weight:600;margin-right:6px}
details.group .rows{margin:0 0 8px 18px;width:calc(100% - 18px)}
details.group .rows tr:last-child td{border-bottom:0}
.pager{display:flex;gap:16px;align-items:center;margin:12px 0;color:var(--faint)}
.empty{color:var(--faint);padding:20px;text-align:center;border:1px dashed var(--line);border-radius:8px}
.resource-link{text-decoration:none}
.resource-link:hover,.resource-link:focus{text-decoration:underline}
.plan h2{font-size:15px;margin:16px 0 6px}
section>h2,section>.head{margin-top:32px}
.head h2{margin:4px 0;flex:1 1 320px}
h2 .button{margin-left:8px;font-weight:400;font-size:13px;padding:2px 10px}
@media print{.bar,.actions,.filter,.pager{display:none}}
`;
