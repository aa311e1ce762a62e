import type { FleetStatus } from '../fleet/control.ts';
import type { FleetWorkspace } from '../fleet/rows/status-rows.ts';
import { type ShownWorkspace, summaryOf } from '../operator/shown-workspace.ts';
import { workspaceStatuses } from '../operator/workspace-status.ts';
import { escapeControls, escapedLines } from '../output/escape-controls.ts';
import { plural } from '../output/plural.ts';
import type { Style } from '../output/style.ts';
import { noWrapColumns, renderTable } from '../output/table.ts';
import { wrapWords } from '../output/text-width.ts';
import { shellWord } from '../problems/shell-word.ts';
import { isObject } from '../values/json.ts';

const columns = [...noWrapColumns('WORKSPACE', 'STATUS', 'SINCE', 'CHECKED'), { title: 'NOTE', prose: true }];

/** The maximum number of rows. Further rows are only counted. */
const MAX_ROWS = 50;

interface FleetOverview extends FleetStatus {
  /** Patterns of the fleet file that match no workspace. */
  readonly unusedRules: readonly string[];
}

/**
 * Returns the status of the fleet as text: the workspaces that need attention, then the age of the data.
 * @param address if given, the text describes this workspace in detail instead.
 */
export function fleetStatusText(status: FleetOverview, style: Style, address?: string): string {
  const { counts: byStatus, workspaces, sources, processes, lateness } = status;
  const { oldestCheckAge, neverChecked, orphans } = status;
  const now = Date.parse(status.at);
  const [only] = workspaces;
  const frozen = frozenText(status, style);
  if (address !== undefined)
    return frozen + (only === undefined ? 'No workspace matches.\n' : workspaceText(only, now, style));
  const total = Object.values(byStatus).reduce((sum, count) => sum + count, 0);
  const statusCounts = workspaceStatuses
    .filter((name) => byStatus[name] > 0)
    .map((name) => `${byStatus[name]} ${name}`);
  const needingAttention = workspaces
    .filter((each) => each.status !== 'in-sync' || noteOn(each) !== '')
    .sort((a, b) => workspaceStatuses.indexOf(a.status) - workspaceStatuses.indexOf(b.status));
  const rows = needingAttention
    .slice(0, MAX_ROWS)
    .map((each) => [
      each.address,
      each.status,
      formatSpan(Math.max(0, (now - Date.parse(each.since)) / 1000)),
      each.checkedAge === null ? 'never' : `${formatSpan(each.checkedAge)} ago`,
      noteOn(each),
    ]);
  const more = needingAttention.length - rows.length;
  const broken = sources.flatMap((source) => source.broken);
  const brokenProjects = broken.length === 0 ? '' : `; ${plural(broken.length, 'broken project')}`;
  const orphanCount = orphans === 0 ? '' : `; ${plural(orphans, 'orphan')}`;
  const late = processes.length === 0 || lateness < 1 ? '' : `; the next run is ${formatSpan(lateness)} late`;
  const oldestCheck = oldestCheckAge === null ? '' : `; oldest check ${formatSpan(oldestCheckAge)} ago`;
  const checked = `${oldestCheck}${neverChecked > 0 ? `; ${neverChecked} never checked` : ''}`;
  return [
    `${frozen}${plural(total, 'workspace')}${statusCounts.length === 0 ? '' : `: ${statusCounts.join(', ')}`}${brokenProjects}${orphanCount}${checked}${late}`,
    ...(rows.length === 0 ? [] : ['', renderTable(columns, rows, style).trimEnd()]),
    ...(rows.some((_, index) => needingAttention[index]?.plan?.state === 'waiting')
      ? ['', 'To show a plan: voxform fleet show WORKSPACE']
      : []),
    ...(more > 0 ? [`and ${more} more; to see all: voxform fleet status --output json`] : []),
    ...broken.slice(0, MAX_ROWS).flatMap(({ project, problem }) => {
      const [first = '', ...others] = escapedLines(problem);
      return [
        '',
        wrapped('', `Cannot use ${project}: ${first}`, style),
        ...others.map((line) => wrapped('  ', line, style)),
      ];
    }),
    '',
    ...sources.flatMap(({ name, shown, commit, fetchedAge, problem, removed, warnings }) => [
      `Source ${name} (${escapeControls(shown)}): ${removed ? 'no longer in the fleet file, ' : ''}${commit === null ? '' : `commit ${commit.slice(0, 10)}, `}${fetchedAge === null ? 'never fetched' : `fetched ${formatSpan(fetchedAge)} ago`}`,
      ...[...(problem === null ? [] : [problem]), ...warnings].map((each) => wrapped('  ', each, style)),
    ]),
    ...status.unusedRules.map((pattern) => `No workspace matches the rule ${JSON.stringify(pattern)}`),
    ...(processes.length === 0 ? ['No process is running. Start one: voxform fleet serve'] : []),
    ...processes.map(
      ({ host, pid, version, status: state, runs, heardAge }) =>
        `Process ${pid} on ${host} (${version}): ${state}, ${plural(runs.length, 'run')}, last heartbeat ${formatSpan(heardAge)} ago`,
    ),
    '',
  ].join('\n');
}

function frozenText({ frozen }: FleetStatus, style: Style): string {
  if (frozen === null) return '';
  const text = `Frozen by ${frozen.by} since ${frozen.at}: ${frozen.because}`;
  return `${wrapped('', text, style)}\nNothing is written. To resume: voxform fleet resume --all\n\n`;
}

function workspaceText(workspace: FleetWorkspace, now: number, style: Style): string {
  const { status, since, mode, intervalSeconds, workspaceId, baseUrl, checkedAge, failures } = workspace;
  const { asked, paused, vanishedAt, plan, rejected, dueAt } = workspace;
  const toApprove = plan?.state === 'waiting' ? plan : rejected;
  const unknown = isObject(workspace.last) ? [workspace.last.unknown ?? []].flat() : [];
  const due = (Date.parse(dueAt) - now) / 1000;
  const facts: [string, string | null][] = [
    ['Workspace', workspace.address],
    ['Status', `${status}, since ${since}`],
    ['Checked', checkedAge === null ? 'never' : `${formatSpan(checkedAge)} ago`],
    ['Next run', paused !== null || vanishedAt !== null ? null : due > 0 ? `in ${formatSpan(due)}` : 'due'],
    ['Mode', `${mode}, every ${formatSpan(intervalSeconds)}`],
    ['Platform', baseUrl && `${workspaceId ?? 'unknown'} at ${baseUrl}`],
    ['Commit', commitText(workspace)],
    ['Failures', failures === 0 ? null : `${failures} in a row`],
    ['Requested', asked && [asked.why, asked.by].filter((each) => each !== null).join(' by ')],
    ['Paused', paused && `by ${paused.by} ${paused.at}${reasonOf(paused)}`],
    ['Removed', vanishedAt],
    ['Plan', plan && `${plan.id}, ${plan.state}${plan.by === null ? '' : ` by ${plan.by}`}, created ${plan.madeAt}`],
    ['Rejected', rejected && `plan ${rejected.id} by ${rejected.by} ${rejected.at}${reasonOf(rejected)}`],
    ['Note', noteOn(workspace) || null],
    ['Unknown', unknown.join(', ') || null],
    ['Resolve', unknown.length > 0 ? `voxform fleet exec ${shellWord(workspace.address)} plan` : null],
    ['Approve', toApprove && `voxform fleet approve ${shellWord(workspace.address)} ${toApprove.id}`],
  ];
  const known = facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${wrapped(`${name.padEnd(width)}  `, value, style)}\n`).join('');
}

/** Wraps the text to the width of the style. A command stays on one line, so that it can be copied. */
function wrapped(lead: string, text: string, { width }: Style): string {
  const safe = escapeControls(text);
  const lines = safe.startsWith('voxform ') ? [safe] : wrapWords(safe, Math.max(1, width - lead.length));
  return lead + lines.join(`\n${' '.repeat(lead.length)}`);
}

/** Returns the newest commit, and also the last valid commit if the newest is invalid. */
function commitText({ status, commit, last }: ShownWorkspace): string | null {
  const lastValid = status === 'invalid' && isObject(last) ? last.commit : commit;
  return typeof lastValid !== 'string' || lastValid === commit || commit === null
    ? commit
    : `${lastValid}; ${commit} is invalid`;
}

/** Returns the reason why a workspace needs attention, or an empty string. */
function noteOn(workspace: ShownWorkspace): string {
  const { status, plan, vanishedAt } = workspace;
  if (vanishedAt !== null) return 'the project is no longer in its source, and the state has records';
  if (status === 'waiting' && plan?.state === 'waiting') return `plan ${plan.id}`;
  return escapeControls(summaryOf(workspace));
}

function reasonOf({ because }: { readonly because: string | null }): string {
  return because === null ? '' : `: ${because}`;
}

/** Formats a duration as `5 s`, `3 min`, `2 h` or `4 d`. */
export function formatSpan(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}
