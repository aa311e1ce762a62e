import { type Html, html } from '../../output/html/html.ts';
import { mayPerform } from '../access/person.ts';
import { assetPath } from './assets.ts';
import { isolate, timeWithAge, type ViewContext } from './parts.ts';

/** An entry of the navigation. */
export type Section = 'overview' | 'workspaces' | 'pulls';

interface View {
  readonly title: string;
  readonly section: Section | undefined;
  /** The version of the contents, and the workspace to follow (all if undefined). Undefined for a page without live updates. */
  readonly live?: { readonly version: string; readonly address: string | undefined } | undefined;
  readonly body: Html;
}

/** Returns a complete page: navigation, user, server time and the view. */
export function layout({ title, section, live, body }: View, context: ViewContext): Html {
  const { now, isSingle, hasPulls, searchText, visitor } = context;
  const iso = now.toISOString();
  const follow =
    live === undefined
      ? ''
      : html` data-version="${live.version}" data-events="/events${live.address === undefined ? '' : `?workspace=${encodeURIComponent(live.address)}`}"`;
  const entry = (href: string, text: string, isHere: boolean) =>
    html`<a href="${href}"${isHere ? html` aria-current="page"` : ''}>${text}</a>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · voxform</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assetPath('style.css')}">
<script src="${assetPath('page.js')}" defer></script>
</head>
<body data-now="${iso}"${follow}>
<a class="skip" href="#content">Skip to content</a>
<header class="bar"><div class="bar-inner">
<a class="brand" href="/">voxform</a> <span class="faint wide">${context.title}</span>
${isSingle ? '' : html`<nav aria-label="Main">${entry('/', 'Overview', section === 'overview')}${entry('/workspaces', 'Workspaces', section === 'workspaces')}${hasPulls ? entry('/pulls', 'Requests', section === 'pulls') : ''}</nav>`}
${searchText === undefined ? '' : searchForm(searchText)}
<span class="clock faint"><span class="wide">as of </span><time id="clock" datetime="${iso}">${iso.slice(11, 19)} UTC</time></span>
<div id="who" data-live>${userInfo(context)}</div>
</div>
<p id="connection" role="status" hidden></p>
<div id="frozen" role="status" data-live>${freezeBanner(context)}</div></header>
<main id="content" tabindex="-1">${body}</main>
</body>
</html>
`;

  function userInfo({ here, missingTokens }: ViewContext): Html {
    const { person, isNamedByProxy, formToken } = visitor;
    if (person === undefined) {
      return missingTokens === undefined
        ? html`<a class="button" href="/sign-in?to=${encodeURIComponent(here)}">Sign in</a>`
        : html``;
    }
    const out = html`<form method="post" action="/sign-out"><input type="hidden" name="form" value="${formToken}"><button>Sign out</button></form>`;
    return html`<span class="who" title="${person.name}">${isolate(person.name)} <span class="faint">${[person.role === person.name ? '' : person.role, isNamedByProxy ? 'via proxy' : ''].join(' ')}</span></span>${isNamedByProxy ? '' : out}`;
  }
}

function searchForm(text: string): Html {
  const label = 'Name, phone number or id';
  return html`<form class="search" method="get" action="/search" role="search" aria-label="Workspaces and resources">
<input type="search" name="q" value="${text}" maxlength="255" placeholder="${label}" aria-label="${label}"><button>Search</button></form>`;
}

/** Returns the banner for a frozen fleet, with the person, the time and the reason. */
function freezeBanner({ freeze, now, visitor }: ViewContext): Html {
  if (freeze === undefined) return html``;
  const { by, at, because } = freeze;
  const resume = mayPerform(visitor.person, 'unfreeze')
    ? html`<a class="button" href="/unfreeze">Resume the fleet</a>`
    : '';
  return html`<p class="frozen"><span><strong>Frozen</strong> by ${isolate(by)} ${timeWithAge(new Date(at), now)}: ${isolate(because)}<br>Nothing is written to any platform.</span> ${resume}</p>`;
}
