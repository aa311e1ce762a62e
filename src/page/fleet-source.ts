import { planDocument } from '../engine/plan/plan-schema.ts';
import type { FleetControl } from '../fleet/control.ts';
import type { FleetDatabase } from '../fleet/database/fleet-database.ts';
import { type Comparison, comparisonsOf } from '../fleet/rows/comparison-rows.ts';
import {
  enterOrphans,
  fleetVersion,
  isRunning,
  type KeptRun,
  keptPlan,
  keptRuns,
  needyWorkspaces,
  pageOfWorkspaces,
  shownPlans,
  sourceNames,
  storedState,
  workspaceVersion,
} from '../fleet/rows/page-rows.ts';
import type { OutsideState } from '../fleet/rows/run-rows.ts';
import { fleetFigures, type ShownWorkspace, shownWorkspaces } from '../fleet/rows/status-rows.ts';
import { workspaceStatuses } from '../operator/workspace-status.ts';
import { UserError } from '../problems/user-error.ts';
import type { PastRun } from '../runs/past-runs.ts';
import { runsIn } from '../state/run-history.ts';
import { openOrphans } from '../state/state.ts';
import { closingReasons, type StateDocument } from '../state/state-document.ts';
import type { MovedMark } from '../state/state-errors.ts';
import { isObject } from '../values/json.ts';
import type { FleetComparisons } from './fleet-comparisons.ts';
import { factsOf, factsOfWorkspace, problemsOf } from './fleet-facts.ts';
import type { CloseOrphan } from './fleet-orphans.ts';
import { detailOfKeptRun, heldText, resourcesOfState, rowOf } from './fleet-rows.ts';
import {
  type ActionName,
  type ActionRequest,
  type Attention,
  closingOutside,
  type ListQuery,
  ORPHAN_GONE,
  type Overview,
  type PageSource,
  ROWS_PER_PAGE,
  type RunDetail,
  type ShownImpact,
  type WorkspaceDetail,
  type WorkspaceList,
} from './page-data.ts';
import { detailOfPastRun } from './run-details.ts';

/** Rows per list. */
const MOST_SHOWN = 10;

/** Why a workspace needs attention, most urgent first. A possible duplicate costs money until somebody resolves it. */
const reasons: readonly (Attention['by'] & { readonly most: number })[] = [
  { needs: 'records', most: 50 },
  { status: 'failed', most: MOST_SHOWN },
  { status: 'invalid', most: MOST_SHOWN },
  { needs: 'refused', most: MOST_SHOWN },
  { status: 'waiting', most: MOST_SHOWN },
  { status: 'vanished', most: MOST_SHOWN },
  { status: 'drifted', most: MOST_SHOWN },
  { needs: 'steps', most: MOST_SHOWN },
];

async function fleetOverview(database: FleetDatabase, now: Date): Promise<Overview> {
  const most = reasons.map((reason) => [keyOf(reason), reason.most] as const);
  const [figures, needy] = await Promise.all([
    fleetFigures(database),
    needyWorkspaces(database, { ...Object.fromEntries(most), stale: MOST_SHOWN }),
  ]);
  const listed = (by: Attention['by']): Attention => {
    const { found, rows } = needy.get(keyOf(by)) ?? { found: 0, rows: [] };
    return { by, rows: rows.map(rowOf), found, isCut: rows.length < found };
  };
  return {
    counts: new Map(workspaceStatuses.map((status) => [status, figures.counts[status]])),
    attention: eachOnce(reasons.map(listed)),
    stale: eachOnce([listed({ status: 'stale' })]),
    broken: figures.sources.flatMap(({ broken }) => broken).slice(0, MOST_SHOWN),
    facts: factsOf(figures, now),
  };
}

function keyOf({ status, needs }: Attention['by']): string {
  return needs ?? status;
}

/** Each workspace under its most urgent reason; without empty lists. */
function eachOnce(lists: readonly Attention[]): Attention[] {
  const seen = new Set<string>();
  return lists
    .map((list) => {
      const rows = list.rows.filter(({ address }) => !seen.has(address));
      for (const { address } of rows) seen.add(address);
      return { ...list, rows };
    })
    .filter(({ rows, isCut }) => rows.length > 0 || isCut);
}

interface FleetSourceOptions {
  readonly database: FleetDatabase;
  readonly control: FleetControl;
  readonly closeOrphan: CloseOrphan;
  readonly comparisons: Pick<FleetComparisons, 'begin'>;
  now(): Date;
  log(message: string): void;
}

/** The number of runs listed for a workspace. */
const MOST_RUNS = 50;
const REJECTED =
  'The same changes do not ask again; a different plan does. Until then this one can still be approved.';

/** The page of a fleet, from its database: every process shows the same. */
export class FleetSource implements PageSource {
  readonly title = 'fleet';
  readonly #options: FleetSourceOptions;

  constructor(options: FleetSourceOptions) {
    this.#options = options;
  }

  only(): undefined {
    return undefined;
  }

  version(address: string | undefined): Promise<string> {
    const { database } = this.#options;
    return address === undefined ? fleetVersion(database) : workspaceVersion(database, address);
  }

  overview(): Promise<Overview> {
    const { database, now } = this.#options;
    return fleetOverview(database, now());
  }

  async workspaces(query: ListQuery): Promise<WorkspaceList> {
    const { database } = this.#options;
    const { status, needs, source, label, q: contains, sort: order, page } = query;
    const offset = (page - 1) * ROWS_PER_PAGE;
    const selection = { status, needs, source, label, contains, order, offset, limit: ROWS_PER_PAGE };
    const [{ rows, found, total }, sources] = await Promise.all([
      pageOfWorkspaces(database, selection),
      sourceNames(database),
    ]);
    return { rows: rows.map(rowOf), found, total, sources };
  }

  async workspace(address: string): Promise<WorkspaceDetail | undefined> {
    const [shown] = await shownWorkspaces(this.#options.database, { address });
    if (shown === undefined) return undefined;
    const { database } = this.#options;
    const [plans, state, kept, running, compared] = await Promise.all([
      shownPlans(database, address),
      this.#state(address),
      keptRuns(database, address, { limit: MOST_RUNS }),
      isRunning(database, address),
      comparisonsOf(database, address),
    ]);
    const left = plans.left === undefined ? undefined : planDocument.parse(plans.left);
    const { saved } = plans;
    const held = heldText(shown);
    const { rejected } = shown;
    const known = state.outside ?? state.document;
    return {
      ...rowOf(shown),
      facts: [
        ...factsOfWorkspace(shown),
        ...(state.outside === undefined ? [] : [['State', state.outside.location] as const]),
      ],
      running,
      nextRun: shown.paused === null && shown.vanishedAt === null ? new Date(shown.dueAt) : undefined,
      problems: problemsOf(shown),
      held: held && `Not applied: ${held}.${rejected === null ? '' : ` ${REJECTED}`}`,
      resources: resourcesOfState(known, left, shown),
      left,
      saved: saved && { ...saved, plan: planDocument.parse(saved.plan) },
      reach: { member: address },
      orphans: known === undefined ? [] : openOrphans(known),
      dashboard: isObject(shown.last)
        ? planDocument.shape.dashboard.safeParse(shown.last.dashboard).data
        : undefined,
      outside: state.outside?.location,
      isUnread: shown.checkedAt === null || state.isMoved,
      runs: [
        ...kept.map((run) => detailOfKeptRun(run)),
        ...state.runs.filter(({ command }) => command !== 'fleet').map(detailOfPastRun),
      ]
        .sort((a, b) => b.began.getTime() - a.began.getTime())
        .slice(0, MOST_RUNS),
      stateProblem: undefined,
      actions: [
        ...actionsFor(shown),
        ...(state.document === undefined ? [] : (['close-orphan'] as const)),
        ...(known === undefined ? [] : (['compare-calls'] as const)),
      ],
      impacts: new Map(compared.map((each) => [each.resource, impactOf(each)])),
    };
  }

  async run(address: string, id: string): Promise<RunDetail | undefined> {
    const state = await this.#state(address);
    const past = state.runs.find(({ run }) => run === id);
    if (past !== undefined) return detailOfPastRun(past);
    if (!/^\d{1,18}$/.test(id)) return undefined;
    const [kept] = await keptRuns(this.#options.database, address, { id, limit: 1 });
    if (kept === undefined) return undefined;
    const plan = kept.plan === null ? undefined : await keptPlan(this.#options.database, address, kept.plan);
    return detailOfKeptRun(kept, {
      written: state.runs.find((each) => isWriteOf(each, kept)),
      plan: plan && { ...plan, plan: planDocument.parse(plan.plan) },
    });
  }

  async act({ action, address, of = '', because, by }: ActionRequest): Promise<void> {
    const { control, log } = this.#options;
    switch (action) {
      case 'run':
        await control.run([address], by);
        break;
      case 'pause':
        if ((await control.pause([address], { by, because })).changed.length === 0)
          throw new UserError('The workspace is already paused.');
        break;
      case 'resume':
        if ((await control.resume([address], by)).changed.length === 0)
          throw new UserError('The workspace is not paused.');
        break;
      case 'approve':
        await control.approve(address, of, by);
        break;
      case 'reject':
        await control.reject(address, of, { by, because });
        break;
      case 'close-orphan':
        await this.#closeOrphan({ address, of, because, by });
        break;
      case 'compare-calls':
        await this.#options.comparisons.begin({ address, resource: of, by });
        break;
      default:
        action satisfies never;
    }
    log(`${by}: ${action} ${address}${of === '' ? '' : ` ${of}`}`);
  }

  async #closeOrphan({ address, of, because, by }: Omit<ActionRequest, 'action'>): Promise<void> {
    const { document, outside } = await this.#state(address);
    if (outside !== undefined)
      throw new UserError(closingOutside(outside.location, of ?? 'ID', { member: address }));
    const open = document === undefined ? [] : openOrphans(document);
    const orphan = open.find(({ id }) => id === of);
    const reason = closingReasons.find((each) => each === because);
    if (document !== undefined && orphan !== undefined && reason !== undefined) {
      const { now, closeOrphan } = this.#options;
      const closed = { because: reason, since: now().toISOString() };
      const workspaceId = document.workspace_id;
      if (await closeOrphan({ address, workspaceId, orphan: { ...orphan, closed }, by }))
        return enterOrphans(this.#options.database, address, open.length - 1);
    }
    throw new UserError(ORPHAN_GONE);
  }

  async #state(address: string): Promise<KnownState> {
    const {
      document: text,
      history,
      run: running,
      outside,
    } = await storedState(this.#options.database, address);
    const document = text === null ? undefined : (JSON.parse(text) as StateDocument | MovedMark);
    const moved = document !== undefined && 'moved_to' in document ? document : undefined;
    return {
      isMoved: outside === undefined && moved !== undefined,
      outside: outside ?? (moved && { location: moved.moved_to, resources: {}, orphans: [] }),
      document: outside === undefined && document !== moved ? (document as StateDocument) : undefined,
      runs: runsIn(history).map(
        (run): PastRun => ({
          ...run,
          result: run.result ?? (run.run === running ? 'running' : 'died'),
        }),
      ),
    };
  }
}

interface KnownState {
  /** In the database of the fleet. */
  readonly document: StateDocument | undefined;
  /** Elsewhere. */
  readonly outside: OutsideState | undefined;
  /** Elsewhere, and no run has reported its contents yet. */
  readonly isMoved: boolean;
  readonly runs: readonly PastRun[];
}

function impactOf({ askedAt, askedBy, isRunning, html, problem }: Comparison): ShownImpact {
  const isLost = !isRunning && html === undefined && problem === undefined;
  return { askedAt, askedBy, html, problem: isLost ? 'The process that read the calls is gone.' : problem };
}

/** A run that wrote is also in the history of the state. */
function isWriteOf({ command, began }: PastRun, { startedAt, seconds, process, result }: KeptRun): boolean {
  const at = Date.parse(began);
  return (
    command === 'fleet' &&
    // Decisions, and runs that only planned, are left out.
    process !== '' &&
    result !== 'planned' &&
    at >= startedAt.getTime() - 1000 &&
    at <= startedAt.getTime() + seconds * 1000 + 1000
  );
}

function actionsFor({ plan, rejected, paused, vanishedAt }: ShownWorkspace): ActionName[] {
  return [
    ...(paused === null && vanishedAt === null ? (['run'] as const) : []),
    ...(paused === null ? (['pause'] as const) : (['resume'] as const)),
    ...(plan?.state === 'waiting' ? (['approve', 'reject'] as const) : []),
    ...(plan === null && rejected !== null ? (['approve'] as const) : []),
  ];
}
