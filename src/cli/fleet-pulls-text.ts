import type { FleetStatus } from '../fleet/control.ts';
import { pullCounts } from '../fleet/pulls/pull-report.ts';
import type { ListedPull, PullsProblem } from '../fleet/rows/pull-rows.ts';
import { escapeControls } from '../output/escape-controls.ts';
import type { Style } from '../output/style.ts';
import { renderTable, whole } from '../output/table.ts';
import { displayWidth, truncate } from '../output/text-width.ts';
import { span } from './fleet-status-text.ts';

const columns = ['REQUEST', 'STATUS', 'HEAD', 'WORKSPACES'];
/** The minimum width of a title. */
const LEAST_TITLE = 20;

/** Seconds since a process was last heard or fetched a source; undefined while one serves the fleet, and infinite if none ever did. */
export function unservedFor({ processes, sources }: Pick<FleetStatus, 'processes' | 'sources'>): number | undefined {
  if (processes.some(({ status }) => status !== 'dead')) return undefined;
  const ages = [...processes.map(({ heardAge }) => heardAge), ...sources.flatMap(({ fetchedAge }) => fetchedAge ?? [])];
  return Math.min(Number.POSITIVE_INFINITY, ...ages);
}

/** Why the list may be out of date. */
export function pullRemarks(
  problems: readonly PullsProblem[],
  status: Pick<FleetStatus, 'at' | 'processes' | 'sources'>,
): string[] {
  const unserved = unservedFor(status);
  const last = unserved === Number.POSITIVE_INFINITY ? '' : `, the last one was active ${span(unserved ?? 0)} ago`;
  const age = (since: string) => span(Math.max(0, (Date.parse(status.at) - Date.parse(since)) / 1000));
  return [
    ...(unserved === undefined ? [] : [`No process serves the fleet${last}: voxform fleet serve`]),
    ...problems.map(
      ({ source, message, since }) =>
        `The pull requests of ${source} cannot be read${since === null ? '' : ` for ${age(since)}`}: ${message}`,
    ),
  ];
}

/** Pull requests as a table with one line each, and their problems. */
export function fleetPullsText(pulls: readonly ListedPull[], style: Style): string {
  const rows = pulls.map(({ source, number, state, status, head, workspaces }) => [
    `${source}#${number}`,
    state === 'open' ? status : state,
    head.slice(0, 10),
    pullCounts(workspaces),
  ]);
  const used = columns.map((title, index) =>
    Math.max(title.length, ...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
  const room = Math.max(
    LEAST_TITLE,
    used.reduce((rest, width) => rest - width - 2, style.width),
  );
  const titled = rows.map((row, index) => [...row, truncate(escapeControls(pulls[index]?.title ?? ''), room)]);
  const problems = pulls.flatMap(({ source, number, state, problem }) =>
    state === 'open' && problem !== null ? [`${source}#${number}: ${problem}`] : [],
  );
  return [
    renderTable([...whole('REQUEST', 'STATUS', 'HEAD'), 'WORKSPACES', { title: 'TITLE', whole: true }], titled, style),
    ...(problems.length === 0 ? [] : ['\n']),
    ...problems.map((each) => `${style.prose(each)}\n`),
  ].join('');
}
