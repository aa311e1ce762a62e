import type { PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import { mustNameAll } from '../address-list.ts';
import { type CompactOptions, compacted, FEWEST_SHARING, type Statement } from '../compact.ts';
import { createSecretNumbers } from '../field-view.ts';
import { graphSvg } from '../graph/graph-svg.ts';
import { planPicture } from '../graph/plan-graph.ts';
import { type SharedStep, type Steps, sharedSteps } from '../grouped-steps.ts';
import { escapeMarkup } from '../markup.ts';
import { guardText, type WorkspaceFlag, wordedWarnings } from '../next-steps.ts';
import { plural } from '../plural.ts';
import { noopNotes } from '../remarks-text.ts';
import { htmlPage, timeHtml } from './page.ts';
import { addressesHtml, type HtmlOutcome, resourceHtml, type Tone } from './resource-html.ts';
import { listedInTable, tableHtml } from './resources-table.ts';

/** A plan, a drift or an apply, as a page has it. */
export interface Report {
  readonly what: 'plan' | 'drift' | 'apply';
  readonly document: PlanDocument;
  /** When it was made. */
  readonly made?: Date | undefined;
  /** Says of each resource what many share. */
  readonly full?: boolean | undefined;
  readonly workspaceFlag?: WorkspaceFlag | undefined;
  /** Sentences. */
  readonly summary: readonly string[];
  readonly groups: readonly ReportGroup[];
  readonly towards: 'manifest' | 'platform';
  /** Said before everything else, if need be. */
  readonly urgent?: readonly string[];
  /** Those with something to be done by hand. */
  readonly pending: readonly PlannedResource[];
  outcome?(resource: PlannedResource): HtmlOutcome | undefined;
  /** The word for a resource in the picture; what is to happen to it where absent. */
  readonly markOf?: (resource: PlannedResource) => string | undefined;
}

export interface ReportGroup {
  /** By which it is filtered; no two groups share one. */
  readonly key: string;
  readonly heading: string;
  readonly explanation?: string | undefined;
  readonly symbol: string;
  readonly tone: Tone;
  readonly resources: readonly PlannedResource[];
}

/** Of what is unchanged: more of it would only make the file large. */
const mostListed = 1000;

/** The report as a page of its own. */
export function htmlReport(report: Report): string {
  const { what, document } = report;
  const title = `voxform ${what}: ${document.workspace}`;
  const body = [
    `<header><h1>${escapeMarkup(title)}</h1>`,
    ...introduction(report),
    '</header><main>',
    toolbar([report]),
    ...groupsHtml(report),
    picture(report),
    '</main>',
    `<footer>${escapeMarkup(footer(document))}</footer>`,
  ];
  return htmlPage({ title, body: body.join('\n') });
}

interface SeveralReports {
  readonly what: Report['what'];
  readonly made?: Date | undefined;
  readonly reports: readonly Report[];
  /** Workspaces that there is no report of. */
  readonly failures: readonly { readonly workspace: string; readonly said: readonly string[] }[];
}

/** The reports of several workspaces on one page, what failed first. */
export function htmlReports({ what, made, reports, failures }: SeveralReports): string {
  const title = `voxform ${what}: ${plural(reports.length + failures.length, 'workspace')}`;
  const body = [
    `<header><h1>${escapeMarkup(title)}</h1><p class="where">${timeHtml(made)}</p>`,
    overview(reports, failures),
    ...failures.map(({ workspace, said }) => remark(`${workspace} failed: ${said.join('; ')}`, 'bad')),
    '</header><main>',
    toolbar(reports),
    ...reports.flatMap((report, index) => [
      `<section id="workspace-${index}"><h1>${escapeMarkup(report.document.workspace)}</h1>`,
      ...introduction(report),
      ...groupsHtml(report),
      picture(report),
      '</section>',
    ]),
    '</main><footer></footer>',
  ];
  return htmlPage({ title, body: body.join('\n') });
}

/** A row for each workspace, those that failed first. */
function overview(reports: SeveralReports['reports'], failures: SeveralReports['failures']): string {
  const rows = [
    ...failures.map(
      ({ workspace }) => `<th scope="row">${escapeMarkup(workspace)}</th><td class="bad">failed</td>`,
    ),
    ...reports.map(
      ({ document, summary }, index) =>
        `<th scope="row"><a href="#workspace-${index}">${escapeMarkup(document.workspace)}</a></th><td>${escapeMarkup(summary.join(' '))}</td>`,
    ),
  ];
  return `<table class="overview">${rows.map((row) => `<tr>${row}</tr>`).join('')}</table>`;
}

function introduction(report: Report): string[] {
  const { workspace_id: id, base_url: url } = report.document;
  return [
    `<p class="where">${[escapeMarkup(`${id} at ${url}`), timeHtml(report.made)].filter(Boolean).join(' · ')}</p>`,
    `<p class="summary">${escapeMarkup(report.summary.join(' '))}</p>`,
    ...remarks(report),
  ];
}

function remarks({
  document,
  pending,
  urgent = [],
  what,
  full = false,
  workspaceFlag = '',
}: Report): string[] {
  const { guards, refreshed } = document;
  const said = [...wordedWarnings(document.warnings, workspaceFlag), ...noopNotes(document)];
  const { shared, without } = sharedSteps(pending, { full, workspaceFlag });
  return [
    ...urgent.map((text) => remark(text, 'bad')),
    ...(what === 'apply'
      ? []
      : guards.map((guard) => remark(`Apply refuses this plan: ${guardText(guard)}`, 'bad'))),
    ...(refreshed
      ? []
      : [remark('Made with --no-refresh: from the state, without reading the platform.', '')]),
    ...[...Map.groupBy(said, ({ message }) => message)].map(([message, sharing]) => {
      const addresses = sharing.flatMap(({ address }) => address ?? []);
      if (addresses.length === 0) return remark(message, '');
      if (addresses.length < FEWEST_SHARING) return remark(`${addresses.join(', ')}: ${message}`, '');
      return remarkOn(addresses, message);
    }),
    ...shared.map((step) => stepHtml(step, without)),
  ];
}

function remarkOn(addresses: readonly string[], text: string): string {
  const listed = `<details class="more"><summary>${addresses.length} resources</summary>${addressesHtml(addresses)}</details>`;
  return `<div class="remark">${escapeMarkup(text)}${listed}</div>`;
}

/** Rows that stand for their resource are found and filtered like it. */
function stepHtml({ text, resources, table }: SharedStep, without: Steps['without']): string {
  if (table === undefined)
    return remarkOn(
      resources.map(({ address }) => address),
      text,
    );
  const row = (tag: 'th' | 'td', cells: readonly string[]) =>
    cells.map((cell) => `<${tag}>${escapeMarkup(cell)}</${tag}>`).join('');
  const rows = table.rows.map((cells, index) => {
    const resource = resources[index];
    const item =
      resource !== undefined && without(resource) === undefined ? ` data-item="${resource.action}"` : '';
    return `<tr${item}>${row('td', cells)}</tr>`;
  });
  const group = rows.some((each) => each.startsWith('<tr data-item')) ? ' data-group' : '';
  return [
    `<div class="remark">${escapeMarkup(text)}<details class="more"${group}><summary>${resources.length} resources</summary>`,
    `<div class="listed"><table class="records"><thead><tr>${row('th', table.titles)}</tr></thead><tbody>`,
    ...rows,
    '</tbody></table></div></details></div>',
  ].join('\n');
}

function remark(text: string, tone: 'bad' | ''): string {
  return `<p class="remark${tone === '' ? '' : ` ${tone}`}">${escapeMarkup(text)}</p>`;
}

/** Hidden until the script shows it: without the script it would do nothing. */
function toolbar(reports: readonly Report[]): string {
  const groups = Map.groupBy(reports.flatMap(filled), ({ key }) => key);
  if (groups.size === 0) return '';
  const chips = [...groups.values()].map((same) => {
    const count = same.reduce((sum, { resources }) => sum + resources.length, 0);
    const { key = '', tone = 'faint', heading = '' } = same[0] ?? {};
    return `<label class="chip ${tone}"><input type="checkbox" data-filter="${escapeMarkup(key)}">${escapeMarkup(heading)} ${count}</label>`;
  });
  return [
    '<div class="tools" hidden>',
    '<input type="search" id="search" placeholder="Search" aria-label="Search resources, fields and texts" aria-keyshortcuts="/">',
    ...(chips.length > 1 ? chips : []),
    '<button type="button" data-open="yes">Open all</button><button type="button" data-open="no">Close all</button>',
    '<span id="count" role="status"></span></div>',
  ].join('');
}

function filled({ groups }: Report): ReportGroup[] {
  return groups.filter(({ resources }) => resources.length > 0);
}

function groupsHtml(report: Report): string[] {
  const { towards, outcome, full = false, workspaceFlag = '' } = report;
  const views = { secrets: createSecretNumbers(), verbose: false, wholeTexts: true, towards, workspaceFlag };
  const { without } = sharedSteps(report.pending, { full, workspaceFlag });
  return filled(report).flatMap((group) => {
    const { heading, explanation } = group;
    const resources = group.resources.flatMap((each) => without(each) ?? []);
    if (resources.length === 0) return [];
    const why = explanation === undefined ? '' : ` <small>${escapeMarkup(explanation)}</small>`;
    const isRow = (each: PlannedResource) => each.action === 'noop' || isPlain(each, outcome);
    const rows = new Set(full ? [] : listedInTable(resources.filter(isRow)));
    const boxed = resources.filter((each) => !rows.has(each));
    const said = saidIn(boxed, { views, full, outcome });
    const listed = said.slice(0, mostListed);
    const rest = said.length - listed.length;
    return [
      `<section data-group><h2>${escapeMarkup(heading)} (${resources.length})${why}</h2>`,
      ...listed.map((each) =>
        resourceHtml(each, { group, outcome: each.resources.flatMap((one) => outcome?.(one) ?? [])[0] }),
      ),
      ...(rest === 0 ? [] : [`<p class="faint">and ${rest} more</p>`]),
      ...(rows.size === 0 ? [] : [tableHtml([...rows], { key: group.key, views })]),
      '</section>',
    ].join('\n');
  });
}

function saidIn(
  resources: readonly PlannedResource[],
  { views, full, outcome }: CompactOptions & { readonly outcome: Report['outcome'] },
): Statement[] {
  return [
    ...compacted(
      resources.filter((each) => !isPlain(each, outcome)),
      { views, full: true },
    ),
    ...compacted(
      resources.filter((each) => isPlain(each, outcome)),
      { views, full },
    ),
  ];
}

/** True where nobody must decide about a resource, and nothing is to be said of what became of it. */
function isPlain(resource: PlannedResource, outcome: Report['outcome']): boolean {
  return (outcome?.(resource)?.said ?? []).length === 0 && !mustNameAll([resource]);
}

function picture({ document, markOf }: Report): string {
  const drawn = planPicture(document, markOf);
  if (drawn.edges.length === 0) return '';
  const note = drawn.note === undefined ? '' : ` <small>${escapeMarkup(drawn.note)}</small>`;
  return `<section><h2>References${note}</h2><div class="picture" tabindex="0" role="region" aria-label="Reference graph">${graphSvg(drawn, { standalone: false })}</div></section>`;
}

function footer({ voxform_version, state }: PlanDocument): string {
  return `voxform ${voxform_version}, state ${state.lineage}, serial ${state.serial}`;
}
