import { setTimeout as delay } from 'node:timers/promises';
import { eachConcurrently } from '../../engine/observe/each-concurrently.ts';
import { HostProblem, isMissing } from '../../hosting/host-client.ts';
import type { PullRequest, PullRequests } from '../../hosting/pull-requests.ts';
import { retryPause } from '../../operator/loop.ts';
import { isExpected, messageOf, StateLocked } from '../../operator/messages.ts';
import { RepeatFilter, type WatchLog } from '../../operator/watch-log.ts';
import { plural } from '../../output/plural.ts';
import { asDisposable } from '../../problems/as-disposable.ts';
import { positionText } from '../../problems/diagnostic.ts';
import { UserError } from '../../problems/user-error.ts';
import type { FleetDatabase } from '../database/fleet-database.ts';
import {
  type ClaimedPull,
  claimPulls,
  type FinishedPull,
  fetchedCommit,
  finishPull,
  type PullPlan,
  plannedAddresses,
  plansOfPull,
  releasePulls,
  removePulls,
  renewPulls,
  storeOpenPulls,
  storePullPlan,
  storePulls,
  storePullsProblem,
} from '../rows/pull-rows.ts';
import { BUSY_RETRY_MS } from '../run-outcome.ts';
import type { WorkerOptions } from '../worker.ts';
import { type AffectedWorkspace, affectedWorkspaces } from './affected.ts';
import { MergeApprovals } from './merge-approvals.ts';
import { planAtHead, unplannedResult } from './plan-at-head.ts';
import type { PullHost } from './pull-hosts.ts';
import { commentOf, failedStatus, markerOf, pendingStatus, pullCounts, statusOf } from './pull-report.ts';

interface PullsOptions
  extends Pick<WorkerOptions, 'sources' | 'context' | 'shared' | 'rules' | 'clock' | 'ready' | 'timeout' | 'pauses'> {
  readonly database: FleetDatabase;
  readonly hosts: ReadonlyMap<string, PullHost>;
  readonly log: WatchLog;
  /** The public address of the page. */
  readonly address: string | undefined;
  /** Takes a slot. Returns a function that frees the slot; undefined if no slot is free. */
  takeSlot(): Promise<(() => void) | undefined>;
  random(): number;
}

interface PullWork {
  readonly pull: ClaimedPull;
  readonly host: PullHost;
  readonly signal: AbortSignal;
}

interface CommentUpdate {
  readonly host: PullHost;
  readonly signal: AbortSignal;
  readonly body: string;
  /** If false, an existing comment is updated, but no comment is created. */
  readonly isNeeded: boolean;
}

type PlanWithoutAddress = Omit<PullPlan, 'address'>;

interface RunningWork {
  readonly pull: ClaimedPull;
  readonly stop: AbortController;
  ended: Promise<void>;
}

/** The maximum number of concurrent pull requests per process, and of concurrently planned workspaces per pull request. */
const CONCURRENCY = 4;
/** Milliseconds between two checks for a free slot. */
const SLOT_POLL_INTERVAL_MS = 250;
/** The minimum milliseconds until the next attempt after the code host has limited requests. */
const MIN_LIMIT_PAUSE_MS = 1000;

/** The maximum number of errors in the report of a workspace. */
const MAX_LISTED = 20;
/** The maximum number of changed projects in one request. The limit for forks is low, because checkouts of forks must not fill the disk. */
const MAX_PROJECTS = { own: 5000, fork: 20 };
/** The maximum number of retries for a commit whose workspaces cannot be planned. */
const MAX_RETRIES = 12;
/** The maximum number of characters of a problem. */
const MAX_PROBLEM_LENGTH = 1000;

/** The abort reason of work on a request that has a newer commit, was closed, or was claimed by another process. */
class Outdated extends Error {}

/** Plans the pull requests of sources, and approves plans after a merge. The processes of a fleet share this work. */
export class Pulls {
  readonly #options: PullsOptions;
  /** The work in progress, by holder of the claim. */
  readonly #working = new Map<string, RunningWork>();
  readonly #reported = new RepeatFilter();
  readonly #approvals: MergeApprovals;
  /** The sources whose requests are being read. The value is true if the requests must be read again afterwards. */
  readonly #refreshing = new Map<string, boolean>();
  #isStopped = false;

  constructor(options: PullsOptions) {
    this.#options = options;
    this.#approvals = new MergeApprovals(options);
  }

  /** Reads and stores the open requests of a source. Rejects if the database fails. */
  async refresh(source: string, signal: AbortSignal): Promise<void> {
    const host = this.#options.hosts.get(source);
    if (host === undefined) return;
    if (this.#refreshing.has(source)) {
      this.#refreshing.set(source, true);
      return;
    }
    try {
      do {
        this.#refreshing.set(source, false);
        await this.#refreshOnce(source, host);
      } while (this.#refreshing.get(source) === true && !signal.aborted);
    } finally {
      this.#refreshing.delete(source);
    }
  }

  async #refreshOnce(source: string, { pulls, base }: PullHost): Promise<void> {
    const { database, log } = this.#options;
    const key = `pull requests of ${source}`;
    try {
      const open = await pulls.openFor(base);
      const noLongerOpen = await storeOpenPulls(database, source, open);
      const ended = await Promise.all(noLongerOpen.map((number) => endedRequest(pulls, number, base)));
      await storePulls(
        database,
        source,
        ended.filter((each) => each !== undefined),
      );
      await removePulls(
        database,
        source,
        noLongerOpen.filter((_, index) => ended[index] === undefined),
      );
      if (this.#reported.update(key, []).ended > 0)
        log.entry('info', `the ${key} can be read again`, { event: 'pulls' });
    } catch (error) {
      if (!(error instanceof HostProblem)) throw error;
      const problem = messageOf(error);
      await storePullsProblem(database, source, problem);
      if (this.#reported.update(key, [problem]).added.length > 0)
        log.entry('warning', `cannot read the ${key}: ${problem}`, { event: 'pulls-failed' });
    }
  }

  /** Claims requests and starts work on them. Rejects if the database fails. */
  async take(): Promise<void> {
    const { database, hosts, ready } = this.#options;
    const sources = [...hosts.keys()].filter((name) => ready.has(name));
    const limit = CONCURRENCY - this.#working.size;
    if (this.#isStopped || sources.length === 0 || limit <= 0) return;
    for (const pull of await claimPulls(database, { sources, limit })) this.#begin(pull);
  }

  /** Renews the claims, and stops work on requests that have changed. */
  async beat(): Promise<void> {
    const working = [...this.#working.values()];
    const ours = await renewPulls(
      this.#options.database,
      working.map(({ pull }) => pull),
    );
    for (const { pull, stop } of working) if (!ours.has(pull.holder)) stop.abort(new Outdated());
  }

  /** Stops all work. Another process may continue the work. */
  abort(reason: string): void {
    for (const { stop } of this.#working.values()) stop.abort(reason);
  }

  /** Stops all work, releases its claims and starts no new work. */
  async stop(reason: string): Promise<void> {
    this.#isStopped = true;
    this.abort(reason);
    await Promise.all([...this.#working.values()].map(({ ended }) => ended));
  }

  #begin(pull: ClaimedPull): void {
    const work: RunningWork = { pull, stop: new AbortController(), ended: Promise.resolve() };
    this.#working.set(pull.holder, work);
    work.ended = this.#work(pull, work.stop.signal).finally(() => this.#working.delete(pull.holder));
    if (this.#isStopped) work.stop.abort('stopping');
  }

  /** Works on a request and stores the result. Never rejects. */
  async #work(pull: ClaimedPull, signal: AbortSignal): Promise<void> {
    const { database, log, hosts } = this.#options;
    const pullName = `pull request ${pull.number} of ${pull.source}`;
    try {
      const host = hosts.get(pull.source);
      if (host === undefined) throw new Error(`no host for ${pull.source}`);
      const finished =
        pull.state === 'open' ? await this.#plan(pull, host, signal) : await this.#approvals.decide(pull, host);
      await finishPull(database, pull, finished);
    } catch (error) {
      await this.#failed(pull, signal, error).catch((failure: unknown) =>
        log.entry('error', `cannot store the result of ${pullName}: ${messageOf(failure)}`, { event: 'pulls-failed' }),
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
    const limitedUntil =
      error instanceof HostProblem && error.failure.reason === 'limited' ? error.failure.until : undefined;
    const retryAfter =
      limitedUntil === undefined
        ? this.#pauseAfter(pull)
        : Math.max(MIN_LIMIT_PAUSE_MS, limitedUntil.getTime() - Date.now());
    // After many failures, no status is set, because code hosts limit the number of statuses of a commit.
    if (pull.state === 'open' && !(error instanceof HostProblem) && pull.failures < MAX_RETRIES) {
      const status = hosts.get(pull.source)?.pulls.setStatus(pull, failedStatus({ pull, address }));
      await status?.catch(() => undefined);
    }
    await finishPull(database, pull, { isPlanned: false, problem, retryAfter });
    const message = `cannot plan pull request ${pull.number} of ${pull.source}: ${problem}`;
    log.entry(error instanceof UserError ? 'warning' : 'error', message, { event: 'pulls-failed' });
  }

  /** Plans the affected workspaces and reports the plans. Reuses the plans of earlier attempts at the same commit. */
  async #plan(pull: ClaimedPull, host: PullHost, signal: AbortSignal): Promise<FinishedPull> {
    const { database, address, log } = this.#options;
    const planned = await plannedAddresses(database, pull);
    if (pull.plannedHead !== pull.head) await host.pulls.setStatus(pull, pendingStatus({ pull, address }));
    const affected = await this.#affectedBy(pull, host, signal);
    const remaining = affected.filter((each) => !planned.has(each.address));
    let failed = 0;
    await eachConcurrently(remaining, CONCURRENCY, async (each) => {
      const plan = await this.#planOf(each, { pull, host, signal });
      signal.throwIfAborted();
      if (plan.result === 'failed') failed++;
      await storePullPlan(database, pull, { ...plan, problem: truncated(plan.problem), address: each.address });
    });
    const plans = await this.#publish(pull, host, signal);
    const counts = plans.length === 0 ? 'no workspace is affected' : pullCounts(plans);
    const message = `planned pull request ${pull.number} of ${pull.source} at ${pull.head.slice(0, 10)}: ${counts}`;
    log.entry('info', message, { event: 'pull-planned', source: pull.source });
    const mayRetry = failed > 0 && pull.failures < MAX_RETRIES;
    return {
      isPlanned: true,
      problem: failed === 0 ? undefined : `${plural(failed, 'workspace')} failed`,
      retryAfter: mayRetry ? this.#pauseAfter(pull) : undefined,
    };
  }

  /** Returns the workspaces that a request changes. Uses a slot, because a request may change any number of projects. */
  async #affectedBy(
    pull: ClaimedPull,
    { pulls }: PullHost,
    signal: AbortSignal,
  ): Promise<readonly AffectedWorkspace[]> {
    const { sources, database, context } = this.#options;
    const mergeBase = await pulls.mergeBase(pull);
    const free = await this.#slot(signal);
    await using _slot = asDisposable({ close: free });
    const before = await sources.at(pull.source, mergeBase, signal);
    await using _before = asDisposable(before);
    const after = await sources.at(pull.source, pull.head, signal);
    await using _after = asDisposable(after);
    const base = await sources.at(pull.source, await fetchedCommit(database, pull.source), signal);
    await using _base = asDisposable(base);
    const { env, policies } = context;
    const maxProjects = pull.isFork ? MAX_PROJECTS.fork : MAX_PROJECTS.own;
    const options = { sources, source: pull.source, policies: policies?.fleet, env, signal, maxProjects };
    return await affectedWorkspaces(options, { before, after, base });
  }

  async #planOf(affected: AffectedWorkspace, { pull, host, signal }: PullWork): Promise<PlanWithoutAddress> {
    const { change, diagnostics, workspace } = affected;
    const none = { digest: undefined, plan: undefined, notes: [] };
    if (change === 'removed') return { ...none, result: 'removed' };
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    const places = errors.map((each) => `${positionText(each)}  ${each.message}`);
    // Policy violations do not prevent a plan. The plan lists them.
    const isValid = errors.every(({ code }) => code === 'policy');
    if (workspace === undefined || !isValid)
      return { ...none, result: 'invalid', problem: { message: 'the manifests are not valid', places } };
    const unplanned =
      pull.isFork && !host.forks
        ? { result: 'validated' as const, notes: ['The request comes from a fork, so it is planned after the merge.'] }
        : unplannedResult(affected, pull.base);
    if (unplanned === undefined) return this.#planWhenUnlocked(affected, { pull, host, signal });
    if (errors.length === 0) return { ...none, ...unplanned };
    return { ...none, ...unplanned, result: 'denied', problem: { message: 'policies deny the manifests', places } };
  }

  /** Plans a workspace. While another run holds the lock of its state, retries until the timeout. */
  async #planWhenUnlocked(affected: AffectedWorkspace, planning: PullWork): Promise<PlanWithoutAddress> {
    const until = Date.now() + this.#options.timeout;
    for (;;) {
      const plan = await this.#planInSlot(affected, planning);
      if (!(plan instanceof StateLocked)) return plan;
      if (Date.now() > until) return failedPlan(messageOf(plan));
      await delay(BUSY_RETRY_MS, undefined, { signal: planning.signal });
    }
  }

  async #planInSlot(
    affected: AffectedWorkspace,
    { pull, signal }: PullWork,
  ): Promise<PlanWithoutAddress | StateLocked> {
    const free = await this.#slot(signal);
    const { timeout } = this.#options;
    const timeoutSignal = AbortSignal.timeout(timeout);
    const stop = AbortSignal.any([signal, timeoutSignal]);
    try {
      const planning = { ...this.#options, source: pull.source, base: pull.base, signals: { stop, requests: stop } };
      return await planAtHead(planning, affected);
    } catch (error) {
      signal.throwIfAborted();
      if (timeoutSignal.aborted) return failedPlan(`the plan took longer than ${timeout / 1000} s`);
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
      await delay(SLOT_POLL_INTERVAL_MS, undefined, { signal });
    }
  }

  /** Updates the comment and the commit status of a request. Returns the reported plans. */
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

  /** Creates or updates the comment. Removes all but the oldest, because two processes may have created one each. */
  async #comment(pull: ClaimedPull, { host, signal, body, isNeeded }: CommentUpdate): Promise<void> {
    const { number } = pull;
    const { pulls } = host;
    for (let isFirst = true; ; isFirst = false) {
      const [first, ...others] = await pulls.ownComments(number, markerOf(pull.source));
      for (const { id } of others) await ignoringMissing(pulls.removeComment(number, id));
      if (first === undefined ? !isNeeded : first.body === body) return;
      await this.#ensureOurs(pull, signal);
      if (first !== undefined && (await ignoringMissing(pulls.changeComment(number, first.id, body)))) return;
      // The comment was just created. The code host may list it with a delay.
      if (!isFirst) return;
      await pulls.addComment(number, body);
    }
  }

  /** @throws Outdated if another process has claimed the request, or if the request has a newer commit or another state. */
  async #ensureOurs(pull: ClaimedPull, signal: AbortSignal): Promise<void> {
    if (!(await renewPulls(this.#options.database, [pull])).has(pull.holder)) throw new Outdated();
    signal.throwIfAborted();
  }

  #pauseAfter({ failures }: ClaimedPull): number {
    const { pauses, random } = this.#options;
    return retryPause(pauses, failures + 1, random());
  }
}

/** Limits the number and the length of errors, because an invalid project may have an unlimited number of long errors. */
function truncated(problem: PullPlan['problem']): PullPlan['problem'] {
  if (problem === undefined) return undefined;
  const { message, places } = problem;
  const truncate = (text: string) =>
    (text.length > MAX_PROBLEM_LENGTH ? `${text.slice(0, MAX_PROBLEM_LENGTH)}…` : text).toWellFormed();
  const rest = places.length - MAX_LISTED;
  const listed = [...places.slice(0, MAX_LISTED).map(truncate), ...(rest > 0 ? [`and ${rest} more`] : [])];
  return { ...problem, message: truncate(message), places: listed };
}

function failedPlan(message: string): PlanWithoutAddress {
  return { result: 'failed', digest: undefined, plan: undefined, notes: [], problem: { message, places: [] } };
}

/** Returns a request that is no longer open for the base; undefined if it was deleted. A request for another base counts as closed. */
async function endedRequest(pulls: PullRequests, number: number, base: string): Promise<PullRequest | undefined> {
  try {
    const found = await pulls.get(number);
    return found.base === base ? found : { ...found, state: 'closed' };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Waits for an operation on a comment. Returns false if the comment no longer exists. */
async function ignoringMissing(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
