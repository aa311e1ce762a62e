import { GracefulShutdown } from '../operator/graceful-shutdown.ts';
import type { Pauses } from '../operator/loop.ts';
import type { RunReport } from '../operator/run-report.ts';
import { UserError } from '../problems/user-error.ts';
import type { WorkspaceConfig } from '../project/project.ts';
import type { FleetDatabase } from './database/fleet-database.ts';
import { ruleOf } from './fleet-file.ts';
import type { FreezeGate } from './freeze-gate.ts';
import { KeptLoads } from './kept-loads.ts';
import type { ClaimedJob, Queue } from './queue.ts';
import { claimWorkspace, renewWorkspaces } from './rows/claim-rows.ts';
import { dropJobs, enterFinished, type FinishedRun } from './rows/finished-runs.ts';
import { type RunRow, rowsToRun } from './rows/run-rows.ts';
import { type MemberRun, type MemberRuns, runMember } from './run-member.ts';
import { failedOutcome, outcomeOf } from './run-outcome.ts';
import { freeSlots, groupsOf, type RunGroups, SLOW } from './slots.ts';

export interface WorkerOptions extends MemberRuns {
  readonly database: FleetDatabase;
  readonly queue: Queue;
  readonly gate: FreezeGate;
  readonly processId: string;
  /** Sources whose workspaces this process may run. */
  readonly ready: ReadonlySet<string>;
  readonly slots: number;
  readonly pauses: Pick<Pauses, 'firstRetry' | 'longestRetry'>;
  /** The maximum duration of a run in milliseconds. */
  readonly timeout: number;
  /** Milliseconds without a heartbeat after which others take the jobs of this process. */
  readonly heartbeatTimeout: number;
  /** Milliseconds for requests in flight when a run must end. */
  readonly grace: number;
  random(): number;
  /** Called with the results of every run and its delay in seconds. */
  onRun(row: RunRow, run: ReportedRun): void;
  onTrouble(error: unknown): void;
}

/** The report of a run, or the error that prevented it. A stopped run is not reported. */
type ReportedRun = Pick<MemberRun, 'redact'> & {
  /** Delay in seconds. */
  readonly lateness: number;
} & (
    | { readonly report: RunReport; readonly error: undefined }
    | { readonly report: undefined; readonly error: unknown }
  );

interface Running {
  readonly job: ClaimedJob;
  readonly row: RunRow;
  readonly began: number;
  readonly since: Date;
  readonly stop: AbortController;
  ended: Promise<void>;
}

/** Milliseconds in which results of runs and free slots are collected. */
const GATHER = 50;

/** The reason for cancelling a run that must no longer write. */
const TAKEN = 'another run has this job';

/** Executes runs as slots become free, and stores their results. */
export class Worker {
  readonly #options: WorkerOptions;
  readonly #running = new Set<Running>();
  readonly #loads = new KeptLoads();
  #finished: FinishedRun[] = [];
  #taking: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #soon: (() => void) | undefined;
  #several: readonly (keyof RunGroups)[] = ['origin', 'source', 'project'];
  /** Groups whose last run here was not slow. */
  readonly #quick = new Set<string>();
  /** Slots of work that is not a run. */
  #guests = 0;
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

  /** Distributes slots and requests over the differing parts of the fleet's workspaces. */
  divide(several: readonly (keyof RunGroups)[]): void {
    this.#several = several;
    this.#options.shared.isMixed = several.includes('origin');
  }

  /** Takes as many jobs as there are free slots. Rejects if the database fails. */
  take(): Promise<void> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  /**
   * Takes a slot for read-only work that comes after all due runs: at most a quarter of the slots, and never the last one of several.
   * @returns a function that frees it; undefined if none is free now. Rejects if the database fails.
   */
  async takeSpareSlot(): Promise<(() => void) | undefined> {
    const { slots } = this.#options;
    await this.take();
    const used = this.#running.size + this.#guests;
    const isLast = used + 1 >= slots && slots > 1;
    if (this.#isStopped || used >= slots || isLast || this.#guests >= Math.max(1, Math.floor(slots / 4)))
      return undefined;
    this.#guests++;
    return () => {
      this.#guests--;
      this.#later();
    };
  }

  /** Sends a heartbeat for all jobs. A run whose job another process holds by now is cancelled. */
  async beat(): Promise<void> {
    // Other runs may start in the meantime.
    const running = [...this.#running];
    const ours = await this.#options.queue.beat([...running, ...this.#finished].map(({ job }) => job));
    for (const { job, stop } of running) if (!ours.has(job.id)) stop.abort(TAKEN);
    await renewWorkspaces(this.#options.database, [...ours], this.#options.heartbeatTimeout);
  }

  /** Stops all runs. Each finishes its requests in flight. */
  abort(reason: string): void {
    for (const { stop } of this.#running) stop.abort(reason);
  }

  /** Starts no more runs and stops current ones. Unfinished jobs are returned. */
  async stop(reason: string): Promise<void> {
    this.#isStopped = true;
    this.#soon?.();
    await Promise.allSettled([this.#taking]);
    this.abort(reason);
    await Promise.all([...this.#running].map(({ ended }) => ended));
    await Promise.allSettled([this.#flushing]);
    await this.#flush();
  }

  async #take(): Promise<void> {
    const { queue, database, clock, slots, ready } = this.#options;
    while (!this.#isStopped && ready.size > 0) {
      const running = [...this.#running].map(({ row, began }) => ({
        groups: groupsOf(row),
        age: clock.now() - began,
      }));
      const [several, quick] = [this.#several, this.#quick];
      const { most, without } = freeSlots(running, { slots: slots - this.#guests, several, quick });
      if (most <= 0) return;
      const jobs = await queue.take(most, without);
      if (jobs.length === 0) return;
      const rows = await rowsToRun(database, jobs);
      const foreign: ClaimedJob[] = [];
      for (const job of jobs) {
        const row = rows.get(job.address);
        if (row !== undefined && ready.has(row.source)) this.#begin(job, row);
        else foreign.push(job);
      }
      if (foreign.length > 0) await dropJobs(database, queue, foreign);
      if (jobs.length < most || foreign.length === jobs.length) return;
    }
  }

  #begin(job: ClaimedJob, row: RunRow): void {
    const { clock, context, rules } = this.#options;
    const running = {
      job,
      // The row may follow the rules of a process with an older fleet file.
      row: { ...row, mode: ruleOf(rules, row.address).mode },
      began: clock.now(),
      since: context.now(),
      stop: new AbortController(),
      ended: Promise.resolve(),
    };
    // This process was silent for too long and received its own job again.
    for (const other of this.#running) if (other.job.id === job.id) other.stop.abort(TAKEN);
    this.#finished = this.#finished.filter((other) => other.job.id !== job.id);
    this.#running.add(running);
    // A run that started during the shutdown is stopped at once.
    if (this.#isStopped) running.stop.abort('stopping');
    running.ended = this.#run(running).then((finished) => {
      this.#running.delete(running);
      const isSlow = clock.now() - running.began > SLOW;
      for (const group of Object.values(groupsOf(running.row)))
        isSlow ? this.#quick.delete(group) : this.#quick.add(group);
      if (running.stop.signal.reason !== TAKEN) this.#finished.push(finished);
      this.#later();
    });
  }

  /** Never rejects. */
  async #run({ job, row, stop, since }: Running): Promise<FinishedRun> {
    const { clock, grace, timeout, processId, pauses, random, context, onRun } = this.#options;
    const shutdown = new GracefulShutdown(stop.signal, { clock, grace });
    let late: Error | undefined;
    const cancel = clock.after(timeout, () => {
      late = new UserError(`the run took longer than ${timeout / 1000} s`, {
        hint: 'Raise timeout in fleet.yaml, or find out why the platform is slow.',
      });
      stop.abort('timeout');
    });
    const ended = () => ({
      job,
      row,
      process: processId,
      now: context.now(),
      pauses,
      random: random(),
      timeout: late,
    });
    try {
      const { database, heartbeatTimeout } = this.#options;
      const begin = ({ workspaceId, baseUrl }: WorkspaceConfig) => {
        const claim = { address: row.address, holder: job.id, workspaceId, baseUrl };
        return claimWorkspace(database, claim, { expiry: heartbeatTimeout, corrects: true });
      };
      const run = await runMember({ ...this.#options, loads: this.#loads, begin }, row, shutdown);
      onRun(row, { ...run, error: undefined, lateness: row.lateness });
      return outcomeOf(run, ended());
    } catch (error) {
      const isStopped = stop.signal.aborted && late === undefined;
      if (!isStopped) onRun(row, { report: undefined, error, lateness: row.lateness, redact: String });
      return failedOutcome(isStopped ? undefined : (late ?? error), { ...ended(), since });
    } finally {
      cancel();
      shutdown.done();
    }
  }

  #later(): void {
    this.#soon ??= this.#options.clock.after(GATHER, () => {
      this.#soon = undefined;
      Promise.all([this.flush(), this.take()]).catch((error: unknown) => this.#options.onTrouble(error));
    });
  }

  /** Stores the results of runs, and keeps those that cannot be stored now. Rejects if the database fails. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #flush(): Promise<void> {
    while (this.#finished.length > 0) {
      // Other runs may end in the meantime.
      const finished = [...this.#finished];
      await enterFinished(this.#options.database, this.#options.queue, finished);
      this.#finished = this.#finished.filter((each) => !finished.includes(each));
    }
  }
}
