import type { PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import { positionText } from '../../problems/diagnostic.ts';
import type { WorkspaceFailure } from '../../runs/plans-document.ts';
import { earlyEnd } from '../action-words.ts';
import { mustListAll } from '../address-list.ts';
import { compact, MIN_SHARING } from '../compact.ts';
import { viewsOf } from '../field-view.ts';
import type { ReportFormat } from '../formats/format.ts';
import { graphSvg } from '../graph/graph-svg.ts';
import { planPicture } from '../graph/pictures.ts';
import { type SharedStep, type Steps, sharedSteps, withLinks } from '../grouped-steps.ts';
import { guardText, wordedWarnings } from '../next-steps.ts';
import { plural } from '../plural.ts';
import { noteTexts, type ViolationGroup, violationGroups, violationSubject } from '../remarks-text.ts';
import {
  changedGroups,
  outcomeOf,
  planReport,
  type Report,
  type ReportGroup,
  type ReportOptions,
  type ReportSet,
  selectionOf,
} from '../report.ts';
import { type Html, html, joined } from './html.ts';
import { htmlPage, recordsHtml, timeHtml } from './page.ts';
import { addressesHtml, dashboardLink, listedInTable, resourceHtml, tableHtml, toneOf } from './resource-html.ts';

interface PageOptions extends ReportOptions {
  readonly made?: Date | undefined;
  /** The elements to fold: none, each resource, or also each group. */
  readonly fold?: 'none' | 'resources' | 'groups' | undefined;
  /** The maximum size of the markup of all changes in bytes. Further changes are omitted and counted. */
  readonly room?: number | undefined;
  /** Markup after the number of omitted changes, which tells the reader where to find the changes. */
  readonly elsewhere?: Html;
}

/** The maximum number of statements in each group, to limit the size of the file. */
const MAX_STATEMENTS = 1000;

export function htmlReport(report: Report, options: PageOptions = {}): string {
  const { workspace, voxform_version: version, state } = report.document;
  const title = `voxform ${report.type}: ${workspace}`;
  const body = html`<header><h1>${title}</h1>
${introduction(report, options)}
</header><main>
${toolbar([report])}
${groupsHtml(report, options)}
${referencesHtml(report)}
</main>
<footer>voxform ${version}, state ${state.lineage}, serial ${state.serial}</footer>`;
  return htmlPage({ title, body });
}

/** The maximum number of changed resources that are not folded. */
export const MAX_UNFOLDED = 20;

/** Returns the changes and remarks of a plan, reasons to refuse it first, without notes on publication, which the page lists. */
export function changesHtml(plan: PlanDocument, options: PageOptions): Html {
  const resources = plan.resources.map(withoutPublication);
  const report = planReport({ ...plan, resources });
  const groups = changedGroups(report);
  const count = groups.reduce((sum, group) => sum + group.resources.length, 0);
  const fold = count <= MAX_UNFOLDED ? 'none' : options.fold;
  return html`${refusals(report)}${groupsHtml({ ...report, groups }, { ...options, fold })}${remarks(report, options)}`;
}

function withoutPublication(resource: PlannedResource): PlannedResource {
  if (resource.action !== 'noop' && resource.action !== 'update') return resource;
  const { notices: _, ...rest } = resource;
  return rest;
}

/** Returns the reports of several workspaces as one page, failures first. */
export function htmlReports(reportSet: ReportSet, { made, full }: PageOptions = {}): string {
  const { type, reports, failures } = reportSet;
  const title = `voxform ${type}: ${plural(reports.length + failures.length, 'workspace')}`;
  const section = (report: Report, index: number) => {
    const options = { full, selection: selectionOf(report) };
    return html`<section id="workspace-${index}"><h1>${report.document.workspace}</h1>
${introduction(report, options)}
${groupsHtml(report, options)}
${referencesHtml(report)}
</section>`;
  };
  const body = html`<header><h1>${title}</h1><p class="where">${timeHtml(made)}</p>
${overview(reportSet)}
${failures.map(failureHtml)}
</header><main>
${toolbar(reports)}
${reports.map(section)}
</main><footer></footer>`;
  return htmlPage({ title, body });
}

export const format: ReportFormat = { report: htmlReport, reportSet: htmlReports };

function failureHtml({ workspace, message, hint, diagnostics = [] }: WorkspaceFailure): Html {
  const places = diagnostics.map((each) => `${positionText(each)} ${each.message}`);
  const parts = [message, hint, ...places].filter((text) => text !== undefined);
  return remark(`${workspace} failed: ${parts.join('; ')}`, 'bad');
}

/** Returns a table with a row for each workspace, failed workspaces first. */
function overview({ reports, failures }: ReportSet): Html {
  return html`<table class="overview">${failures.map(
    ({ workspace }) => html`<tr><th scope="row">${workspace}</th><td class="bad">failed</td></tr>`,
  )}${reports.map(
    ({ document, summary }, index) =>
      html`<tr><th scope="row"><a href="#workspace-${index}">${document.workspace}</a></th><td>${summary.join(' ')}</td></tr>`,
  )}</table>`;
}

function introduction(report: Report, options: PageOptions): Html {
  const { workspace_id: id, base_url: url } = report.document;
  return html`<p class="where">${joined([`${id} at ${url}`, timeHtml(options.made)], ' · ')}</p>
<p class="summary">${report.summary.join(' ')}</p>
${refusals(report)}
${remarks(report, options)}`;
}

/** Returns the reasons why an apply ended early or would be refused. */
function refusals({ document, applied }: Report): Html[] {
  const ended = applied && earlyEnd(applied);
  return [
    ...(ended === undefined ? [] : [remark(ended, 'bad')]),
    ...document.guards.map((guard) => remark(`Apply refuses this plan: ${guardText(guard)}`, 'bad')),
    ...violationGroups(document).filter(isDenied).map(violationHtml),
  ];
}

function isDenied({ status }: ViolationGroup): boolean {
  return status === 'denied';
}

function remarks({ document, pending }: Report, { full = false, quiet, selection }: PageOptions): Html[] {
  const warningTexts = wordedWarnings(document.warnings, selection, { full });
  const warnings = Map.groupBy(warningTexts, ({ message, fields }) => JSON.stringify([message, fields]));
  const { shared, without } = sharedSteps(pending, { full, selection, dashboard: document.dashboard });
  return [
    ...violationGroups(document)
      .filter((group) => !isDenied(group))
      .map(violationHtml),
    ...(document.refreshed
      ? []
      : [remark('Made with --no-refresh: the plan is based on the state; the platform was not read.')]),
    ...[...warnings.values()].map(warningHtml),
    ...(quiet ? [] : noteTexts(document, { full: false, selection }).map((text) => remark(text))),
    ...shared.map((step) => stepHtml(step, without)),
  ];
}

/** Returns one remark for equal warnings about several resources, with folded addresses and fields. */
function warningHtml(sharing: ReturnType<typeof wordedWarnings>): Html {
  const [{ message, fields } = { message: '' }] = sharing;
  const addresses = sharing.flatMap(({ address }) => address ?? []);
  const count = addresses.length;
  const list = addressesHtml(addresses.map((address) => ({ address })));
  if (fields !== undefined) {
    const content = html`<ul>${fields.map((path) => html`<li><code>${path}</code></li>`)}</ul>${count > 1 && list}`;
    const text = `${count > 1 ? `${count} resources` : addresses[0]}: ${message}`;
    return foldedRemark(text, { count: fields.length, of: 'fields', content });
  }
  if (count >= MIN_SHARING) return foldedRemark(message, { count, content: list });
  return remark(count === 0 ? message : `${addresses.join(', ')}: ${message}`);
}

function violationHtml(group: ViolationGroup): Html {
  const { text, violations } = group;
  const [lead, tone] = isDenied(group) ? (['Apply refuses this plan: ', 'bad'] as const) : ([''] as const);
  const subjects = violations.map(violationSubject);
  if (subjects.length === 1) return remark(`${lead}${text.replace(/[^.!?]$/, '$&.')} ${subjects[0]}`, tone);
  const content = html`<ul>${subjects.map((subject) => html`<li>${subject}</li>`)}</ul>`;
  return foldedRemark(`${lead}${text}`, { count: subjects.length, content, tone });
}

/** Returns a shared step. If a row replaces a resource, search and filters treat the row like this resource. */
function stepHtml({ text, resources, table }: SharedStep, without: Steps['without']): Html {
  const count = resources.length;
  if (table === undefined) return foldedRemark(text, { count, content: addressesHtml(resources) });
  const { titles, rows: linked } = withLinks(table, dashboardLink);
  const rows = linked.map((cells, index) => {
    const resource = resources[index];
    const isOmitted = resource !== undefined && without(resource) === undefined;
    return { cells, item: isOmitted ? resource.action : undefined };
  });
  const isGroup = rows.some(({ item }) => item !== undefined);
  return foldedRemark(text, { count, content: recordsHtml(titles, rows), isGroup });
}

interface Folded {
  readonly count: number;
  readonly of?: string;
  readonly content: Html;
  readonly tone?: 'bad' | undefined;
  /** True if the search hides the remark unless it contains a match. */
  readonly isGroup?: boolean;
}

function foldedRemark(text: string, { count, of = 'resources', content, tone, isGroup = false }: Folded): Html {
  return html`<div class="remark${tone && ` ${tone}`}">${text}<details class="more"${isGroup && html` data-group`}><summary>${count} ${of}</summary>${content}</details></div>
`;
}

function remark(text: string, tone?: 'bad'): Html {
  return html`<p class="remark${tone && ` ${tone}`}">${text}</p>
`;
}

/** Returns the toolbar. It is hidden until the script shows it, because it does not work without the script. */
function toolbar(reports: readonly Report[]): Html {
  const groups = Map.groupBy(reports.flatMap(nonEmptyGroups), ({ key }) => key);
  if (groups.size === 0) return html``;
  const chips = [...groups].map(([key, same]) => {
    const count = same.reduce((sum, { resources }) => sum + resources.length, 0);
    const [{ colorOf, heading } = { colorOf: 'noop', heading: '' } as const] = same;
    return html`<label class="chip ${toneOf[colorOf]}"><input type="checkbox" data-filter="${key}">${heading} ${count}</label>`;
  });
  return html`<div class="tools" hidden><input type="search" id="search" placeholder="Search" aria-label="Search resources, fields and values" aria-keyshortcuts="/">${chips.length > 1 && chips}<button type="button" data-open="yes">Open all</button><button type="button" data-open="no">Close all</button><span id="count" role="status"></span></div>`;
}

function nonEmptyGroups({ groups }: Report): ReportGroup[] {
  return groups.filter(({ resources }) => resources.length > 0);
}

function groupsHtml(report: Report, options: PageOptions): Html[] {
  const { full = false, selection, fold = 'resources', elsewhere } = options;
  let { room = Number.POSITIVE_INFINITY } = options;
  const views = viewsOf(report, { wholeTexts: true, selection });
  const outcome = (resource: PlannedResource) => outcomeOf(report, resource, selection);
  const isPlain = (resource: PlannedResource) =>
    (outcome(resource)?.details ?? []).length === 0 && !mustListAll([resource]);
  const { without } = sharedSteps(report.pending, { full, selection, dashboard: report.document.dashboard });
  return nonEmptyGroups(report).flatMap((group) => {
    const { heading, explanation } = group;
    const resources = group.resources.flatMap((each) => without(each) ?? []);
    if (resources.length === 0) return [];
    const isRow = (each: PlannedResource) => each.action === 'noop' || isPlain(each);
    const rows = new Set(full ? [] : listedInTable(resources.filter(isRow)));
    const boxed = resources.filter((each) => !rows.has(each));
    // Resources that need a decision or have a result with details are never combined.
    const alone = boxed.filter((each) => !isPlain(each));
    const statements = [...compact(alone, { views, full: true }), ...compact(boxed.filter(isPlain), { views, full })];
    const listed: Html[] = [];
    for (const each of statements.slice(0, MAX_STATEMENTS)) {
      const outcomes = each.resources.map(outcome);
      const shown = resourceHtml(each, group, { outcome: outcomes[0], isOpen: fold === 'none' });
      room -= Buffer.byteLength(shown.text);
      if (room < 0) break;
      listed.push(shown);
    }
    const rest = statements.length - listed.length;
    const note = explanation !== undefined && html` <small>${explanation}</small>`;
    const head = html`<h2>${heading} (${resources.length})${note}</h2>`;
    const content = joined(
      [
        ...listed,
        rest > 0 && html`<p class="faint">and ${rest} more${elsewhere}</p>`,
        rows.size > 0 && tableHtml([...rows], group.key, views),
      ],
      '\n',
    );
    return fold === 'groups'
      ? html`<details class="group" data-group><summary>${head}</summary>${content}</details>
`
      : html`<section data-group>${head}
${content}
</section>
`;
  });
}

/** Returns the reference graph, or nothing if there are no references. */
export function referencesHtml(report: Report): Html {
  const marks = new Map<string, string>();
  for (const { key, resources } of changedGroups(report)) for (const { address } of resources) marks.set(address, key);
  const drawn = planPicture(report.document, ({ address }) => marks.get(address));
  if (drawn.edges.length === 0) return html``;
  const note = drawn.note !== undefined && html` <small>${drawn.note}</small>`;
  return html`<section><h2>References${note}</h2><div class="picture" tabindex="0" role="region" aria-label="Reference graph">${graphSvg(drawn, { standalone: false })}</div></section>`;
}
