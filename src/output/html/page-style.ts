import { colorStyle } from './colors.ts';

/** How a page looks: light and dark as the reader's system is, on a phone as on a wide screen, and on paper. */
export const pageStyle = `
${colorStyle(':root')}
:root{color-scheme:light dark}
*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main,header,footer{max-width:1080px;margin:0 auto;padding:0 16px}
header{padding-top:24px}
h1{font-size:22px;line-height:1.3;margin:0;overflow-wrap:anywhere}
h2{font-size:16px;margin:28px 0 8px;overflow-wrap:anywhere}
h2 small,.faint{color:var(--faint);font-weight:400;font-size:13px}
code,pre,.mono{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.where{color:var(--faint);margin:4px 0 12px;overflow-wrap:anywhere}
.summary{font-size:17px;font-weight:600;margin:0 0 12px}
:focus-visible{outline:2px solid var(--ask);outline-offset:2px;border-radius:4px}
.tools{display:flex;flex-wrap:wrap;gap:8px;align-items:center;padding:8px 0;border-bottom:1px solid var(--line)}
@media (min-width:720px){.tools{position:sticky;top:0;background:var(--paper);z-index:1}}
.tools input[type=search]{flex:1 1 200px;min-width:0;font:inherit;padding:6px 10px;border:1px solid var(--line);border-radius:6px;background:var(--box);color:inherit}
.tools button,.chip{font:inherit;font-size:13px;padding:4px 10px;border:1px solid var(--line);border-radius:999px;background:var(--box);color:inherit;cursor:pointer;white-space:nowrap}
.chip{display:inline-flex;align-items:center;gap:6px}
.chip:has(:checked){border-color:currentColor;box-shadow:inset 0 0 0 1px currentColor}
.chip:has(:focus-visible){outline:2px solid var(--ask);outline-offset:2px}
.chip input{margin:0;accent-color:currentColor}
#count{color:var(--faint);font-size:13px;min-width:7em}
.remark{border:1px solid var(--line);border-left:4px solid var(--change);border-radius:6px;padding:8px 12px;margin:8px 0;overflow-wrap:anywhere}
.remark.bad{border-left-color:var(--bad)}
details.resource{border:1px solid var(--line);border-radius:6px;margin:8px 0;background:var(--paper)}
details.resource>summary{display:flex;flex-wrap:wrap;gap:2px 10px;align-items:baseline;padding:8px 12px;cursor:pointer;list-style:none;border-radius:6px}
details.resource>summary::-webkit-details-marker{display:none}
details.resource>summary::before{content:"\\25B8";color:var(--faint);width:10px}
details.resource[open]>summary::before{content:"\\25BE"}
details.resource[open]>summary{background:var(--box);border-bottom:1px solid var(--line);border-radius:6px 6px 0 0}
summary .symbol{font:600 14px ui-monospace,Menlo,Consolas,monospace;min-width:1.2em}
summary .address{font-weight:600;overflow-wrap:anywhere;min-width:0;max-width:calc(100% - 4em)}
summary .address code{font-weight:600}
summary .faint{overflow-wrap:anywhere;min-width:0}
.content{padding:8px 12px 12px}
.content p{margin:4px 0;overflow-wrap:anywhere}
.content .field+p{margin-top:10px}
.content ul{margin:4px 0;padding-left:20px}
[data-group]+.remark{margin-top:20px}
.field{margin:10px 0 0}
@media (min-width:720px){.field.short{display:grid;grid-template-columns:minmax(0,2fr) minmax(0,3fr);gap:12px}}
.field.short+.field.short{margin-top:4px}
.path{font-weight:600}
.note{color:var(--change);font-size:13px;overflow-wrap:anywhere}
.value{display:block;overflow-wrap:anywhere;white-space:pre-wrap}
del,ins{text-decoration:none;border-radius:3px;padding:0 3px;overflow-wrap:anywhere}
del{background:var(--went)}
ins{background:var(--came)}
.arrow{color:var(--faint);padding:0 4px}
pre{margin:4px 0 0;border:1px solid var(--line);border-radius:6px;overflow:hidden;white-space:pre-wrap;background:var(--box)}
pre .line{display:block;padding:0 10px 0 26px;text-indent:-16px;min-height:1.5em}
pre .place{color:var(--faint);background:var(--paper);border-bottom:1px solid var(--line);border-top:1px solid var(--line);text-indent:0;padding-left:10px}
pre .place:first-child{border-top:0}
pre .went{background:var(--went)}
pre .came{background:var(--came)}
pre .went del{background:var(--went-word);padding:0}
pre .came ins{background:var(--came-word);padding:0}
details.more>summary{cursor:pointer;padding:2px 0;color:var(--ask);font-size:13px}
.good{color:var(--good)}.change{color:var(--change)}.bad{color:var(--bad)}.ask{color:var(--ask)}.odd{color:var(--odd)}
.picture{border:1px solid var(--line);border-radius:6px;overflow:auto;max-height:80vh}
.content .picture{max-height:none}
.picture svg{display:block;margin:0 auto}
ul.addresses{list-style:none;margin:0 0 8px;padding:0;columns:16em auto;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
ul.addresses li{overflow-wrap:anywhere}
.overview{border-collapse:collapse;width:100%;margin:0 0 16px}
.overview th,.overview td{text-align:left;padding:6px 12px 6px 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere;vertical-align:top}
.overview th{min-width:8em}
.listed{overflow-x:auto}
.records{border-collapse:collapse;width:100%;margin:8px 0}
.records th,.records td{text-align:left;padding:6px 12px 6px 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere;vertical-align:top}
@media (min-width:720px){.records td:not(:has(.more),:last-child)>code{white-space:nowrap}}
.records th,.records td[data-title]:not(:first-child){overflow-wrap:normal}
@media (min-width:720px){.records td[data-title]:first-child:has(.mono){width:40%}}
@media (max-width:719px){.records td[data-title]:first-child{font-weight:600}}
.records .field.short{display:block}
@media (max-width:719px){.records thead{display:none}.records tr{display:block;padding:6px 0;border-bottom:1px solid var(--line)}.records td{display:block;padding:0;border:0}.records td[data-title]:not(:first-child)::before{content:attr(data-title) ": ";color:var(--faint)}}
main>section[id]{scroll-margin-top:64px}
main>section>h1{margin-top:24px}
ul.plain{list-style:none;padding:0;margin:8px 0}
ul.plain li{padding:6px 0;border-top:1px solid var(--line);overflow-wrap:anywhere;scroll-margin-top:72px}
ul.plain p{margin:0}
.kind{color:var(--of-kind,inherit)}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:0 0 12px;font-size:14px}
.legend .kind::before{content:"";display:inline-block;width:10px;height:10px;margin-right:6px;border-radius:3px;background:currentColor}
a{color:var(--ask)}
li:target{outline:2px solid var(--ask);outline-offset:4px;border-radius:4px}
h3{font-size:15px;margin:24px 0 8px}
h3 small{color:var(--faint);font-weight:400;font-size:13px}
h4{font-size:13px;margin:12px 0 4px}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:8px 16px}
.plots figure{margin:0;min-width:0;max-width:420px}
.plots figcaption{font-size:13px;overflow-wrap:anywhere}
.plots svg{display:block;width:100%;height:auto;font:11px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
.plots text{fill:var(--faint)}
.plots .grid{stroke:var(--line)}
.plots .publication{stroke:var(--odd);stroke-dasharray:3 3}
.plots .band{fill:var(--ask);opacity:.16}
.plots .share{fill:none;stroke:var(--ask);stroke-width:1.5}
.plots .point{fill:var(--ask)}
footer{color:var(--faint);font-size:13px;padding-top:24px;padding-bottom:32px;overflow-wrap:anywhere}
@media print{.tools{display:none!important}.picture{max-height:none;overflow:visible}.picture svg{max-width:100%;height:auto}details.resource{break-inside:avoid-page}body{font-size:11px}del,ins,pre .line{print-color-adjust:exact}}
`;
