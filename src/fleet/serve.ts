import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { FleetFrozen, messageOf } from '../operator/messages.ts';
import type { WatchLog } from '../operator/watch-log.ts';
import { UserError } from '../problems/user-error.ts';
import { VERSION } from '../version.ts';
import type { FleetDatabase } from './database/fleet-database.ts';
import { setUpTables } from './database/set-up-tables.ts';
import { FREEZE_CHECK, FreezeGate } from './freeze-gate.ts';
import type { PullHost } from './pulls/pull-hosts.ts';
import { Pulls } from './pulls/pulls.ts';
import { Queue } from './queue.ts';
import { currentFreeze, type Freeze } from './rows/freeze-rows.ts';
import { severalOf, versionsInUse } from './rows/member-rows.ts';
import {
  enterProcess,
  removeOldRuns,
  removeProcess,
  removeProcesses,
  type ServingProcess,
} from './rows/process-rows.ts';
import { removeOldPulls } from './rows/pull-rows.ts';
import { takeDue } from './rows/run-rows.ts';
import { removeOldTrends } from './rows/trend-rows.ts';
import { type SourceFetch, SourceFetcher } from './source-fetcher.ts';
import { Worker, type WorkerOptions } from './worker.ts';

export interface ServeOptions
  extends Omit<WorkerOptions, 'queue' | 'gate' | 'processId' | 'heartbeatTimeout' | 'ready' | 'onTrouble'> {
  readonly log: WatchLog;
  readonly timing?: Partial<FleetTiming> | undefined;
  /** Milliseconds for which runs stay in the list. */
  readonly retention: number;
  /** The hosts of the sources whose pull requests are planned, by source. */
  readonly pullHosts?: ReadonlyMap<string, PullHost> | undefined;
  /** Called when the fleet is frozen or resumed, and again with each heartbeat. */
  readonly tellFreezes?: (() => Promise<void>) | undefined;
  /** Public address of the page. */
  readonly address?: string | undefined;
}

/** Milliseconds. */
interface FleetTiming {
  /** Milliseconds between two queries for due runs, jobs and fetches. */
  readonly tick: number;
  /** Milliseconds between two heartbeats. */
  readonly beat: number;
  /** Milliseconds without a heartbeat after which others take the jobs of a process, which has stopped its runs by then. */
  readonly heartbeat: number;
  /** Milliseconds after which a starting process stops waiting for all sources and runs the workspaces of those that it has. */
  readonly startTimeout: number;
}

const TIMING: FleetTiming = { tick: 1_000, beat: 8_000, heartbeat: 30_000, startTimeout: 30_000 };
/** Heartbeats without a query for work after which a process counts as hung. */
const HUNG_AFTER = 10;
/** Milliseconds between two removals of old rows and unused checkouts. Short, because processes may end soon and often. */
const CLEAN_UP = 60_000;

/** The loops of a process. It is not ready without them. */
type LoopName = 'work' | 'beat' | 'freeze';

export class FleetServer {
  readonly #options: ServeOptions;
  readonly #timing: FleetTiming;
  readonly #queue: Queue;
  readonly #worker: Worker;
  readonly #gate: FreezeGate;
  readonly #process: ServingProcess;
  readonly #cancels = new Set<() => void>();
  readonly #work = new Set<Promise<void>>();
  readonly #fetcher: SourceFetcher;
  readonly #pulls: Pulls | undefined;
  readonly #stop = new AbortController();
  readonly #workedAt: Record<LoopName, number>;
  readonly #failures = new Map<LoopName, string>();
  #tickedAt: number;

  /**
   * Creates missing tables, and starts.
   * @throws UserError if the database cannot be used.
   */
  static async begin(options: ServeOptions): Promise<FleetServer> {
    const { database, log, timeout, grace } = options;
    const { heartbeat, beat } = { ...TIMING, ...options.timing };
    await setUpTables(database);
    const timing = {
      heartbeat: Math.ceil(heartbeat / 1000),
      monitor: Math.ceil(beat / 1000),
      expiry: Math.ceil((timeout + grace) / 1000) + 60,
    };
    const queue = await Queue.open(database, timing, (error) =>
      log.entry('warning', `the queue has a problem: ${messageOf(error)}`, { event: 'queue' }),
    );
    const server = new FleetServer(options, queue);
    try {
      await server.#start();
      return server;
    } catch (error) {
      await queue.close();
      throw error;
    }
  }

  private constructor(options: ServeOptions, queue: Queue) {
    const { clock, slots } = options;
    this.#options = options;
    this.#fetcher = new SourceFetcher({
      ...options,
      signal: this.#stop.signal,
      onFetched: (source) => this.#begin(this.#pulls?.look(source, this.#stop.signal) ?? Promise.resolve()),
    });
    this.#timing = { ...TIMING, ...options.timing };
    this.#queue = queue;
    const sources = Object.fromEntries(options.sources.all.map(({ name, identity }) => [name, identity]));
    this.#process = {
      id: randomUUID(),
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      slots,
      sources,
    };
    this.#gate = new FreezeGate({
      current: () => currentFreeze(options.database),
      now: () => clock.now(),
      onChange: (freeze) => this.#onFreeze(freeze),
    });
    this.#worker = new Worker({
      ...options,
      queue,
      gate: this.#gate,
      processId: this.#process.id,
      heartbeatTimeout: this.#timing.heartbeat,
      ready: this.#fetcher.ready,
      onTrouble: (error) => this.#onFailure(error, 'work'),
    });
    const { pullHosts: hosts, address } = options;
    this.#pulls =
      hosts &&
      new Pulls({
        ...options,
        hosts,
        address,
        ready: this.#fetcher.ready,
        takeSlot: () => this.#worker.takeSpareSlot(),
      });
    this.#tickedAt = clock.now();
    this.#workedAt = { work: this.#tickedAt, beat: this.#tickedAt, freeze: this.#tickedAt };
  }

  async #start(): Promise<void> {
    const { database, clock, retention } = this.#options;
    const { tick, beat, startTimeout } = this.#timing;
    if (database.isEmbedded) await removeProcesses(database);
    // Other processes must know its sources before it claims them.
    await enterProcess(database, this.#process, { isEnding: false, runs: [] });
    await this.#checkFreeze();
    const fetches = await this.#fetcher.first();
    await this.#beat();
    for (const fetch of fetches) this.#begin(this.#find(fetch));
    this.#cancels.add(clock.after(startTimeout, () => this.#fetcher.stopWaiting()));
    this.#every(tick, () => this.#tick(), 'work');
    this.#every(FREEZE_CHECK, () => this.#checkFreeze(), 'freeze');
    this.#every(beat, () => this.#beat(), 'beat');
    this.#every(CLEAN_UP, () => this.#keep());
    this.#every(CLEAN_UP, async () => {
      await removeOldRuns(database, retention);
      await removeOldPulls(database, retention);
      await removeOldTrends(database);
    });
  }

  get id(): string {
    return this.#process.id;
  }

  /** True while the process queries for work. */
  get isAlive(): boolean {
    return this.#options.clock.now() - this.#tickedAt < HUNG_AFTER * this.#timing.beat;
  }

  /** True while its statements succeed and it starts runs. */
  get isReady(): boolean {
    const silence = this.#options.clock.now() - Math.min(...Object.values(this.#workedAt));
    return !this.#stop.signal.aborted && silence < this.#timing.heartbeat;
  }

  /** Starts no more runs, stops current ones, returns unfinished jobs, and unregisters. */
  async stop(reason: string): Promise<void> {
    const { database } = this.#options;
    this.#stop.abort(reason);
    for (const cancel of this.#cancels) cancel();
    await Promise.allSettled([
      enterProcess(database, this.#process, { isEnding: true, runs: this.#worker.runs }),
      this.#pulls?.stop(reason),
      ...this.#work,
    ]);
    try {
      await this.#worker.stop(reason);
      await removeProcess(database, this.#process.id);
    } catch (error) {
      this.#onFailure(error);
    }
    await this.#queue.close();
  }

  async #tick(): Promise<void> {
    this.#tickedAt = this.#options.clock.now();
    for (const fetch of await this.#fetcher.due()) this.#begin(this.#find(fetch));
    await this.#schedule();
    // Stores results that could not be stored before, and takes jobs that others queued.
    await Promise.all([this.#worker.flush(), this.#worker.take()]);
    await this.#pulls?.take();
    this.#onSuccess('work');
  }

  async #find(fetch: SourceFetch): Promise<void> {
    if (!(await fetch())) return;
    await this.#divide();
    await this.#schedule();
    await this.#worker.take();
  }

  async #divide(): Promise<void> {
    this.#worker.divide(await severalOf(this.#options.database));
  }

  async #schedule(): Promise<void> {
    await scheduleDue(this.#options.database, this.#queue, [...this.#fetcher.ready]);
  }

  async #beat(): Promise<void> {
    const { database, clock } = this.#options;
    try {
      await enterProcess(database, this.#process, { isEnding: false, runs: this.#worker.runs });
      await this.#worker.beat();
      await this.#fetcher.beat();
      await this.#pulls?.beat();
      await this.#divide();
      this.#onSuccess('beat');
      // What failed before, and what began and ended between two checks.
      this.#tellFreezes();
    } catch (error) {
      // Another process may start the runs of this one from here on.
      if (clock.now() - this.#workedAt.beat > this.#timing.heartbeat - this.#timing.beat) {
        this.#worker.abort('the database cannot be reached');
        this.#pulls?.abort('the database cannot be reached');
      }
      throw error;
    }
  }

  /** Much more often than other queries, because nothing may be written a second after the fleet was frozen. */
  async #checkFreeze(): Promise<void> {
    await this.#gate.check();
    this.#onSuccess('freeze');
  }

  #onFreeze(freeze: Freeze | undefined): void {
    const { log } = this.#options;
    this.#tellFreezes();
    if (freeze === undefined) log.entry('info', 'the fleet was resumed', { event: 'resumed' });
    else log.entry('warning', messageOf(new FleetFrozen(freeze)), { event: 'frozen' });
  }

  #tellFreezes(): void {
    this.#begin(this.#options.tellFreezes?.() ?? Promise.resolve());
  }

  async #keep(): Promise<void> {
    const { database, sources, log } = this.#options;
    for (const { name } of sources.all) {
      const versions = await versionsInUse(database, name);
      await sources.keep(name, versions).catch((error: unknown) => {
        const message = `cannot remove old checkouts of the source ${name}: ${messageOf(error)}`;
        log.entry('warning', message, { event: 'checkouts' });
      });
    }
  }

  #begin(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => this.#onFailure(error))
      .finally(() => {
        this.#work.delete(done);
      });
    this.#work.add(done);
  }

  /** Repeats an action, with this pause after each. */
  #every(milliseconds: number, act: () => Promise<void>, loop?: LoopName): void {
    const again = (): void => {
      const cancel = this.#options.clock.after(milliseconds, () => {
        this.#cancels.delete(cancel);
        this.#begin(
          act()
            .catch((error: unknown) => this.#onFailure(error, loop))
            .then(() => (this.#stop.signal.aborted ? undefined : again())),
        );
      });
      this.#cancels.add(cancel);
    };
    again();
  }

  #onSuccess(loop: LoopName): void {
    this.#workedAt[loop] = this.#options.clock.now();
    if (!this.#failures.delete(loop) || this.#failures.size > 0) return;
    this.#options.log.entry('info', 'the database is available again', { event: 'database-back' });
  }

  #onFailure(error: unknown, loop?: LoopName): void {
    const failure = messageOf(error);
    const isKnown = [...this.#failures.values()].includes(failure);
    if (loop !== undefined) this.#failures.set(loop, failure);
    if (isKnown) return;
    const message = error instanceof UserError ? failure : `cannot use the database: ${failure}`;
    this.#options.log.entry('error', message, { event: 'database' });
  }
}

/**
 * Queues the due workspaces of these sources and sets their next times, in one transaction, so that a workspace runs again whatever
 * happens to the job. Returns their number.
 */
export function scheduleDue(database: FleetDatabase, queue: Queue, sources: readonly string[]): Promise<number> {
  return database.atomically(async (statements) => {
    const jobs = await takeDue(statements, sources);
    await queue.put(jobs, statements);
    return jobs.length;
  });
}
