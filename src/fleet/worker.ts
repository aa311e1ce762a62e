import { GracefulShutdown } from '../operator/graceful-shutdown.ts';
import type { Pauses } from '../operator/loop.ts';
import type { RunReport } from '../operator/run-report.ts';
import { UserError } from '../problems/user-error.ts';
import type { WorkspaceConfig } from '../project/project.ts';
import type { FleetDatabase } from './database/fleet-database.ts';
import { ruleOf } from './fleet-file.ts';
import type { FreezeGate } from './freeze-gate.ts';
import { LoadCache } from './load-cache.ts';
import type { ClaimedJob, Queue } from './queue.ts';
import { claimWorkspace, renewWorkspaces } from './rows/claim-rows.ts';
import { dropJobs, type FinishedRun, storeFinishedRuns } from './rows/finished-runs.ts';
import { type RunRow, rowsToRun } from './rows/run-rows.ts';
import { type MemberRun, type MemberRuns, runMember } from './run-member.ts';
import { failedOutcome, outcomeOf } from './run-outcome.ts';
import { freeSlots, groupsOf, type RunGroups, SLOW_RUN_MS } from './slots.ts';

export interface WorkerOptions extends MemberRuns {
  readonly database: FleetDatabase;
  readonly queue: Queue;
  readonly gate: FreezeGate;
  readonly processId: string;
  /** The names of the sources whose workspaces this process may run. */
  readonly ready: ReadonlySet<string>;
  readonly slots: number;
  readonly pauses: Pick<Pauses, 'firstRetry' | 'maxRetry'>;
  /** The maximum duration of a run in milliseconds. */
  readonly timeout: number;
  /** Milliseconds without a heartbeat after which other processes take over the jobs of this process. */
  readonly heartbeatTimeout: number;
  /** Milliseconds that requests in flight have to finish when a run is stopped. */
  readonly grace: number;
  random(): number;
  /** Called with the result of each run that was not stopped. */
  onRun(row: RunRow, run: ReportedRun): void;
  onTrouble(error: unknown): void;
}

/** The report of a run, or the error that prevented it. */
type ReportedRun = Pick<MemberRun, 'redact'> & {
  /** Seconds between the due time and the start. */
  readonly lateness: number;
} & (
    | { readonly report: RunReport; readonly error: undefined }
    | { readonly report: undefined; readonly error: unknown }
  );

interface ActiveRun {
  readonly job: ClaimedJob;
  readonly row: RunRow;
  /** The start time in milliseconds, from the clock in the options. */
  readonly startedAtMs: number;
  readonly since: Date;
  readonly stop: AbortController;
  ended: Promise<void>;
}

/** Milliseconds for which results and free slots are collected, so that one query can handle several of them. */
const BATCH_DELAY_MS = 50;

/** The abort reason of a run that must not write anymore. */
const TAKEN_OVER = 'another run has this job';

/** Executes runs as slots become free, and stores their results. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #running = new Set<ActiveRun>();
  readonly #loads = new LoadCache();
  #finished: FinishedRun[] = [];
  #taking: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #cancelBatch: (() => void) | undefined;
  /** The kinds of resources of which the fleet uses more than one. */
  #dividedBy: readonly (keyof RunGroups)[] = ['origin', 'source', 'project'];
  /** Groups whose last run in this process was not slow. */
  readonly #fastGroups = new Set<string>();
  /** The number of slots used by work other than runs. */
  #spareSlots = 0;
  #isStopped = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  get runs(): readonly { readonly address: string; readonly since: string }[] {
    return [...this.#running].map(({ row, since }) => ({
      address: row.address,
      since: since.toISOString(),
    }));
  }

  /** Divides the slots between the groups of these resources. With several platforms, also divides the concurrent requests between them. */
  divideSlotsBy(resources: readonly (keyof RunGroups)[]): void {
    this.#dividedBy = resources;
    this.#options.shared.isMixed = resources.includes('origin');
  }

  /** Takes as many jobs as there are free slots. Rejects if the database fails. */
  take(): Promise<void> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  /**
   * Takes a slot for read-only work. This work has a lower priority than due runs: it uses at most a quarter of the slots (at least one),
   * and never the last free slot of several.
   * @returns a function that frees the slot; undefined if no slot is free now. Rejects if the database fails.
   */
  async takeSpareSlot(): Promise<(() => void) | undefined> {
    const { slots } = this.#options;
    await this.take();
    const used = this.#running.size + this.#spareSlots;
    const isLast = used + 1 >= slots && slots > 1;
    if (this.#isStopped || used >= slots || isLast || this.#spareSlots >= Math.max(1, Math.floor(slots / 4)))
      return undefined;
    this.#spareSlots++;
    return () => {
      this.#spareSlots--;
      this.#scheduleBatch();
    };
  }

  /** Sends a heartbeat for all jobs, and cancels the runs whose jobs another process has taken over. */
  async beat(): Promise<void> {
    // Copy the set, because other runs may start during the query.
    const running = [...this.#running];
    const ours = await this.#options.queue.beat([...running, ...this.#finished].map(({ job }) => job));
    for (const { job, stop } of running) if (!ours.has(job.id)) stop.abort(TAKEN_OVER);
    await renewWorkspaces(this.#options.database, [...ours], this.#options.heartbeatTimeout);
  }

  /** Stops all runs. Each run still finishes its requests in flight. */
  abort(reason: string): void {
    for (const { stop } of this.#running) stop.abort(reason);
  }

  /** Stops all runs and starts no new runs. Unfinished jobs return to the queue. */
  async stop(reason: string): Promise<void> {
    this.#isStopped = true;
    this.#cancelBatch?.();
    await Promise.allSettled([this.#taking]);
    this.abort(reason);
    await Promise.all([...this.#running].map(({ ended }) => ended));
    await Promise.allSettled([this.#flushing]);
    await this.#flush();
  }

  async #take(): Promise<void> {
    const { queue, database, clock, slots, ready } = this.#options;
    while (!this.#isStopped && ready.size > 0) {
      const running = [...this.#running].map(({ row, startedAtMs }) => ({
        groups: groupsOf(row),
        age: clock.now() - startedAtMs,
      }));
      const { max, excludedGroups } = freeSlots(running, {
        slots: slots - this.#spareSlots,
        dividedBy: this.#dividedBy,
        fastGroups: this.#fastGroups,
      });
      if (max <= 0) return;
      const jobs = await queue.take(max, excludedGroups);
      if (jobs.length === 0) return;
      const rows = await rowsToRun(database, jobs);
      const droppedJobs: ClaimedJob[] = [];
      for (const job of jobs) {
        const row = rows.get(job.address);
        if (row !== undefined && ready.has(row.source)) this.#begin(job, row);
        else droppedJobs.push(job);
      }
      if (droppedJobs.length > 0) await dropJobs(database, queue, droppedJobs);
      if (jobs.length < max || droppedJobs.length === jobs.length) return;
    }
  }

  #begin(job: ClaimedJob, row: RunRow): void {
    const { clock, context, rules } = this.#options;
    const running = {
      job,
      // The mode in the row may come from a process with an older fleet file.
      row: { ...row, mode: ruleOf(rules, row.address).mode },
      startedAtMs: clock.now(),
      since: context.now(),
      stop: new AbortController(),
      ended: Promise.resolve(),
    };
    // After a long time without heartbeats, this process may claim a job that it is still running. Stop the older run.
    for (const other of this.#running) if (other.job.id === job.id) other.stop.abort(TAKEN_OVER);
    this.#finished = this.#finished.filter((other) => other.job.id !== job.id);
    this.#running.add(running);
    // A run that starts during shutdown is stopped at once.
    if (this.#isStopped) running.stop.abort('stopping');
    running.ended = this.#run(running).then((finished) => {
      this.#running.delete(running);
      const isSlow = clock.now() - running.startedAtMs > SLOW_RUN_MS;
      for (const group of Object.values(groupsOf(running.row)))
        isSlow ? this.#fastGroups.delete(group) : this.#fastGroups.add(group);
      if (running.stop.signal.reason !== TAKEN_OVER) this.#finished.push(finished);
      this.#scheduleBatch();
    });
  }

  /** Runs a workspace and returns the outcome. Never rejects. */
  async #run({ job, row, stop, since }: ActiveRun): Promise<FinishedRun> {
    const { clock, grace, timeout, processId, pauses, random, context, onRun } = this.#options;
    const shutdown = new GracefulShutdown(stop.signal, { clock, graceMs: grace });
    let timeoutError: Error | undefined;
    const cancel = clock.after(timeout, () => {
      timeoutError = new UserError(`the run took longer than ${timeout / 1000} s`, {
        hint: 'Raise timeout in fleet.yaml, or find out why the platform is slow.',
      });
      stop.abort('timeout');
    });
    const endOfRun = () => ({
      job,
      row,
      process: processId,
      now: context.now(),
      pauses,
      random: random(),
      timeout: timeoutError,
    });
    try {
      const { database, heartbeatTimeout } = this.#options;
      const begin = ({ workspaceId, baseUrl }: WorkspaceConfig) => {
        const claim = { address: row.address, holder: job.id, workspaceId, baseUrl };
        return claimWorkspace(database, claim, { expiry: heartbeatTimeout, corrects: true });
      };
      const run = await runMember({ ...this.#options, loads: this.#loads, begin }, row, shutdown);
      onRun(row, { ...run, error: undefined, lateness: row.lateness });
      return outcomeOf(run, endOfRun());
    } catch (error) {
      const isStopped = stop.signal.aborted && timeoutError === undefined;
      if (!isStopped) onRun(row, { report: undefined, error, lateness: row.lateness, redact: String });
      return failedOutcome(isStopped ? undefined : (timeoutError ?? error), { ...endOfRun(), since });
    } finally {
      cancel();
      shutdown.done();
    }
  }

  #scheduleBatch(): void {
    this.#cancelBatch ??= this.#options.clock.after(BATCH_DELAY_MS, () => {
      this.#cancelBatch = undefined;
      Promise.all([this.flush(), this.take()]).catch((error: unknown) => this.#options.onTrouble(error));
    });
  }

  /** Stores the results of finished runs. Rejects if the database fails. The next call then stores the results. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    while (this.#finished.length > 0) {
      // Copy the list, because other runs may finish during the transaction.
      const finished = [...this.#finished];
      await storeFinishedRuns(this.#options.database, this.#options.queue, finished);
      this.#finished = this.#finished.filter((each) => !finished.includes(each));
    }
  }
}
