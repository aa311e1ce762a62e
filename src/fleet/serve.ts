import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { FleetFrozen, messageOf } from '../operator/messages.ts';
import type { WatchLog } from '../operator/watch-log.ts';
import { UserError } from '../problems/user-error.ts';
import { VERSION } from '../version.ts';
import type { FleetDatabase } from './database/fleet-database.ts';
import { setUpTables } from './database/set-up-tables.ts';
import { FREEZE_CHECK_INTERVAL_MS, FreezeGate } from './freeze-gate.ts';
import type { PullHost } from './pulls/pull-hosts.ts';
import { Pulls } from './pulls/pulls.ts';
import { Queue } from './queue.ts';
import { currentFreeze, type Freeze } from './rows/freeze-rows.ts';
import { resourceKindsInUse, versionsInUse } from './rows/member-rows.ts';
import {
  removeExpiredRows,
  removeProcess,
  removeProcesses,
  type ServingProcess,
  storeHeartbeat,
} from './rows/process-rows.ts';
import { takeDue } from './rows/run-rows.ts';
import { removeOldTrends } from './rows/trend-rows.ts';
import { type SourceFetch, SourceFetcher } from './source-fetcher.ts';
import { Worker, type WorkerOptions } from './worker.ts';

export interface ServeOptions
  extends Omit<WorkerOptions, 'queue' | 'gate' | 'processId' | 'heartbeatTimeout' | 'ready' | 'onTrouble'> {
  readonly log: WatchLog;
  readonly timing?: Partial<FleetTiming> | undefined;
  /** Milliseconds for which finished runs are kept. */
  readonly retention: number;
  /** The code host of each source whose pull requests are planned, by source name. */
  readonly pullHosts?: ReadonlyMap<string, PullHost> | undefined;
  /** Notifies webhooks of freezes. Called with the id of this process when the fleet is frozen or resumed, and with each heartbeat. */
  readonly notifyFreezes?: ((process: string) => Promise<void>) | undefined;
  /** The public address of the page. */
  readonly address?: string | undefined;
}

interface FleetTiming {
  /** Milliseconds between two queries for due runs, jobs and fetches. */
  readonly tick: number;
  /** Milliseconds between two heartbeats. */
  readonly beat: number;
  /** Milliseconds without a heartbeat after which other processes take over the jobs of a process. The process stops its runs earlier. */
  readonly heartbeatTimeout: number;
  /** Milliseconds after which a starting process stops waiting for the remaining sources. */
  readonly startTimeout: number;
}

const TIMING: FleetTiming = { tick: 1_000, beat: 8_000, heartbeatTimeout: 30_000, startTimeout: 30_000 };
/** The number of heartbeat intervals without a query for work after which a process counts as hung. */
const HUNG_AFTER_BEATS = 10;
/** Milliseconds between two cleanups of old rows and unused checkouts. The interval is short because processes may restart often. */
const CLEAN_UP_INTERVAL_MS = 60_000;

/** The loops that must succeed for a process to be ready. */
type LoopName = 'work' | 'beat' | 'freeze';

export class FleetServer {
  readonly #options: ServeOptions;
  readonly #timing: FleetTiming;
  readonly #queue: Queue;
  readonly #worker: Worker;
  readonly #gate: FreezeGate;
  readonly #process: ServingProcess;
  readonly #cancels = new Set<() => void>();
  readonly #backgroundWork = new Set<Promise<void>>();
  readonly #fetcher: SourceFetcher;
  readonly #pulls: Pulls | undefined;
  readonly #stop = new AbortController();
  /** The time when each loop last succeeded. */
  readonly #succeededAt: Record<LoopName, number>;
  readonly #failures = new Map<LoopName, string>();
  #lastTickAt: number;

  /**
   * Creates or migrates the tables, and starts a server.
   * @throws UserError if the database cannot be used.
   */
  static async begin(options: ServeOptions): Promise<FleetServer> {
    const { database, log, timeout, grace } = options;
    const { heartbeatTimeout, beat } = { ...TIMING, ...options.timing };
    await setUpTables(database);
    const timing = {
      heartbeat: Math.ceil(heartbeatTimeout / 1000),
      monitor: Math.ceil(beat / 1000),
      expiry: Math.ceil((timeout + grace) / 1000) + 60,
    };
    const queue = await Queue.open(database, timing, (error) =>
      log.entry('warning', `queue error: ${messageOf(error)}`, { event: 'queue' }),
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
      onFetched: (source) => this.#begin(this.#pulls?.refresh(source, this.#stop.signal) ?? Promise.resolve()),
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
      heartbeatTimeout: this.#timing.heartbeatTimeout,
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
    this.#lastTickAt = clock.now();
    this.#succeededAt = { work: this.#lastTickAt, beat: this.#lastTickAt, freeze: this.#lastTickAt };
  }

  async #start(): Promise<void> {
    const { database, clock, retention } = this.#options;
    const { tick, beat, startTimeout } = this.#timing;
    if (database.isEmbedded) await removeProcesses(database);
    // Other processes must know the sources of this process before it claims them.
    await storeHeartbeat(database, this.#process, { isEnding: false, runs: [] });
    await this.#checkFreeze();
    const fetches = await this.#fetcher.register();
    await this.#beat();
    for (const fetch of fetches) this.#begin(this.#fetchAndRun(fetch));
    this.#cancels.add(clock.after(startTimeout, () => this.#fetcher.stopWaiting()));
    this.#every(tick, () => this.#tick(), 'work');
    this.#every(FREEZE_CHECK_INTERVAL_MS, () => this.#checkFreeze(), 'freeze');
    this.#every(beat, () => this.#beat(), 'beat');
    this.#every(CLEAN_UP_INTERVAL_MS, () => this.#removeOldCheckouts());
    this.#every(CLEAN_UP_INTERVAL_MS, async () => {
      await removeExpiredRows(database, retention);
      await removeOldTrends(database);
    });
  }

  get id(): string {
    return this.#process.id;
  }

  /** True while the process regularly queries for work. */
  get isAlive(): boolean {
    return this.#options.clock.now() - this.#lastTickAt < HUNG_AFTER_BEATS * this.#timing.beat;
  }

  /** True while the database is reachable and the process starts runs. */
  get isReady(): boolean {
    const sinceSuccess = this.#options.clock.now() - Math.min(...Object.values(this.#succeededAt));
    return !this.#stop.signal.aborted && sinceSuccess < this.#timing.heartbeatTimeout;
  }

  /** Stops all runs, starts no new runs, returns unfinished jobs to the queue, and unregisters the process. */
  async stop(reason: string): Promise<void> {
    const { database } = this.#options;
    this.#stop.abort(reason);
    for (const cancel of this.#cancels) cancel();
    await Promise.allSettled([
      storeHeartbeat(database, this.#process, { isEnding: true, runs: this.#worker.runs }),
      this.#pulls?.stop(reason),
      ...this.#backgroundWork,
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
    this.#lastTickAt = this.#options.clock.now();
    for (const fetch of await this.#fetcher.claimDue()) this.#begin(this.#fetchAndRun(fetch));
    await this.#schedule();
    // Stores results that could not be stored earlier, and takes jobs that other processes queued.
    await Promise.all([this.#worker.flush(), this.#worker.take()]);
    await this.#pulls?.take();
    this.#onSuccess('work');
  }

  async #fetchAndRun(fetch: SourceFetch): Promise<void> {
    if (!(await fetch())) return;
    await this.#divideSlots();
    await this.#schedule();
    await this.#worker.take();
  }

  async #divideSlots(): Promise<void> {
    this.#worker.divideSlotsBy(await resourceKindsInUse(this.#options.database));
  }

  async #schedule(): Promise<void> {
    await scheduleDue(this.#options.database, this.#queue, [...this.#fetcher.ready]);
  }

  async #beat(): Promise<void> {
    const { database, clock } = this.#options;
    try {
      await storeHeartbeat(database, this.#process, { isEnding: false, runs: this.#worker.runs });
      await this.#worker.beat();
      await this.#fetcher.beat();
      await this.#pulls?.beat();
      await this.#divideSlots();
      this.#onSuccess('beat');
      // Repeats failed notifications, and covers freezes that began and ended between two checks.
      this.#notifyFreezes();
    } catch (error) {
      // After the next interval, other processes may take over the jobs of this process.
      if (clock.now() - this.#succeededAt.beat > this.#timing.heartbeatTimeout - this.#timing.beat) {
        this.#worker.abort('the database cannot be reached');
        this.#pulls?.abort('the database cannot be reached');
      }
      throw error;
    }
  }

  /** Checks for a freeze. Called much more often than other queries, because a frozen fleet must stop writing within a second. */
  async #checkFreeze(): Promise<void> {
    await this.#gate.check();
    this.#onSuccess('freeze');
  }

  #onFreeze(freeze: Freeze | undefined): void {
    const { log } = this.#options;
    this.#notifyFreezes();
    if (freeze === undefined) log.entry('info', 'the fleet was resumed', { event: 'resumed' });
    else log.entry('warning', messageOf(new FleetFrozen(freeze)), { event: 'frozen' });
  }

  #notifyFreezes(): void {
    this.#begin(this.#options.notifyFreezes?.(this.id) ?? Promise.resolve());
  }

  async #removeOldCheckouts(): Promise<void> {
    const { database, sources, log } = this.#options;
    for (const { name } of sources.all) {
      const versions = await versionsInUse(database, name);
      await sources.keep(name, versions, this.#stop.signal).catch((error: unknown) => {
        if (this.#stop.signal.aborted) return;
        const message = `cannot remove old checkouts of the source ${name}: ${messageOf(error)}`;
        log.entry('warning', message, { event: 'checkouts' });
      });
    }
  }

  #begin(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => this.#onFailure(error))
      .finally(() => {
        this.#backgroundWork.delete(done);
      });
    this.#backgroundWork.add(done);
  }

  /** Calls an action repeatedly until the server stops. Waits before each call. */
  #every(milliseconds: number, action: () => Promise<void>, loop?: LoopName): void {
    const scheduleNext = (): void => {
      const cancel = this.#options.clock.after(milliseconds, () => {
        this.#cancels.delete(cancel);
        this.#begin(
          action()
            .catch((error: unknown) => this.#onFailure(error, loop))
            .then(() => (this.#stop.signal.aborted ? undefined : scheduleNext())),
        );
      });
      this.#cancels.add(cancel);
    };
    scheduleNext();
  }

  #onSuccess(loop: LoopName): void {
    this.#succeededAt[loop] = this.#options.clock.now();
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
 * Queues the due workspaces of these sources and sets when they are due next. Both happen in one transaction, so that a workspace runs
 * again even if its job is lost. Returns the number of queued workspaces.
 */
export function scheduleDue(database: FleetDatabase, queue: Queue, sources: readonly string[]): Promise<number> {
  return database.atomically(async (statements) => {
    const jobs = await takeDue(statements, sources);
    await queue.add(jobs, statements);
    return jobs.length;
  });
}
