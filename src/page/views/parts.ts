import type { Freeze } from '../../fleet/rows/freeze-rows.ts';
import { MAX_COUNTED } from '../../operator/shown-workspace.ts';
import type { WorkspaceStatus } from '../../operator/workspace-status.ts';
import { Html, html } from '../../output/html/html.ts';
import { addressHtml } from '../../output/html/resource-html.ts';
import { plural } from '../../output/plural.ts';
import { UNSAFE } from '../../values/unsafe-text.ts';
import type { Visitor } from '../access/access.ts';
import { mayPerform } from '../access/person.ts';
import type { ActionName, Fact, ListedRun, WorkspaceDetail, WorkspaceRow } from '../page-data.ts';

export interface ViewContext {
  readonly title: string;
  readonly visitor: Visitor;
  readonly now: Date;
  readonly here: string;
  /** The reason why nobody can sign in with a token, if any. */
  readonly missingTokens: string | undefined;
  /** A sentence that explains where to get a token. */
  readonly tokenOrigin: string;
  /** The provider of single sign-on, if any, and the URL that begins a sign-in. */
  readonly signOn: { readonly host: string; startUrl(to: string): string } | undefined;
  readonly isSingle: boolean;
  /** True if the fleet plans pull requests. */
  readonly hasPulls: boolean;
  /** The text in the search field of the header; undefined if the page has no search. */
  readonly searchText: string | undefined;
  readonly canFreeze: boolean;
  readonly freeze: Freeze | undefined;
}

interface StatusWords {
  readonly word: string;
  readonly tone: 'good' | 'change' | 'bad' | 'ask' | 'odd' | 'faint';
  readonly meaning: string;
}

export const statusWords: Readonly<Record<WorkspaceStatus, StatusWords>> = {
  'in-sync': { word: 'in sync', tone: 'good', meaning: 'no changes to apply' },
  waiting: { word: 'waiting', tone: 'ask', meaning: 'a plan waits for approval' },
  failed: { word: 'failed', tone: 'bad', meaning: 'the last run failed' },
  invalid: { word: 'invalid', tone: 'bad', meaning: 'the newest manifests are invalid' },
  drifted: { word: 'drifted', tone: 'change', meaning: 'the platform changed since the last apply' },
  pending: { word: 'pending', tone: 'change', meaning: 'changes or manual steps remain' },
  stale: { word: 'stale', tone: 'odd', meaning: 'no failure, but no check for three intervals' },
  paused: { word: 'paused', tone: 'faint', meaning: 'no run starts until it is resumed' },
  vanished: { word: 'vanished', tone: 'odd', meaning: 'no longer in its source' },
  'never-run': { word: 'never run', tone: 'faint', meaning: 'no run has finished yet' },
};

export function statusBadge(status: WorkspaceStatus): Html {
  const { word, tone } = statusWords[status];
  return html`<span class="badge ${tone}">${word}</span>`;
}

/** The tones of the statuses and results of resources and runs. The default is faint. */
const tones: Readonly<Record<string, StatusWords['tone']>> = {
  done: 'good',
  'in sync': 'good',
  failed: 'bad',
  died: 'bad',
  blocked: 'bad',
  missing: 'bad',
  invalid: 'bad',
  refused: 'change',
  interrupted: 'change',
  skipped: 'change',
  busy: 'change',
  drifted: 'change',
  changed: 'change',
  'not applied': 'change',
  unpublished: 'change',
  undeclared: 'change',
  manual: 'ask',
  running: 'ask',
  unknown: 'odd',
};

/** Returns a badge for a status of a resource or a run. @param isOld true for a stale status, which is faint. */
export function wordBadge(text: string, isOld = false): Html {
  return html`<span class="${badgeClass(text, isOld)}">${text}</span>`;
}

export function badgeClass(text: string, isOld: boolean): string {
  return `badge ${(isOld ? undefined : tones[text]) ?? 'faint'}`;
}

/** Truncates a string for a list. @param maxLength the maximum number of characters. */
export function truncate(text: string, maxLength = 300): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength).toWellFormed()}…`;
}

/**
 * Returns a time with its age. The script updates the age.
 * @param isPlanned true for the time of a planned event, which becomes due.
 */
export function timeWithAge(at: Date | undefined, now: Date, isPlanned = false): Html {
  if (at === undefined || Number.isNaN(at.getTime())) return html`<span class="faint">never</span>`;
  const iso = `${at.toISOString().slice(0, 19)}Z`;
  const timeText = iso.replace('T', ' ').replace('Z', ' UTC');
  const text = isPlanned && at <= now ? 'due' : age(at, now);
  return html`<time datetime="${iso}" data-age="${isPlanned ? 'planned' : ''}"><span class="at">${timeText}</span> <span class="age">${text}</span></time>`;
}

/** Returns the time of the last read of the platform, marked if it is stale. */
export function checkedTime({ checkedAt, isOld }: Pick<WorkspaceRow, 'checkedAt' | 'isOld'>, now: Date): Html {
  return html`<span class="checked">${timeWithAge(checkedAt, now)}${isOld ? html` ${statusBadge('stale')}` : ''}</span>`;
}

/** Returns `3 min ago` or `in 3 min`. Must match page.js. */
function age(at: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - at.getTime()) / 1000);
  const text = durationText(Math.abs(seconds));
  return seconds >= 0 ? `${text} ago` : `in ${text}`;
}

/** Returns a rounded duration such as `89 s` or `5 min`. Must match page.js. */
export function durationText(seconds: number): string {
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return plural(Math.round(seconds / 86_400), 'day');
}

export function pathOf(address: string, ...rest: readonly string[]): string {
  return ['/workspaces', ...address.split('/'), ...rest.flatMap((each) => each.split('/'))]
    .map((each, index) => (index === 0 ? each : encodeURIComponent(each).replaceAll('%3A', ':')))
    .join('/');
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufefc]/;
/** Matches separators in paths, and characters that are displayed as escapes. */
const DIVIDER = new RegExp(`([/:]|(?:${UNSAFE.source})+)`, 'u');

/** Splits untrusted text that contains right-to-left characters, so that no part changes the direction of the others. */
function partsOf(text: string): string[] {
  return (RIGHT_TO_LEFT.test(text) ? text.split(DIVIDER) : [text]).filter((part) => part !== '');
}

/** Isolates untrusted text, so that it does not change the direction of the surrounding text. */
export function isolate(text: string): Html {
  return html`${partsOf(text).map((part) => html`<bdi>${part}</bdi>`)}`;
}

/** Returns the address of a workspace, which may wrap between its parts. */
export function addressText(address: string): Html {
  const breaking = (part: string) =>
    part.split(/(?<=[/:])/).map((piece) => html`${piece}${/[/:]$/.test(piece) && html`<wbr>`}`);
  return html`${partsOf(address).map((part) => html`<bdi>${breaking(part)}</bdi>`)}`;
}

/** Returns a link to the page of a resource. @param part the anchor of a section on the page. */
export function resourceLink(workspace: string, address: string, part?: string): Html {
  const path = `${pathOf(workspace, 'resources', address)}${part === undefined ? '' : `#${part}`}`;
  return html`<a class="resource-link" href="${path}">${addressHtml(address)}</a>`;
}

/** Returns a link to an action. @param subject the id of the plan or orphan, or the address of the resource. */
export function actionLink(address: string, action: ActionName, text: string, subject?: string): Html {
  const path = `${pathOf(address, 'actions', action)}${subject === undefined ? '' : `?of=${encodeURIComponent(subject)}`}`;
  return html`<a class="button${action === 'approve' ? ' primary' : ''}" href="${path}">${text}</a>`;
}

/** Returns the buttons that approve and reject a waiting plan. */
export function decisionLinks(
  { address, saved, actions }: WorkspaceDetail,
  { visitor, missingTokens }: ViewContext,
): Html {
  if (saved === undefined || !actions.includes('approve')) return html``;
  if (visitor.person === undefined && missingTokens === undefined)
    return html`<p class="actions">${actionLink(address, 'approve', 'Sign in to approve', saved.id)}</p>`;
  if (!mayPerform(visitor.person, 'approve')) return html``;
  return html`<p class="actions">${actionLink(address, 'approve', 'Approve', saved.id)}${actions.includes('reject') ? actionLink(address, 'reject', 'Reject', saved.id) : ''}</p>`;
}

/** Matches a commit or a plan digest. Only the first 12 characters are displayed. */
const DIGEST = /^([0-9a-f]{12})[0-9a-f]{20,}(-dirty)?$/;

/** The maximum length of a fact that shares a row with others. */
const MAX_COLUMN_LENGTH = 45;

/** A fact whose value may be HTML. Facts without a value are omitted. */
type ShownFact = readonly [name: string, value: Fact[1] | Html | undefined];

export function factList(all: readonly ShownFact[], now: Date): Html {
  const valueHtml = (value: Fact[1] | Html) => {
    if (value instanceof Html) return value;
    if (value instanceof Date) return timeWithAge(value, now);
    const digest = DIGEST.exec(value instanceof URL ? '' : value);
    if (digest !== null) return html`<span title="${digest[0]}">${digest[1]}${digest[2]}</span>`;
    return value instanceof URL ? html`<a href="${value.href}">${isolate(value.href)}</a>` : isolate(value);
  };
  const isLong = (value: ShownFact[1]) => typeof value === 'string' && value.length > MAX_COLUMN_LENGTH;
  const row = ([label, value]: ShownFact) =>
    value !== undefined &&
    html`<div${isLong(value) && html` class="long"`}><dt>${label}</dt><dd>${valueHtml(value)}</dd></div>`;
  return html`<dl class="facts">${all.map(row)}</dl>`;
}

function isDecision({ result }: ListedRun): boolean {
  return ['requested', 'approved', 'rejected', 'paused', 'resumed'].includes(result);
}

/** Returns a table of runs. On a phone, each row is a block. */
export function runsTable(workspace: string, runs: readonly ListedRun[], now: Date): Html {
  const row = (run: ListedRun) => html`<tr>
<td data-title="Run"><a href="${pathOf(workspace, 'runs', run.id)}">${timeWithAge(run.began, now)}</a></td>
<td data-title="Result">${wordBadge(run.result)}</td>
<td data-title="Command">${run.command}</td>
<td class="by" data-title="User">${run.askedBy === undefined || isDecision(run) ? isolate(run.user ?? run.askedBy ?? '') : html`requested by ${isolate(run.askedBy)}`}</td>
<td class="text" data-title="Changes">${isolate([truncate(run.summary, 120), ...(run.plan === undefined ? [] : [`plan ${run.plan}`])].filter((each) => each !== '').join('; '))}</td></tr>`;
  return html`<table class="rows"><thead><tr><th scope="col">Run</th><th scope="col">Result</th><th scope="col">Command</th><th scope="col">User</th><th scope="col">Changes</th></tr></thead>
<tbody>${runs.map(row)}</tbody></table>`;
}

export function queryPath(path: string, query: object): string {
  const defined = Object.entries(query).filter(([, value]) => value !== undefined);
  return `${path}?${new URLSearchParams(Object.fromEntries(defined))}`;
}

/** Formats a number, such as `10,000`. */
export function formatNumber(count: number): string {
  return count.toLocaleString('en');
}

/** Formats a number of matches, such as `10,000`, or `more than 10,000` where counting stopped. */
export function countText(count: number): string {
  return count > MAX_COUNTED ? `more than ${formatNumber(MAX_COUNTED)}` : formatNumber(count);
}

/** Returns `Page 2 of 9` with links to the previous and next page. */
export function pager(page: number, pages: number, link: (page: number) => string): Html {
  if (pages <= 1) return html``;
  return html`<nav class="pager" aria-label="Pages">${page > 1 ? html`<a rel="prev" href="${link(page - 1)}">Previous</a>` : ''}
<span>Page ${page} of ${formatNumber(pages)}</span>${page < pages ? html`<a rel="next" href="${link(page + 1)}">Next</a>` : ''}</nav>`;
}

interface Choice<Value extends string> {
  readonly name: string;
  readonly chosen: string | undefined;
  readonly values: readonly Value[];
  wordOf?(value: Value): string;
}

/** Returns a select element whose first option is `all`. */
export function selectField<Value extends string>(
  label: string,
  { name, chosen, values, wordOf = String }: Choice<Value>,
): Html {
  return html`<label>${label}<select name="${name}">${option('', 'all', chosen ?? '')}${values.map((value) => option(value, wordOf(value), chosen))}</select></label>`;
}

export function option(value: string, text: string, chosen: string | undefined): Html {
  return html`<option value="${value}"${value === chosen ? html` selected` : ''}>${text}</option>`;
}
