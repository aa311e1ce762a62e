import type { PastRun } from '../runs/past-runs.ts';
import { nameCounts } from '../values/name-counts.ts';
import { countWords, doneWords } from './action-words.ts';
import { listed } from './address-list.ts';
import { escapeControls } from './escape-controls.ts';
import { plural } from './plural.ts';
import type { Style } from './style.ts';
import { noWrapColumns, renderTable } from './table.ts';
import { truncate } from './text-width.ts';

const columns = [...noWrapColumns('RUN', 'WHEN (UTC)'), 'WHO', 'COMMAND', ...noWrapColumns('RESULT'), 'CHANGES'];

/** The maximum width of an error in the table. `runText` prints the whole error. */
const MAX_ERROR_WIDTH = 40;

/** Returns the runs as a table. Ids are shortened to prefixes that are unique among `all`. */
export function historyText(runs: readonly PastRun[], all: readonly PastRun[], style: Style): string {
  const length = distinctLength(all.map(({ run }) => run));
  const rows = runs.map((run) => [
    run.run.slice(0, length),
    run.began.slice(0, 16).replace('T', ' '),
    run.job?.name ?? run.who,
    run.command,
    run.result,
    changesOf(run),
  ]);
  return renderTable(columns, rows, style);
}

export function runText(run: PastRun, style: Style): string {
  const { job, plan, resources = [], more = 0, approved_by, lifted = [], waived = [], error, ended } = run;
  const seconds = ended === undefined ? 0 : (Date.parse(ended) - Date.parse(run.began)) / 1000;
  const facts: [string, string | undefined][] = [
    ['Run', run.run],
    ['Command', run.command],
    ['Result', error === undefined ? run.result : `${run.result}: ${error}`],
    ['Began', run.began],
    [run.result === 'died' ? 'Last write' : 'Ended', ended && `${ended}, after ${seconds} s`],
    ['Who', run.who],
    ['Requested by', run.asked_by],
    ['Unlocked by', run.unlocked_by],
    ['Job', job && `${job.name} ${job.url}`],
    ['Commit', run.commit],
    ['voxform', run.voxform_version],
    ['Plan', plan && (countWords(plan.summary).join(', ') || 'no changes')],
    ['Digest', plan?.digest],
    ['Approved by', approved_by],
    ['Moved from', run.moved_from && `${run.moved_from}, which keeps the earlier runs`],
    ['Moved to', run.moved_to],
    ['Guards overridden', lifted.join(', ') || undefined],
    ['Waived', waived.map(waiverText).join('; ') || undefined],
  ];
  const known = facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const width = Math.max(...known.map(([name]) => name.length));
  const lines = known.map(([name, value]) => style.prose(value, { lead: `${style.bold(name.padEnd(width))}  ` }));
  const table = resources.map(({ address, action, from, id, paths, result, error: failure }) => [
    from === undefined ? address : `${from} -> ${address}`,
    action,
    result,
    id ?? '-',
    failure ?? paths.join(', '),
  ]);
  const filledColumns = resourceColumns.filter((_, index) => table.some((row) => row[index] !== ''));
  return [
    ...lines,
    ...(table.length === 0 ? [] : ['', renderTable(filledColumns, table, style).trimEnd()]),
    ...(more === 0 ? [] : [`and ${plural(more, 'more resource')}`]),
    '',
  ].join('\n');
}

/** Returns a string such as `calls-end (voxform.yaml) for Agent/a, Agent/b: a test line`. */
export function waiverText(waiver: NonNullable<PastRun['waived']>[number]): string {
  const { rule, policy_file: file, because, addresses = [] } = waiver;
  const subject = addresses.length === 0 ? '' : ` for ${listed(addresses, MAX_WAIVED)}`;
  return `${rule}${file === undefined ? '' : ` (${file})`}${subject}: ${because}`;
}

const MAX_WAIVED = 5;

const resourceColumns = [...noWrapColumns('ADDRESS', 'ACTION', 'RESULT', 'ID'), { title: 'CHANGED', prose: true }];

export function changesOf({ resources = [], more = 0, error, moved_from, moved_to }: PastRun): string {
  if (moved_from !== undefined) return escapeControls(`moved from ${moved_from}, which keeps the earlier runs`);
  if (moved_to !== undefined) return escapeControls(`moved to ${moved_to}`);
  const counts = [
    ...doneWords(nameCounts(resources.flatMap(({ action, result }) => (result === 'done' ? action : [])))),
    ...countWords(nameCounts(resources.flatMap(({ result }) => (result === 'done' ? [] : result)))),
    ...(more === 0 ? [] : [`${more} more`]),
  ];
  if (counts.length > 0) return counts.join(', ');
  return error === undefined ? '-' : truncate(escapeControls(error), MAX_ERROR_WIDTH);
}

/** Returns the minimum length of prefixes that distinguish the ids, but at least 8. */
function distinctLength(ids: readonly string[]): number {
  const isDistinct = (length: number) => new Set(ids.map((id) => id.slice(0, length))).size === new Set(ids).size;
  let length = 8;
  while (!isDistinct(length)) length++;
  return length;
}
