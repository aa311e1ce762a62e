import type { ApplyReport } from '../../engine/apply/apply-report.ts';
import type { PlannedResource } from '../../engine/plan/plan-document.ts';
import { commandFor, type WorkspaceSelection } from '../../problems/workspace-command.ts';
import {
  type AppliedWrite,
  actionWords,
  appliedWrites,
  applySummary,
  countNotApplied,
  earlyEnd,
  pendingActions,
  remainingResources,
  skippedGroups,
  unrecordedStep,
} from '../action-words.ts';
import { addressList } from '../address-list.ts';
import { failureText } from '../errors.ts';
import { escapeControls } from '../escape-controls.ts';
import { viewsOf } from '../field-view.ts';
import { sharedSteps } from '../grouped-steps.ts';
import { commandOf, helpText, isTask, stepText } from '../next-steps.ts';
import { plural } from '../plural.ts';
import { renderRemarks, renderShared, renderWarnings } from '../remarks-text.ts';
import { changedGroups, type Report, type ReportOptions, type ReportSet, selectionOf } from '../report.ts';
import { headLine, renderGroup, renderRemark } from '../resource-text.ts';
import { paragraphs, type Style, section, sentences } from '../style.ts';
import { displayWidth, pad } from '../text-width.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  report: (report, { style, ...options }) =>
    `${report.type === 'apply' ? '\n' : ''}${reportText(report, style, options)}`,
  reportSet: (reports, { style, ...options }) => reportSetText(reports, style, options),
};

interface ReportTextOptions extends ReportOptions {
  /** True to list unchanged resources, and to include long strings in full and all reasons. */
  readonly verbose?: boolean;
  /** True to show the heading even if the plan is empty. */
  readonly headed?: boolean;
}

/** Returns a report as text: the groups with a line for each field, remarks, and a closing count. */
export function reportText(report: Report, style: Style, options: ReportTextOptions = {}): string {
  const { type, document, groups, pending, applied } = report;
  if (applied !== undefined) return applyText(applied, style, options);
  const { verbose = false, headed = false, full = verbose, quiet, selection } = options;
  const { shared, without } = sharedSteps(pending, { full, selection, dashboard: document.dashboard });
  const views = viewsOf(report, { verbose, selection });
  const unchanged = groups.flatMap(({ key, resources }) => (key === 'noop' ? resources : []));
  const steps = shared.map((each) => renderShared(each, style));
  const body = [
    ...changedGroups(report).map((group) => {
      const resources = group.resources.flatMap((each) => without(each) ?? []);
      return renderGroup({ ...group, resources }, { style, views, full });
    }),
    type === 'plan' ? renderUnchanged(unchanged, style, verbose) : '',
    section(style.bold('Manual steps'), steps),
    renderRemarks(document, style, { full, selection, quiet }),
  ].filter((part) => part !== '');
  const { workspace, workspace_id: id, base_url: url } = document;
  const lead = `Workspace ${escapeControls(workspace)} `;
  const heading = body.length === 0 && !headed ? '' : style.prose(`${id} at ${url}`, { lead, format: style.dim });
  return paragraphs([heading, ...body, closing(report, style)]);
}

/** Returns a list of renamed resources, or if verbose, of all unchanged resources. */
function renderUnchanged(resources: readonly PlannedResource[], style: Style, verbose: boolean): string {
  const shown = resources.filter(({ previous_address: previous }) => verbose || previous !== undefined);
  if (shown.length === 0) return '';
  const lines = shown.map((resource) => {
    const { unverified = [], not_applied: kept = [] } = resource;
    const head = headLine(resource, { symbol: '', colorOf: 'noop' }, style);
    if (!verbose) return head;
    const remarks = [
      kept.length > 0 && `not applied by the platform: ${kept.join(', ')}`,
      unverified.length > 0 && `${plural(unverified.length, 'field')} unverified: ${unverified.join(', ')}`,
    ];
    return [head, ...remarks.flatMap((text) => (text === false ? [] : renderRemark(text, style)))].join('\n');
  });
  return [style.bold(`${verbose ? 'Unchanged' : 'Renamed'} (${shown.length})`), ...lines].join('\n');
}

function closing(report: Report, style: Style): string {
  const { document, summary } = report;
  const isClean =
    changedGroups(report).every(({ resources }) => resources.length === 0) && countNotApplied(document.resources) === 0;
  const counts = sentences(summary, style, { format: isClean ? style.good : style.bold });
  if (document.refreshed) return counts;
  return `${style.prose('Made with --no-refresh: the plan is based on the state; the platform was not read.', { format: style.warn })}\n${counts}`;
}

/** Returns each report under the name of its workspace, the failures, and a summary line for each workspace. */
export function reportSetText(
  { reports, failures }: ReportSet,
  style: Style,
  { verbose = false, full, quiet }: Pick<ReportTextOptions, 'verbose' | 'full' | 'quiet'> = {},
): string {
  const parts = [
    ...reports.map((each) =>
      reportText(each, style, { verbose, full, quiet, headed: true, selection: selectionOf(each) }),
    ),
    ...failures.map((failure) => failureText(failure, style)),
  ];
  const rows = [
    ...reports.map(({ document: { workspace }, summary }) => ({ workspace, text: summary.join(' '), format: String })),
    ...failures.map(({ workspace }) => ({ workspace, text: 'failed', format: style.error })),
  ];
  const names = rows.map(({ workspace }) => escapeControls(workspace));
  const width = Math.max(0, ...names.map(displayWidth));
  const lines = rows.map(({ text, format }, index) =>
    style.prose(text, { indent: 2, lead: `${pad(names[index] ?? '', width)}  `, format }),
  );
  return `${parts.join('\n')}\n${style.bold(plural(rows.length, 'workspace'))}\n${lines.join('\n')}\n`;
}

/** The maximum width of the address column. A longer address shifts only the words in its own line. */
const MAX_ADDRESS_WIDTH = 36;

interface Wording {
  readonly style: Style;
  readonly full: boolean;
  readonly selection: WorkspaceSelection;
}

/** Renders the results of an apply, the remaining steps, the warnings and the summary. */
export function applyText(report: ApplyReport, style: Style, { full = false, selection }: ReportOptions): string {
  const applied = appliedWrites(report);
  const ended = earlyEnd(report);
  const wording = { style, full, selection };
  return paragraphs([
    renderDone(applied, wording),
    ...renderUnfinished(applied, wording),
    section(style.bold('Remaining steps'), renderRemaining(report, wording)),
    renderWarnings(report.warnings, style, { full, selection, applied: true }),
    renderOrphans(applied, wording),
    ended === undefined ? '' : style.prose(ended, { format: style.warn }),
    applyClosing(report, style),
  ]);
}

/** Returns the skipped, failed and unrecorded writes. */
export function renderUnfinished(applied: readonly AppliedWrite[], wording: Wording): string[] {
  const { style } = wording;
  const errorHeading = (heading: string) => style.bold(style.error(heading));
  const failed = applied.flatMap((entry) => renderFailed(entry, wording));
  return [
    section(style.bold('Skipped'), renderSkipped(applied, wording)),
    section(errorHeading('Failed'), failed),
    section(errorHeading('Not recorded'), renderUnrecorded(applied, wording)),
  ];
}

/** The minimum number of updates or imports that are listed as addresses only, without ids. */
const MIN_MERGED = 12;

/** Returns one line for each resource. Many updates or imports are merged into one paragraph. */
function renderDone(applied: readonly AppliedWrite[], { style, full }: Wording): string {
  const done = applied.filter(({ result }) => result.status === 'done');
  const together = (['adopt', 'update'] as const).flatMap((action) => {
    const members = done.filter(({ resource }) => resource.action === action);
    return full || members.length < MIN_MERGED ? [] : [{ action, members }];
  });
  const alone = done.filter(({ resource }) => !together.some(({ action }) => action === resource.action));
  const paragraphs = together.map(({ action, members }) => {
    const { symbol, done: word } = actionWords[action];
    const lead = `${style.action[action](pad(symbol, 3, 'right'))} ${members.length} ${word}:`;
    const names = members.map(({ resource }) => resource.address);
    return `${lead}\n${style.prose(addressList(names, false, { lists: '' }), { indent: 6 })}`;
  });
  return [...renderLines(alone, style), ...paragraphs].join('\n');
}

function renderLines(done: readonly AppliedWrite[], style: Style): string[] {
  const rows = done.map(({ resource: { action, address, id }, result }) => ({
    ...actionWords[action],
    action,
    address: escapeControls(address),
    id: escapeControls((result.status === 'done' ? result.id : null) ?? id ?? ''),
  }));
  const widest = Math.min(MAX_ADDRESS_WIDTH, Math.max(0, ...rows.map(({ address }) => displayWidth(address))));
  const longest = Math.max(0, ...rows.map(({ done: word }) => word.length));
  return rows.map(({ action, symbol, address, done: word, id }) => {
    const mark = style.action[action](pad(symbol, 3, 'right'));
    return `${mark} ${pad(address, widest)}  ${pad(word, longest)}  ${style.dim(id)}`.trimEnd();
  });
}

/** Returns a note that the records of released resources still exist as orphans. */
function renderOrphans(applied: readonly AppliedWrite[], { style, selection }: Wording): string {
  const orphaned = applied.filter(
    ({ resource: { action, notices }, result }) =>
      action === 'forget' && result.status === 'done' && notices === undefined,
  );
  if (orphaned.length === 0) return '';
  const records = orphaned.length === 1 ? '1 record stays as an orphan' : `${orphaned.length} records stay as orphans`;
  return style.prose(`${records}: ${commandFor('voxform orphans', selection)}`);
}

/** Returns an item for each reason, or for each resource if `full` is true. */
function renderSkipped(applied: readonly AppliedWrite[], { style, full, selection }: Wording): string[] {
  const lists = commandFor('voxform plan', selection);
  return skippedGroups(applied).flatMap(({ because, addresses }) => {
    const lines = full ? addresses : [addressList(addresses, false, { lists })];
    return lines.map((names) => style.prose(`${names}: ${because}`, { indent: 2, lead: '- ' }));
  });
}

/** Returns an import command for each record that is missing from the state. */
function renderUnrecorded(applied: readonly AppliedWrite[], { style, selection }: Wording): string[] {
  const steps = applied.flatMap((entry) => unrecordedStep(entry) ?? []);
  const commands = steps.map((step) => `    ${escapeControls(commandOf(step, selection))}`);
  if (commands.length === 0) return [];
  const lead =
    'The records exist. When the state is writable again, run this for each record that is not in a rescue file:';
  return [style.prose(lead, { indent: 2 }), ...commands];
}

function renderFailed(entry: AppliedWrite, { style, selection }: Wording): string[] {
  const { resource, result } = entry;
  if (result.status !== 'failed' || unrecordedStep(entry) !== undefined) return [];
  const { address, source, url } = resource;
  const help = helpText(result, selection);
  const position = source === null ? '' : `  ${style.dim(`${escapeControls(source.file)}:${source.line}`)}`;
  return [
    `  ${style.error('x')} ${style.bold(escapeControls(address))}${position}`,
    style.prose(result.error, { indent: 4 }),
    ...(help === undefined ? [] : [style.prose(help, { indent: 4, lead: style.dim('hint: ') })]),
    ...linkLine(url),
  ];
}

/** Returns the steps that several resources share, then the other steps of each resource. */
function renderRemaining(report: ApplyReport, wording: Wording): string[] {
  const { style, full, selection } = wording;
  const { shared, resources } = sharedSteps(remainingResources(report), {
    full,
    selection,
    dashboard: report.plan.dashboard,
  });
  const isOpen = ({ action, steps = [] }: PlannedResource) =>
    steps.length > 0 || pendingActions.some((each) => each === action);
  return [
    // The tables are omitted, because the plan above contains them.
    ...shared.map(({ table: _, ...each }) => renderShared(each, style, { applied: { selection } })),
    ...resources.filter(isOpen).map((resource) => renderPending(resource, wording)),
  ];
}

function renderPending(resource: PlannedResource, { style, selection }: Wording): string {
  const { address, reason, url, steps = [] } = resource;
  const action = pendingActions.find((each) => each === resource.action) ?? 'manual';
  const { symbol, done } = actionWords[action];
  const isOpen = action === 'blocked' || action === 'unknown';
  const state = isOpen ? `  ${style.action[action](done)}` : '';
  const head = `${style.action[action](pad(symbol, 3, 'right'))} ${style.bold(escapeControls(address))}${state}`;
  const reasonLines = !isOpen && steps.length > 0 ? [] : [style.prose(reason, { indent: 4, format: style.dim })];
  const stepLines = steps.map((step) =>
    style.prose(stepText(step, selection), { indent: 4, lead: isTask(step) ? '[ ] ' : '' }),
  );
  return [head, ...reasonLines, ...stepLines, ...linkLine(url)].join('\n');
}

function linkLine(url: string | undefined): string[] {
  return url === undefined ? [] : [`    ${escapeControls(url)}`];
}

function applyClosing(report: ApplyReport, style: Style): string {
  const failed = [...report.results.values()].some(({ status }) => status === 'failed');
  const color = failed ? style.error : report.interrupted === undefined ? style.good : style.warn;
  return sentences(applySummary(report), style, { format: (line) => style.bold(color(line)) });
}
