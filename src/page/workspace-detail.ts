import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { type LastRun, lastRunOf } from '../operator/last-run.ts';
import { heldText, pauseText, type ShownWorkspace, type StoredRun, summaryOf } from '../operator/shown-workspace.ts';
import { listed } from '../output/address-list.ts';
import type { PastRun } from '../runs/past-runs.ts';
import { statusOf } from '../runs/resource-status.ts';
import { openOrphans } from '../state/state.ts';
import type { Orphan, ResourceEntry } from '../state/state-document.ts';
import type {
  ActionName,
  Fact,
  ResourceDetail,
  ResourceRow,
  ShownProblem,
  WorkspaceDetail,
  WorkspaceRow,
} from './page-data.ts';
import { resourceDetail } from './resource-detail.ts';
import { detailOfPastRun, detailOfStoredRun, isSameRun, requestFacts } from './run-details.ts';
import { durationText } from './views/parts.ts';

export function rowOf(shown: ShownWorkspace): WorkspaceRow {
  const { address, status, since, checkedAt, isOld, mode } = shown;
  return {
    address,
    status,
    since: new Date(since),
    checkedAt: checkedAt === null ? undefined : new Date(checkedAt),
    isOld,
    summary: summaryOf(shown),
    source: address.split('/')[0] ?? '',
    mode,
  };
}

/** The parts of a state that a page shows. */
export interface ShownState {
  /** The entries of the state, or only ids if the page cannot read the state. */
  readonly resources: Readonly<
    Record<string, ResourceEntry | { readonly id: string | null; readonly recorded?: undefined }>
  >;
  readonly orphans: readonly Orphan[];
  /** The location of the state, if the page can neither read nor change it. */
  readonly location?: string | undefined;
}

/** The data of a workspace, from memory or from the database of a fleet. */
interface WorkspaceData
  extends Pick<WorkspaceDetail, 'running' | 'remaining' | 'saved' | 'selection' | 'stateProblem' | 'impacts'> {
  readonly shown: ShownWorkspace;
  readonly state: ShownState | undefined;
  /** Runs and decisions, newest first. */
  readonly storedRuns: readonly StoredRun[];
  /** The runs in the history of the state. */
  readonly pastRuns: readonly PastRun[];
  /** The address of the resource to include in full, if any. */
  readonly requestedResource?: string | undefined;
}

/** The maximum number of runs listed for a workspace. */
export const MAX_RUNS = 50;
const REJECTED = 'Approval is requested again only for a different plan. Until then, this plan can still be approved.';

export function detailOf({
  shown,
  state,
  storedRuns,
  pastRuns: all,
  requestedResource,
  ...known
}: WorkspaceData): WorkspaceDetail {
  const { paused, vanishedAt, rejected, checkedAt } = shown;
  const last = lastRunOf(shown.last);
  const held = heldText(shown);
  const externalLocation = state?.location;
  // The runs of a fleet are also in `storedRuns`.
  const isMember = known.selection !== undefined && 'member' in known.selection;
  const past = !isMember ? all : all.filter(({ command }) => command !== 'fleet');
  const resources = resourcesOf(state, known.remaining, shown);
  const runs = [
    ...storedRuns.map((run) => detailOfStoredRun(run)),
    ...past.filter((run) => !storedRuns.some((each) => isSameRun(run, each))).map(detailOfPastRun),
  ];
  return {
    ...rowOf(shown),
    ...known,
    shown,
    facts: [
      ...factsOfWorkspace(shown, last),
      ...(externalLocation === undefined ? [] : [['State', externalLocation] as const]),
      ...requestFacts(last.pull_request),
    ],
    nextRun: paused === null && vanishedAt === null ? new Date(shown.dueAt) : undefined,
    problems: problemsOf(shown),
    held:
      last.hold !== null && last.held !== undefined
        ? last.held
        : held && `Not applied: ${held}.${rejected === null ? '' : ` ${REJECTED}`}`,
    resources,
    ...(resources.some(({ address }) => address === requestedResource) && {
      resource: requestedDetail(requestedResource ?? '', {
        state,
        remaining: known.remaining,
        storedRuns,
        pastRuns: all,
      }),
    }),
    orphans: state === undefined ? [] : openOrphans(state),
    dashboard: last.dashboard,
    files: last.files,
    externalLocation,
    isUnread: checkedAt === null,
    runs: runs.sort((a, b) => b.began.getTime() - a.began.getTime()).slice(0, MAX_RUNS),
    actions: [
      ...actionsFor(shown),
      ...(state === undefined || externalLocation !== undefined ? [] : (['close-orphan'] as const)),
      ...(state === undefined ? [] : (['compare-calls'] as const)),
    ],
  };
}

function requestedDetail(
  address: string,
  { state, remaining, storedRuns, pastRuns }: Pick<WorkspaceData, 'state' | 'remaining' | 'storedRuns' | 'pastRuns'>,
): ResourceDetail {
  const planned = remaining?.resources.find((each) => each.address === address);
  const entries = state?.resources ?? {};
  const entry = entries[address] ?? entries[planned?.previous_address ?? address];
  const names = Object.entries(entries).flatMap(([name, { id }]) => (id === null ? [] : [[id, name] as const]));
  return resourceDetail({
    address,
    entry: entry?.recorded === undefined ? undefined : entry,
    planned,
    names: Object.fromEntries(names),
    storedRuns,
    pastRuns,
  });
}

function actionsFor({ plan, rejected, paused, vanishedAt }: ShownWorkspace): ActionName[] {
  return [
    ...(paused === null && vanishedAt === null ? (['run'] as const) : []),
    ...(paused === null ? (['pause'] as const) : (['resume'] as const)),
    ...(plan?.state === 'waiting' ? (['approve', 'reject'] as const) : []),
    ...(plan === null && rejected !== null ? (['approve'] as const) : []),
  ];
}

const MAX_LABELS = 20;

function factsOfWorkspace(shown: ShownWorkspace, { labels }: LastRun): Fact[] {
  const { failures, paused, vanishedAt, asked, plan, rejected } = shown;
  const facts: readonly (readonly [string, string | Date | null | undefined])[] = [
    ['Workspace', shown.workspaceId],
    ['Platform', shown.baseUrl],
    ['Commit', shown.commit],
    ['Interval', durationText(shown.intervalSeconds)],
    ['Labels', listed(labels, MAX_LABELS) || null],
    ['Failed runs in a row', failures === 0 ? null : String(failures)],
    ['Paused', paused && new Date(paused.at)],
    ['Paused by', paused && pauseText(paused)],
    ['Vanished', vanishedAt === null ? null : new Date(vanishedAt)],
    ['Run requested by', asked?.by],
    ['Plan', plan?.id],
    ['Plan approved by', plan?.state === 'approved' ? plan.by : null],
    ['Plan rejected', rejected && new Date(rejected.at)],
    ['Plan rejected by', rejected && pauseText(rejected)],
  ];
  return facts.flatMap(([name, value]): Fact[] => (value === null || value === undefined ? [] : [[name, value]]));
}

export function problemsOf({ status, checkedAt, problem, last }: ShownWorkspace): ShownProblem[] {
  const { result, error, lock, fetch_problem: fetchProblem, problems, pull_request: request } = lastRunOf(last);
  const isBusy = result === 'busy';
  const isStopped = result === 'interrupted';
  const isFailed = status === 'failed' && !isStopped;
  const stringsIn = (...all: (string | false | null | undefined)[]) => all.filter((each) => typeof each === 'string');
  const fallback = checkedAt === null ? '' : '; the last valid ones are used';
  const candidates: ShownProblem[] = [
    { heading: 'The project cannot be read', lines: stringsIn(problem) },
    { heading: 'Another run holds the lock', lines: stringsIn(isBusy && lock) },
    { heading: 'The last run was stopped', lines: stringsIn(...(isStopped ? [error, ...problems] : [])) },
    {
      heading: 'The last run failed',
      lines: stringsIn(!isStopped && status !== 'in-sync' && error, ...(isFailed ? problems : [])),
    },
    { heading: 'The manifests cannot be fetched', lines: stringsIn(fetchProblem) },
    { heading: `The newest manifests are invalid${fallback}`, lines: isFailed || isStopped ? [] : problems },
    { heading: 'There is no pull request for the drift', lines: stringsIn(request?.problem) },
  ];
  return candidates.filter((each) => each.lines.length > 0);
}

/** Merges the resources of the plan, which may omit resources in sync, with the others of the state. Resources in sync come last. */
export function resourcesOf(
  state: Pick<ShownState, 'resources'> | undefined,
  plan: PlanDocument | undefined,
  shown: Pick<ShownWorkspace, 'status' | 'last'>,
): readonly ResourceRow[] {
  const { drift, missing, resources } = lastRunOf(shown.last);
  const planned = plan?.resources ?? [];
  const addresses = new Set(planned.flatMap(({ address, previous_address: before }) => [address, before]));
  const others = Object.entries(state?.resources ?? {}).filter(([address]) => !addresses.has(address));
  const results = new Map(resources.map((each) => [each.address, each]));
  const status: ResourceRow['status'] = shown.status === 'in-sync' || plan !== undefined ? 'in sync' : 'recorded';
  const rows: ResourceRow[] = [
    ...statusOf(planned),
    ...others.map(([address, { id }]) => ({ address, id, status, detail: '' })),
  ];
  const isFine = (row: ResourceRow) => row.status === 'in sync' || row.status === 'recorded';
  return rows
    .map(({ address, id, status, detail }): ResourceRow => {
      const row = { address, id, status, detail };
      const { result, detail: error = '' } = results.get(address) ?? {};
      if (result === 'failed' || result === 'skipped') return { ...row, status: result, detail: error };
      if (!isFine(row)) return row;
      if (missing.some((each) => each.address === address))
        return { ...row, status: 'blocked', detail: 'missing from the platform' };
      if (result === 'done') return row;
      return drift.includes(address) && shown.status !== 'in-sync' ? { ...row, status: 'drifted' } : row;
    })
    .sort((a, b) => Number(isFine(a)) - Number(isFine(b)));
}
