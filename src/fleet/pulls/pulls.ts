import { setTimeout as delay } from 'node:timers/promises';
import { eachConcurrently } from '../../engine/observe/each-concurrently.ts';
import { HostProblem, isMissing } from '../../hosting/host-client.ts';
import type { PullRequest, PullRequests } from '../../hosting/pull-requests.ts';
import { retryPause } from '../../operator/loop.ts';
import { isExpected, messageOf, StateLocked } from '../../operator/messages.ts';
import { RepeatFilter, type WatchLog } from '../../operator/watch-log.ts';
import { plural } from '../../output/plural.ts';
import { closing } from '../../problems/closing.ts';
import { placeOf } from '../../problems/diagnostic.ts';
import { UserError } from '../../problems/user-error.ts';
import type { FleetDatabase } from '../database/fleet-database.ts';
import {
  type ClaimedPull,
  claimPulls,
  commitOf,
  enterOpenPulls,
  enterPullPlan,
  enterPulls,
  enterPullsProblem,
  type FinishedPull,
  finishPull,
  type PullPlan,
  plannedAddresses,
  plansOfPull,
  releasePulls,
  removePulls,
  renewPulls,
} from '../rows/pull-rows.ts';
import { BUSY_PAUSE } from '../run-outcome.ts';
import type { WorkerOptions } from '../worker.ts';
import { type AffectedWorkspace, affectedWorkspaces } from './affected.ts';
import { MergeApprovals } from './merge-approvals.ts';
import { planAtHead, unplannedBecause } from './plan-at-head.ts';
import type { PullHost } from './pull-hosts.ts';
import { commentOf, failedStatus, markerOf, pendingStatus, pullCounts, statusOf } from './pull-report.ts';

interface PullsOptions
  extends Pick<WorkerOptions, 'sources' | 'context' | 'shared' | 'rules' | 'clock' | 'ready' | 'timeout' | 'pauses'> {
  readonly database: FleetDatabase;
  readonly hosts: ReadonlyMap<string, PullHost>;
  readonly log: WatchLog;
  /** Public address of the page. */
  readonly address: string | undefined;
  /** @returns a function that frees a slot; undefined if none is free. */
  takeSlot(): Promise<(() => void) | undefined>;
  random(): number;
}

interface PlanningPull {
  readonly pull: ClaimedPull;
  readonly host: PullHost;
  readonly signal: AbortSignal;
}

interface Commenting {
  readonly host: PullHost;
  readonly signal: AbortSignal;
  readonly body: string;
  /** False if a request without a comment needs none. */
  readonly isNeeded: boolean;
}

type PlanWithoutAddress = Omit<PullPlan, 'address'>;

interface Working {
  readonly pull: ClaimedPull;
  readonly stop: AbortController;
  ended: Promise<void>;
}

/** The number of requests that one process works on at once. Their plans wait for slots. */
const MOST_AT_ONCE = 4;
/** Milliseconds between two looks for a free slot. */
const SLOT_PAUSE = 250;
/** Milliseconds until the next attempt after a limit of the host. */
const SHORTEST = 1000;

/** The number of problems that are listed. */
const MOST_LISTED = 20;
/** The number of changed projects in one request. Checkouts of a fork must not fill the disk. */
const MOST_PROJECTS = { own: 5000, fork: 20 };
/** The number of attempts at a commit whose workspaces cannot be planned. */
const MOST_RETRIES = 12;

/** The number of characters of a problem. */
const LONGEST = 1000;

/** Ends work on a request that has a newer commit, that was closed, or that another process has taken. */
class Outdated extends Error {}

/** Plans the pull requests of sources, and approves plans after a merge. Every process works on some of them. */
export class Pulls {
  readonly #options: PullsOptions;
  readonly #working = new Map<string, Working>();
  readonly #reported = new RepeatFilter();
  readonly #approvals: MergeApprovals;
  /** Sources with a look in progress, and whether another one must follow. */
  readonly #looking = new Map<string, boolean>();
  #isStopped = false;

  constructor(options: PullsOptions) {
    this.#options = options;
    this.#approvals = new MergeApprovals(options);
  }

  /** Reads the open requests of a source. Rejects if the database fails. */
  async look(source: string, signal: AbortSignal): Promise<void> {
    const host = this.#options.hosts.get(source);
    if (host === undefined) return;
    if (this.#looking.has(source)) {
      this.#looking.set(source, true);
      return;
    }
    try {
      do {
        this.#looking.set(source, false);
        await this.#look(source, host);
      } while (this.#looking.get(source) === true && !signal.aborted);
    } finally {
      this.#looking.delete(source);
    }
  }

  async #look(source: string, { pulls, base }: PullHost): Promise<void> {
    const { database, log } = this.#options;
    const key = `pull requests of ${source}`;
    try {
      const open = await pulls.openFor(base);
      const gone = await enterOpenPulls(database, source, open);
      const ended = await Promise.all(gone.map((number) => endedRequest(pulls, number, base)));
      await enterPulls(
        database,
        source,
        ended.filter((each) => each !== undefined),
      );
      await removePulls(
        database,
        source,
        gone.filter((_, index) => ended[index] === undefined),
      );
      if (this.#reported.changes(key, []).ended > 0)
        log.entry('info', `the ${key} can be read again`, { event: 'pulls' });
    } catch (error) {
      if (!(error instanceof HostProblem)) throw error;
      const problem = messageOf(error);
      await enterPullsProblem(database, source, problem);
      if (this.#reported.changes(key, [problem]).added.length > 0)
        log.entry('warning', `cannot read the ${key}: ${problem}`, { event: 'pulls-failed' });
    }
  }

  /** Begins work on requests. Rejects if the database fails. */
  async take(): Promise<void> {
    const { database, hosts, ready } = this.#options;
    const sources = [...hosts.keys()].filter((name) => ready.has(name));
    const limit = MOST_AT_ONCE - this.#working.size;
    if (this.#isStopped || sources.length === 0 || limit <= 0) return;
    for (const pull of await claimPulls(database, { sources, limit })) this.#begin(pull);
  }

  /** Renews the claims, and ends work on requests that have changed. */
  async beat(): Promise<void> {
    const working = [...this.#working.values()];
    const ours = await renewPulls(
      this.#options.database,
      working.map(({ pull }) => pull),
    );
    for (const { pull, stop } of working) if (!ours.has(pull.holder)) stop.abort(new Outdated());
  }

  /** Ends all work, which another process may continue. */
  abort(reason: string): void {
    for (const { stop } of this.#working.values()) stop.abort(reason);
  }

  /** Ends all work, returns it and takes no more. */
  async stop(reason: string): Promise<void> {
    this.#isStopped = true;
    this.abort(reason);
    await Promise.all([...this.#working.values()].map(({ ended }) => ended));
  }

  #begin(pull: ClaimedPull): void {
    const work: Working = { pull, stop: new AbortController(), ended: Promise.resolve() };
    this.#working.set(pull.holder, work);
    work.ended = this.#work(pull, work.stop.signal).finally(() => this.#working.delete(pull.holder));
    if (this.#isStopped) work.stop.abort('stopping');
  }

  /** Never rejects. */
  async #work(pull: ClaimedPull, signal: AbortSignal): Promise<void> {
    const { database, log, hosts } = this.#options;
    const shown = `pull request ${pull.number} of ${pull.source}`;
    try {
      const host = hosts.get(pull.source);
      if (host === undefined) throw new Error(`no host for ${pull.source}`);
      const finished =
        pull.state === 'open' ? await this.#plan(pull, host, signal) : await this.#approvals.decide(pull, host);
      await finishPull(database, pull, finished);
    } catch (error) {
      await this.#failed(pull, signal, error).catch((failure: unknown) =>
        log.entry('error', `cannot store the result of ${shown}: ${messageOf(failure)}`, { event: 'pulls-failed' }),
      );
    }
  }

  async #failed(pull: ClaimedPull, signal: AbortSignal, error: unknown): Promise<void> {
    const { database, log, hosts, address } = this.#options;
    if (signal.aborted || error instanceof Outdated) {
      await releasePulls(database, [pull.holder]);
      return;
    }
    const problem = messageOf(error);
    const limited = error instanceof HostProblem && error.failure.why === 'limited' ? error.failure.until : undefined;
    const again = limited === undefined ? this.#pauseAfter(pull) : Math.max(SHORTEST, limited.getTime() - Date.now());
    // A host limits the number of statuses of a commit.
    if (pull.state === 'open' && !(error instanceof HostProblem) && pull.failures < MOST_RETRIES) {
      const status = hosts.get(pull.source)?.pulls.setStatus(pull, failedStatus({ pull, address }));
      await status?.catch(() => undefined);
    }
    await finishPull(database, pull, { isPlanned: false, problem, again });
    const message = `cannot plan pull request ${pull.number} of ${pull.source}: ${problem}`;
    log.entry(error instanceof UserError ? 'warning' : 'error', message, { event: 'pulls-failed' });
  }

  /** Plans the affected workspaces and reports them. Plans of an earlier attempt at the same commit are used again. */
  async #plan(pull: ClaimedPull, host: PullHost, signal: AbortSignal): Promise<FinishedPull> {
    const { database, address, log } = this.#options;
    const known = await plannedAddresses(database, pull);
    if (pull.plannedHead !== pull.head) await host.pulls.setStatus(pull, pendingStatus({ pull, address }));
    const affected = await this.#affectedBy(pull, host, signal);
    const left = affected.filter((each) => !known.has(each.address));
    let failed = 0;
    await eachConcurrently(left, MOST_AT_ONCE, async (each) => {
      const plan = await this.#planOf(each, { pull, host, signal });
      signal.throwIfAborted();
      if (plan.result === 'failed') failed++;
      await enterPullPlan(database, pull, { ...plan, problem: bounded(plan.problem), address: each.address });
    });
    const plans = await this.#publish(pull, host, signal);
    const said = plans.length === 0 ? 'no workspace is affected' : pullCounts(plans);
    const planned = `planned pull request ${pull.number} of ${pull.source} at ${pull.head.slice(0, 10)}: ${said}`;
    log.entry('info', planned, { event: 'pull-planned', source: pull.source });
    const mayRetry = failed > 0 && pull.failures < MOST_RETRIES;
    return {
      isPlanned: true,
      problem: failed === 0 ? undefined : `${plural(failed, 'workspace')} failed`,
      again: mayRetry ? this.#pauseAfter(pull) : undefined,
    };
  }

  /** The workspaces that a request changes. Takes a slot, because whoever opens a request decides about its size. */
  async #affectedBy(
    pull: ClaimedPull,
    { pulls }: PullHost,
    signal: AbortSignal,
  ): Promise<readonly AffectedWorkspace[]> {
    const { sources, database, context } = this.#options;
    const mergeBase = await pulls.mergeBase(pull);
    const free = await this.#slot(signal);
    await using _slot = closing({ close: free });
    const before = await sources.at(pull.source, mergeBase, signal);
    await using _before = closing(before);
    const after = await sources.at(pull.source, pull.head, signal);
    await using _after = closing(after);
    const base = await sources.at(pull.source, await commitOf(database, pull.source), signal);
    await using _base = closing(base);
    const { env, policies } = context;
    const mostProjects = pull.isFork ? MOST_PROJECTS.fork : MOST_PROJECTS.own;
    const comparing = { sources, source: pull.source, policies: policies?.fleet, env, signal, mostProjects };
    return await affectedWorkspaces(comparing, { before, after, base });
  }

  async #planOf(affected: AffectedWorkspace, { pull, host, signal }: PlanningPull): Promise<PlanWithoutAddress> {
    const { change, diagnostics, workspace } = affected;
    const none = { digest: undefined, plan: undefined, notes: [] };
    if (change === 'removed') return { ...none, result: 'removed' };
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    const places = errors.map((each) => `${placeOf(each)}  ${each.message}`);
    // A plan shows what policies deny.
    const isValid = errors.every(({ code }) => code === 'policy');
    if (workspace === undefined || !isValid)
      return { ...none, result: 'invalid', problem: { message: 'the manifests are not valid', places } };
    const unplanned =
      pull.isFork && !host.forks
        ? { result: 'validated' as const, notes: ['The request comes from a fork, so it is planned after the merge.'] }
        : unplannedBecause(affected, pull.base);
    if (unplanned === undefined) return this.#planWhenUnlocked(affected, { pull, host, signal });
    if (errors.length === 0) return { ...none, ...unplanned };
    return { ...none, ...unplanned, result: 'denied', problem: { message: 'policies deny the manifests', places } };
  }

  /** Plans it once no other run holds the lock of its state. */
  async #planWhenUnlocked(affected: AffectedWorkspace, planning: PlanningPull): Promise<PlanWithoutAddress> {
    const until = Date.now() + this.#options.timeout;
    for (;;) {
      const plan = await this.#planInSlot(affected, planning);
      if (!(plan instanceof StateLocked)) return plan;
      if (Date.now() > until) return failedPlan(messageOf(plan));
      await delay(BUSY_PAUSE, undefined, { signal: planning.signal });
    }
  }

  async #planInSlot(
    affected: AffectedWorkspace,
    { pull, signal }: PlanningPull,
  ): Promise<PlanWithoutAddress | StateLocked> {
    const free = await this.#slot(signal);
    const { timeout } = this.#options;
    const late = AbortSignal.timeout(timeout);
    const stop = AbortSignal.any([signal, late]);
    try {
      const planning = { ...this.#options, source: pull.source, base: pull.base, signals: { stop, requests: stop } };
      return await planAtHead(planning, affected);
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) return failedPlan(`the plan took longer than ${timeout / 1000} s`);
      if (error instanceof StateLocked) return error;
      if (!isExpected(error)) throw error;
      return failedPlan(messageOf(error));
    } finally {
      free();
    }
  }

  /** Waits for a slot that no due run needs. */
  async #slot(signal: AbortSignal): Promise<() => void> {
    for (;;) {
      signal.throwIfAborted();
      const free = await this.#options.takeSlot();
      if (free !== undefined) return free;
      await delay(SLOT_PAUSE, undefined, { signal });
    }
  }

  /** Updates the comment and the status of a request. Returns the plans that they show. */
  async #publish(pull: ClaimedPull, host: PullHost, signal: AbortSignal): Promise<readonly PullPlan[]> {
    const { database, address } = this.#options;
    const plans = await plansOfPull(database, pull);
    await this.#ensureOurs(pull, signal);
    const reporting = { pull, plans, address };
    try {
      await this.#comment(pull, { host, signal, body: commentOf(reporting, host.name), isNeeded: plans.length > 0 });
    } finally {
      await this.#ensureOurs(pull, signal);
      await host.pulls.setStatus(pull, statusOf(reporting));
    }
    return plans;
  }

  /**
   * Leaves exactly one comment. It may have been deleted, or be there twice after a crash or because two processes added one at the same
   * time: after that, both keep the oldest.
   */
  async #comment(pull: ClaimedPull, { host, signal, body, isNeeded }: Commenting): Promise<void> {
    const { number } = pull;
    const { pulls } = host;
    for (let isFirst = true; ; isFirst = false) {
      const [first, ...others] = await pulls.ownComments(number, markerOf(pull.source));
      for (const { id } of others) await ignoringMissing(pulls.removeComment(number, id));
      if (first === undefined ? !isNeeded : first.body === body) return;
      await this.#ensureOurs(pull, signal);
      if (first !== undefined && (await ignoringMissing(pulls.changeComment(number, first.id, body)))) return;
      // A host may show a new comment a little later.
      if (!isFirst) return;
      await pulls.addComment(number, body);
    }
  }

  /** @throws Outdated if another process works on the request, or on a newer commit of it. */
  async #ensureOurs(pull: ClaimedPull, signal: AbortSignal): Promise<void> {
    if (!(await renewPulls(this.#options.database, [pull])).has(pull.holder)) throw new Outdated();
    signal.throwIfAborted();
  }

  #pauseAfter({ failures }: ClaimedPull): number {
    const { pauses, random } = this.#options;
    return retryPause(pauses, failures + 1, random());
  }
}

/** An invalid project may have any number of problems of any length. */
function bounded(problem: PullPlan['problem']): PullPlan['problem'] {
  if (problem === undefined) return undefined;
  const { message, places } = problem;
  const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text).toWellFormed();
  const rest = places.length - MOST_LISTED;
  const listed = [...places.slice(0, MOST_LISTED).map(cut), ...(rest > 0 ? [`and ${rest} more`] : [])];
  return { ...problem, message: cut(message), places: listed };
}

function failedPlan(message: string): PlanWithoutAddress {
  return { result: 'failed', digest: undefined, plan: undefined, notes: [], problem: { message, places: [] } };
}

/** A request that is no longer in the list of open ones. One that now goes to another branch is not ours. */
async function endedRequest(pulls: PullRequests, known: number, base: string): Promise<PullRequest | undefined> {
  try {
    const found = await pulls.get(known);
    return found.base === base ? found : { ...found, state: 'closed' };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** True unless the record is gone. */
async function ignoringMissing(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
