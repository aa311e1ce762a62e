import { planDocument } from '../engine/plan/plan-schema.ts';
import type { FleetControl } from '../fleet/control.ts';
import type { FleetDatabase } from '../fleet/database/fleet-database.ts';
import { type Comparison, comparisonsOf } from '../fleet/rows/comparison-rows.ts';
import { latestFreezes } from '../fleet/rows/freeze-rows.ts';
import {
  currentPlans,
  fleetVersion,
  isRunning,
  pageOfWorkspaces,
  runsOfWorkspace,
  sourceNames,
  storedPlan,
  storedState,
  storeOrphanCount,
  workspacesByReason,
  workspaceVersion,
} from '../fleet/rows/page-rows.ts';
import { findPull, latestOutcome, listedPulls, plansOfPull, pullProblems } from '../fleet/rows/pull-rows.ts';
import { searchTerms } from '../fleet/rows/search-rows.ts';
import { type FleetFigures, fleetFigures, shownWorkspaces } from '../fleet/rows/status-rows.ts';
import { countsOfLastDay } from '../fleet/rows/trend-rows.ts';
import { workspaceStatuses } from '../operator/workspace-status.ts';
import { plural } from '../output/plural.ts';
import { UserError } from '../problems/user-error.ts';
import { openOrphans } from '../state/state.ts';
import { closingReasons } from '../state/state-document.ts';
import { cacheSlowQuery } from './cache-slow-query.ts';
import type { FleetComparisons } from './fleet-comparisons.ts';
import type { CloseOrphan } from './fleet-orphans.ts';
import {
  type ActionRequest,
  type AttentionList,
  closeElsewhereHint,
  type Fact,
  type Freezing,
  freezeConflicts,
  type ListQuery,
  ORPHAN_NOT_FOUND,
  type Overview,
  type PageSource,
  type PullPages,
  type RunDetail,
  type SearchResult,
  type ShownComparison,
  trendNames,
  type WorkspaceDetail,
  type WorkspaceList,
} from './page-data.ts';
import { detailOfPastRun, detailOfStoredRun } from './run-details.ts';
import { durationText } from './views/parts.ts';
import { detailOf, MAX_RUNS, rowOf } from './workspace-detail.ts';

const MAX_ROWS = 10;
/** The maximum number of search terms that one search reads. */
const MAX_SEARCH_TERMS = 1000;

/** The reasons why a workspace needs attention, most urgent first. A possible duplicate costs money until it is resolved. */
const attentionReasons: readonly { readonly filter: AttentionList['filter']; readonly max: number }[] = [
  { filter: { needs: 'records' }, max: 50 },
  { filter: { status: 'failed' }, max: MAX_ROWS },
  { filter: { status: 'invalid' }, max: MAX_ROWS },
  { filter: { needs: 'refused' }, max: MAX_ROWS },
  { filter: { status: 'waiting' }, max: MAX_ROWS },
  { filter: { status: 'vanished' }, max: MAX_ROWS },
  { filter: { status: 'drifted' }, max: MAX_ROWS },
  { filter: { needs: 'steps' }, max: MAX_ROWS },
];

async function fleetOverview(database: FleetDatabase, now: Date): Promise<Overview> {
  const limits = attentionReasons.map(({ filter, max }) => [filterKey(filter), max] as const);
  const [figures, day, freezes, needy] = await Promise.all([
    fleetFigures(database),
    countsOfLastDay(database),
    latestFreezes(database, MAX_ROWS),
    workspacesByReason(database, { ...Object.fromEntries(limits), stale: MAX_ROWS }),
  ]);
  const listFor = (filter: AttentionList['filter']): AttentionList => {
    const { found, rows: all } = needy.get(filterKey(filter)) ?? { found: 0, rows: [] };
    // Many workspaces of a fleet may always have manual steps, so only their number is shown if the list is too long.
    const rows = filter.needs === 'steps' && all.length < found ? [] : all;
    return { filter, rows: rows.map(rowOf), found, isTruncated: rows.length < found };
  };
  return {
    counts: new Map(workspaceStatuses.map((status) => [status, figures.counts[status]])),
    attention: withoutRepetitions(attentionReasons.map(({ filter }) => listFor(filter))),
    stale: withoutRepetitions([listFor({ status: 'stale' })]),
    broken: figures.sources.flatMap(({ broken }) => broken).slice(0, MAX_ROWS),
    trends: trendNames.map((name) => ({ name, counts: day.map((hour) => hour[name]) })),
    freezes,
    facts: factsOf(figures, now),
  };
}

function filterKey({ status, needs }: AttentionList['filter']): string {
  return needs ?? status;
}

/** Lists each workspace only under its most urgent reason, and removes empty lists. */
function withoutRepetitions(lists: readonly AttentionList[]): AttentionList[] {
  const addresses = new Set<string>();
  return lists
    .map((list) => {
      const rows = list.rows.filter(({ address }) => !addresses.has(address));
      for (const { address } of rows) addresses.add(address);
      return { ...list, rows };
    })
    .filter(({ rows, isTruncated }) => rows.length > 0 || isTruncated);
}

interface FleetSourceOptions {
  readonly database: FleetDatabase;
  /** True if a source has pull requests. */
  readonly hasPulls?: boolean;
  readonly control: FleetControl;
  readonly closeOrphan: CloseOrphan;
  readonly comparisons: Pick<FleetComparisons, 'begin'>;
  now(): Date;
  log(message: string): void;
}

/** The page of a fleet. All contents come from the database, so every process serves the same page. */
export class FleetSource implements PageSource {
  readonly title = 'fleet';
  readonly pulls: PullPages | undefined;
  readonly freezing: Freezing;
  readonly #options: FleetSourceOptions;
  /** Caches the overview, because the queries read every workspace. */
  readonly #overview: () => Promise<Overview>;

  constructor(options: FleetSourceOptions) {
    this.#options = options;
    const { database, now } = options;
    this.#overview = cacheSlowQuery(
      () => fleetOverview(database, now()),
      () => performance.now(),
    );
    this.freezing = freezingOf(options);
    if (options.hasPulls) this.pulls = pullPages(options.database);
  }

  only(): undefined {
    return undefined;
  }

  version(address: string | undefined): Promise<string> {
    const { database } = this.#options;
    return address === undefined ? fleetVersion(database) : workspaceVersion(database, address);
  }

  search(text: string): Promise<SearchResult> {
    return searchTerms(this.#options.database, text, MAX_SEARCH_TERMS);
  }

  overview(): Promise<Overview> {
    return this.#overview();
  }

  async workspaces(query: ListQuery): Promise<WorkspaceList> {
    const { database } = this.#options;
    const { status, needs, source, label, q: word, sort: order, after, page, limit } = query;
    const selection = { status, needs, source, label, word, order, after, offset: (page - 1) * limit, limit };
    const [{ rows, found, total }, sources] = await Promise.all([
      pageOfWorkspaces(database, selection),
      sourceNames(database),
    ]);
    return { rows: rows.map(rowOf), found, total, sources };
  }

  async workspace(address: string, requestedResource?: string): Promise<WorkspaceDetail | undefined> {
    const [shown] = await shownWorkspaces(this.#options.database, { address });
    if (shown === undefined) return undefined;
    const { database } = this.#options;
    const [plans, state, storedRuns, running, comparisons] = await Promise.all([
      currentPlans(database, address),
      storedState(this.#options.database, address),
      runsOfWorkspace(database, address, { limit: MAX_RUNS }),
      isRunning(database, address),
      comparisonsOf(database, address),
    ]);
    const { saved } = plans;
    const mergedPull = saved && this.pulls && (await latestOutcome(database, address));
    const detail = detailOf({
      shown,
      state: state.external ?? state.document,
      running,
      remaining: plans.remaining === undefined ? undefined : planDocument.parse(plans.remaining),
      saved: saved && { ...saved, plan: planDocument.parse(saved.plan) },
      selection: { member: address },
      storedRuns,
      pastRuns: state.runs,
      requestedResource,
      stateProblem: undefined,
      impacts: new Map(comparisons.map((each) => [each.resource, impactOf(each)])),
    });
    const pullFact =
      mergedPull && ([`Pull request ${mergedPull.source}#${mergedPull.number}`, mergedPull.outcome] as const);
    return {
      ...detail,
      facts: pullFact === undefined ? detail.facts : [...detail.facts, pullFact],
      isUnread: detail.isUnread === true || state.isMoved,
    };
  }

  async run(address: string, id: string): Promise<RunDetail | undefined> {
    const state = await storedState(this.#options.database, address);
    const pastRun = state.runs.find(({ run }) => run === id);
    if (pastRun !== undefined) return detailOfPastRun(pastRun);
    if (!/^\d{1,18}$/.test(id)) return undefined;
    const [storedRun] = await runsOfWorkspace(this.#options.database, address, { id, limit: 1 });
    if (storedRun === undefined) return undefined;
    const plan = storedRun.plan ? await storedPlan(this.#options.database, address, storedRun.plan) : undefined;
    return detailOfStoredRun(storedRun, {
      past: state.runs,
      plan: plan && { ...plan, plan: planDocument.parse(plan.plan) },
    });
  }

  async act({ action, address, subject = '', reason, by }: ActionRequest): Promise<void> {
    const { control, log } = this.#options;
    switch (action) {
      case 'run':
        await control.run([address], by);
        break;
      case 'pause':
        if ((await control.pause([address], { by, because: reason })).changed.length === 0)
          throw new UserError('The workspace is already paused.');
        break;
      case 'resume':
        if ((await control.resume([address], by)).changed.length === 0)
          throw new UserError('The workspace is not paused.');
        break;
      case 'approve':
        await control.approve(address, subject, by);
        break;
      case 'reject':
        await control.reject(address, subject, { by, because: reason });
        break;
      case 'close-orphan':
        await this.#closeOrphan({ address, subject, reason, by });
        break;
      case 'compare-calls':
        await this.#options.comparisons.begin({ address, resource: subject, by });
        break;
      default:
        action satisfies never;
    }
    log(`${by}: ${action} ${address}${subject === '' ? '' : ` ${subject}`}`);
  }

  async #closeOrphan({ address, subject, reason, by }: Omit<ActionRequest, 'action'>): Promise<void> {
    const { document, external } = await storedState(this.#options.database, address);
    if (external !== undefined)
      throw new UserError(closeElsewhereHint(external.location, subject ?? 'ID', { member: address }));
    const open = document === undefined ? [] : openOrphans(document);
    const orphan = open.find(({ id }) => id === subject);
    const closingReason = closingReasons.find((each) => each === reason);
    if (document !== undefined && orphan !== undefined && closingReason !== undefined) {
      const { now, closeOrphan } = this.#options;
      const closed = { because: closingReason, since: now().toISOString() };
      const workspaceId = document.workspace_id;
      if (await closeOrphan({ address, workspaceId, orphan: { ...orphan, closed }, by }))
        return storeOrphanCount(this.#options.database, address, open.length - 1);
    }
    throw new UserError(ORPHAN_NOT_FOUND);
  }
}

function freezingOf({ control, log }: FleetSourceOptions): Freezing {
  return {
    current: () => control.frozen(),
    async act(action, decision) {
      const isDone = action === 'freeze' ? await control.freeze(decision) : await control.unfreeze(decision.by);
      if (!isDone) throw new UserError(freezeConflicts[action]);
      log(`${decision.by}: ${action} the fleet`);
    },
  };
}

/** The maximum number of pull requests on the page. */
const MAX_PULLS = 200;

function pullPages(database: FleetDatabase): PullPages {
  return {
    async list() {
      const [pulls, problems] = await Promise.all([
        listedPulls(database, { limit: MAX_PULLS }),
        pullProblems(database),
      ]);
      return { pulls, problems };
    },
    async one(source, number) {
      const pull = await findPull(database, source, number);
      return pull && { pull, plans: await plansOfPull(database, pull) };
    },
  };
}

function impactOf({ askedAt, askedBy, isRunning, html, problem }: Comparison): ShownComparison {
  const isLost = !isRunning && html === undefined && problem === undefined;
  return { askedAt, askedBy, html, problem: isLost ? 'The process that was reading the calls has ended.' : problem };
}

export function factsOf(
  { lateness, oldestCheckAge, neverChecked, orphans, processes, sources }: FleetFigures,
  now: Date,
): Fact[] {
  const count = (expected: string) => processes.filter(({ status }) => status === expected).length;
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000);
  return [
    ['Oldest check', oldestCheckAge === null ? 'none' : ago(oldestCheckAge)],
    ...(neverChecked === 0 ? [] : [['Never checked', plural(neverChecked, 'workspace')] as const]),
    ...(orphans === 0 ? [] : [['Orphans', String(orphans)] as const]),
    ['Lateness', durationText(Math.round(lateness))],
    ['Processes', `${count('alive')} alive${count('dead') === 0 ? '' : `, ${count('dead')} dead`}`],
    ...sources.map(({ name, problem, fetchedAge, removed }): Fact => {
      if (removed || problem !== null) return [`Source ${name}`, problem ?? 'no longer in the fleet file'];
      return [`Source ${name}, fetched`, fetchedAge === null ? 'never' : ago(fetchedAge)];
    }),
  ];
}
