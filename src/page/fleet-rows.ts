import { z } from 'zod';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { holdText } from '../fleet/hold-text.ts';
import type { KeptRun } from '../fleet/rows/page-rows.ts';
import type { OutsideState } from '../fleet/rows/run-rows.ts';
import type { ShownWorkspace } from '../fleet/rows/status-rows.ts';
import { countWords, doneWords } from '../output/action-words.ts';
import { plural } from '../output/plural.ts';
import type { PastRun } from '../runs/past-runs.ts';
import { statusOf } from '../runs/resource-status.ts';
import type { StateDocument } from '../state/state-document.ts';
import type { ResourceRow, RunDetail, WorkspaceRow } from './page-data.ts';
import { requestFacts } from './report-status.ts';
import { detailOfPastRun, MOST_LISTED, pauseText, plannedIn, resultWord } from './run-details.ts';

/** The results of a run in the database. Those of another version of voxform may lack parts. */
const lastSummary = z.object({
  result: z.string().nullable().catch(null),
  error: z.string().nullable().catch(null),
  because: z.string().optional().catch(undefined),
  problems: z.array(z.string()).catch([]),
  counts: z.record(z.string(), z.number()).catch({}),
  applied: z.record(z.string(), z.number()).catch({}),
  person: z.number().catch(0),
  orphans: z.number().catch(0),
  drift: z.array(z.string()).catch([]),
  missing: z.array(z.object({ address: z.string() })).catch([]),
  labels: z.array(z.string()).catch([]),
  hold: z.string().nullable().catch(null),
  resources: z
    .array(
      z.object({
        address: z.string(),
        action: z.string(),
        result: z.string(),
        id: z.string().nullable(),
        detail: z.string(),
      }),
    )
    .catch([]),
  more: z.number().catch(0),
  pull_request: z
    .object({
      status: z.string().nullable(),
      url: z.url({ protocol: /^https?$/ }).nullable(),
      message: z.string().nullable(),
      problem: z.string().nullable(),
    })
    .optional()
    .catch(undefined),
});

type LastSummary = z.infer<typeof lastSummary>;

export function lastRun({ last }: Pick<ShownWorkspace, 'last'>): LastSummary {
  return lastSummary.parse(last ?? {});
}

export function rowOf(shown: ShownWorkspace): WorkspaceRow {
  const { address, status, since, checkedAt, isOld, mode, problem, paused, plan } = shown;
  const last = lastRun(shown);
  const isHeld = problem === null && status === 'pending' && last.result !== 'refused';
  const waits = status !== 'waiting' && plan?.state === 'waiting' && `plan ${plan.id} waits for approval`;
  const told = problem ?? (paused === null ? wordsOf(last, status) : `paused by ${pauseText(paused)}`);
  return {
    address,
    status,
    since: new Date(since),
    checkedAt: checkedAt === null ? undefined : new Date(checkedAt),
    isOld,
    summary: [told, isHeld && heldText(shown), waits].filter((each) => each).join('; '),
    source: address.split('/')[0] ?? '',
    mode,
  };
}

/** Why its changes are not applied. */
export function heldText(shown: ShownWorkspace): string | undefined {
  return shown.status === 'in-sync' || shown.plan !== null
    ? undefined
    : holdText(lastRun(shown).hold, shown.rejected);
}

const MOST_SUMMARY = 200;

function wordsOf(
  { result, error, problems, counts, drift, missing, person, orphans, hold }: LastSummary,
  status: ShownWorkspace['status'],
): string {
  if (status === 'failed' && error !== null) return error.slice(0, MOST_SUMMARY);
  if (status === 'invalid') return (problems[0] ?? '').slice(0, MOST_SUMMARY);
  return [
    ...(result === 'refused' && hold !== null ? [`refused by a ${hold}`] : []),
    ...(drift.length === 0 || status === 'in-sync' ? [] : [`${drift.length} drifted`]),
    ...(missing.length === 0 ? [] : [`${missing.length} missing`]),
    ...countWords(counts),
    ...(person === 0 ? [] : [`${person} for a person`]),
    ...(orphans === 0 ? [] : [plural(orphans, 'orphan')]),
  ].join(', ');
}

/** The resources of the plan, which may leave out those in sync, and all others of the state with their status in the last run. */
export function resourcesOfState(
  document: Pick<StateDocument, 'resources'> | OutsideState | undefined,
  plan: PlanDocument | undefined,
  shown: ShownWorkspace,
): readonly ResourceRow[] {
  const { drift, missing } = lastRun(shown);
  const planned = plan?.resources ?? [];
  const told = new Set(planned.flatMap(({ address, previous_address: before }) => [address, before]));
  const others = Object.entries(document?.resources ?? {}).filter(([address]) => !told.has(address));
  const status: ResourceRow['status'] =
    shown.status === 'in-sync' || plan !== undefined ? 'in sync' : 'recorded';
  const rows: ResourceRow[] = [
    ...statusOf(planned),
    ...others.map(([address, { id }]) => ({ address, id, status, detail: '' })),
  ];
  const isFine = (row: ResourceRow) => row.status === 'in sync' || row.status === 'recorded';
  return rows
    .map((row): ResourceRow => {
      const { address } = row;
      if (!isFine(row)) return row;
      if (missing.some((each) => each.address === address))
        return { ...row, status: 'blocked', detail: 'missing from the platform' };
      return drift.includes(address) && shown.status !== 'in-sync' ? { ...row, status: 'drifted' } : row;
    })
    .sort((a, b) => Number(isFine(a)) - Number(isFine(b)));
}

interface RunParts {
  /** The same run in the history of the state. */
  readonly written?: PastRun | undefined;
  /** Its plan, if it is still kept. */
  readonly plan?: { readonly plan: PlanDocument; readonly state: string } | undefined;
}

export function detailOfKeptRun(run: KeptRun, { written, plan: kept }: RunParts = {}): RunDetail {
  const { id, startedAt, seconds, result, mode, why, askedBy, commit, plan, process, summary } = run;
  const known = lastSummary.parse(summary);
  // A decision of a person is not a run.
  const planned = process === '' ? [] : plannedIn(kept?.plan);
  const told =
    written === undefined ? (known.resources.length > 0 ? known : undefined) : detailOfPastRun(written);
  return {
    id,
    began: startedAt,
    seconds,
    result: resultWord(result, known.hold !== null),
    command: 'fleet',
    who: undefined,
    askedBy: askedBy ?? undefined,
    summary:
      known.error ??
      known.problems[0] ??
      (known.because && `because: ${known.because}`) ??
      [...doneWords(known.applied), ...countWords(known.counts)].join(', '),
    plan: plan ?? undefined,
    planState: kept?.state ?? 'gone',
    facts: [
      ['Mode', mode],
      ...(why === null ? [] : [['Why', why] as const]),
      ...(commit === null ? [] : [['Commit', commit] as const]),
      ...(process === '' ? [] : [['Process', process] as const]),
      ...requestFacts(known.pull_request),
    ],
    problems: [...(known.error === null ? [] : [known.error]), ...known.problems],
    resources: told?.resources ?? planned.slice(0, MOST_LISTED),
    more: told?.more ?? Math.max(0, planned.length - MOST_LISTED),
  };
}
