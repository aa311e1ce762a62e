import type { FleetStatus } from '../fleet/control.ts';
import { pullCounts } from '../fleet/pulls/pull-report.ts';
import type { ListedPull, PullsProblem } from '../fleet/rows/pull-rows.ts';
import { escapeControls } from '../output/escape-controls.ts';
import type { Style } from '../output/style.ts';
import { noWrapColumns, renderTable } from '../output/table.ts';
import { displayWidth, truncate } from '../output/text-width.ts';
import { formatSpan } from './fleet-status-text.ts';

const columns = ['REQUEST', 'STATUS', 'HEAD', 'WORKSPACES'];
const MIN_TITLE_WIDTH = 20;

/**
 * Returns the number of seconds since the last heartbeat of a process or the last fetch of a source. Returns undefined while a process is
 * running, and Infinity if no process ever ran.
 */
export function secondsSinceServed({
  processes,
  sources,
}: Pick<FleetStatus, 'processes' | 'sources'>): number | undefined {
  if (processes.some(({ status }) => status !== 'dead')) return undefined;
  const ages = [...processes.map(({ heardAge }) => heardAge), ...sources.flatMap(({ fetchedAge }) => fetchedAge ?? [])];
  return Math.min(Number.POSITIVE_INFINITY, ...ages);
}

/** Returns messages with the reasons why the list may be out of date. */
export function pullWarnings(
  problems: readonly PullsProblem[],
  status: Pick<FleetStatus, 'at' | 'processes' | 'sources'>,
): string[] {
  const seconds = secondsSinceServed(status);
  const last = seconds === Number.POSITIVE_INFINITY ? '' : `; the last one was active ${formatSpan(seconds ?? 0)} ago`;
  const ageSince = (since: string) => formatSpan(Math.max(0, (Date.parse(status.at) - Date.parse(since)) / 1000));
  return [
    ...(seconds === undefined ? [] : [`No process is running${last}. Start one: voxform fleet serve`]),
    ...problems.map(
      ({ source, message, since }) =>
        `The pull requests of ${source} ${since === null ? 'cannot be read' : `have been unreadable for ${ageSince(since)}`}: ${message}`,
    ),
  ];
}

/** Returns a table with one row for each pull request, followed by their problems. */
export function fleetPullsText(pulls: readonly ListedPull[], style: Style): string {
  const rows = pulls.map(({ source, number, state, status, head, workspaces }) => [
    `${source}#${number}`,
    state === 'open' ? status : state,
    head.slice(0, 10),
    pullCounts(workspaces),
  ]);
  const widths = columns.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
  const titleWidth = Math.max(
    MIN_TITLE_WIDTH,
    widths.reduce((rest, width) => rest - width - 2, style.width),
  );
  const titled = rows.map((row, index) => [...row, truncate(escapeControls(pulls[index]?.title ?? ''), titleWidth)]);
  const problems = pulls.flatMap(({ source, number, state, problem }) =>
    state === 'open' && problem !== null ? [`${source}#${number}: ${problem}`] : [],
  );
  return [
    renderTable(
      [...noWrapColumns('REQUEST', 'STATUS', 'HEAD'), 'WORKSPACES', { title: 'TITLE', noWrap: true }],
      titled,
      style,
    ),
    ...(problems.length === 0 ? [] : ['\n']),
    ...problems.map((each) => `${style.prose(each)}\n`),
  ].join('');
}
