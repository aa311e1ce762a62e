import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { messageOf } from '../operator/messages.ts';
import { RepeatFilter, type WatchLog } from '../operator/watch-log.ts';
import { UserError } from '../problems/user-error.ts';
import { VERSION } from '../version.ts';
import { setUpTables } from './database/set-up-tables.ts';
import { scheduleDue } from './due.ts';
import type { SourceContents } from './member.ts';
import { brokenProjects } from './members.ts';
import { Queue } from './queue.ts';
import {
  type ClaimedSource,
  claimSources,
  enterContents,
  enterFetchProblem,
  enterRules,
  enterSources,
  fetchedSince,
  hasSeveralBaseUrls,
  removeSources,
  renewClaims,
  unusedPatterns,
  versionsInUse,
} from './rows/member-rows.ts';
import {
  enterProcess,
  removeOldRuns,
  removeProcess,
  removeProcesses,
  type ServingProcess,
} from './rows/process-rows.ts';
import { Worker, type WorkerOptions } from './worker.ts';

export interface ServeOptions extends Omit<WorkerOptions, 'queue' | 'process' | 'ready' | 'onTrouble'> {
  readonly log: WatchLog;
  readonly timing?: Partial<FleetTiming> | undefined;
  /** Milliseconds for which runs stay in the list. */
  readonly retention: number;
}

/** Milliseconds. */
export interface FleetTiming {
  /** Between two looks for what is due, to be taken or to be fetched. */
  readonly tick: number;
  /** Between two signs of life. */
  readonly beat: number;
  /** Without a sign of life after which others take the jobs of a process, which by then has ended its runs. */
  readonly heartbeat: number;
}

const TIMING: FleetTiming = { tick: 1_000, beat: 8_000, heartbeat: 30_000 };
const CLEAN_UP = 3_600_000;
/** Between two looks for checkouts that no workspace needs. */
const KEEP = 60_000;

export class FleetServer {
  readonly #options: ServeOptions;
  readonly #timing: FleetTiming;
  readonly #queue: Queue;
  readonly #worker: Worker;
  readonly #process: ServingProcess;
  readonly #cancels = new Set<() => void>();
  readonly #work = new Set<Promise<void>>();
  readonly #claims = new Set<ClaimedSource>();
  /** Sources that were fetched, or could not be, since this process began: what it has stored of them is by its fleet file. */
  readonly #ready = new Set<string>();
  /** First claims that another process took over. */
  #overtaken: readonly ClaimedSource[] = [];
  readonly #stop = new AbortController();
  #reachedAt: number;
  #tickedAt: number;
  #trouble: string | undefined;
  /** What the log has of sources and their projects. */
  readonly #said = new RepeatFilter();
  /** What the log has of rules. */
  #unused: readonly string[] | undefined;

  /**
   * Makes the tables where they are not there, and begins.
   * @throws UserError where the database cannot be used.
   */
  static async begin(options: ServeOptions): Promise<FleetServer> {
    const { database, sources, log, timeout, grace } = options;
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
    if (database.isEmbedded) await removeProcesses(database);
    const claims = await enterSources(database, sources.all);
    const names = sources.all.map(({ name }) => name);
    await enterRules(database, names, options.rules);
    const server = new FleetServer(options, queue);
    await server.#beat();
    for (const claimed of claims) server.#begin(server.#fetch(claimed));
    server.#every(server.#timing.tick, () => server.#tick());
    server.#every(server.#timing.beat, () => server.#beat());
    server.#every(KEEP, () => server.#keep());
    server.#every(CLEAN_UP, () => removeOldRuns(database, options.retention));
    return server;
  }

  private constructor(options: ServeOptions, queue: Queue) {
    const { clock, slots } = options;
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#queue = queue;
    this.#process = { id: randomUUID(), host: hostname(), pid: process.pid, version: VERSION, slots };
    this.#worker = new Worker({
      ...options,
      queue,
      process: this.#process.id,
      ready: this.#ready,
      onTrouble: (error) => this.#troubled(error),
    });
    this.#reachedAt = clock.now();
    this.#tickedAt = clock.now();
  }

  get id(): string {
    return this.#process.id;
  }

  /** True while it looks for work. */
  get isAlive(): boolean {
    return this.#options.clock.now() - this.#tickedAt < 10 * this.#timing.beat;
  }

  /** True while it reaches the database and begins runs. */
  get isReady(): boolean {
    const silence = this.#options.clock.now() - this.#reachedAt;
    return !this.#stop.signal.aborted && silence < this.#timing.heartbeat;
  }

  /** Begins no more runs, ends those under way, hands back what is not done, and says goodbye. */
  async stop(reason: string): Promise<void> {
    const { database } = this.#options;
    this.#stop.abort(reason);
    for (const cancel of this.#cancels) cancel();
    await Promise.allSettled([
      enterProcess(database, this.#process, { isEnding: true, runs: this.#worker.runs }),
      ...this.#work,
    ]);
    try {
      await this.#worker.stop(reason);
      await removeProcess(database, this.#process.id);
    } catch (error) {
      this.#troubled(error);
    }
    await this.#queue.close();
  }

  async #tick(): Promise<void> {
    const { database, sources } = this.#options;
    this.#tickedAt = this.#options.clock.now();
    const names = sources.all.map(({ name }) => name);
    for (const claimed of await claimSources(database, names)) this.#begin(this.#fetch(claimed));
    for (const name of await fetchedSince(database, this.#overtaken)) this.#settle(name);
    await scheduleDue(database, this.#queue, [...this.#ready]);
    this.#reached();
    // What could not be written, and jobs that others put in.
    await Promise.all([this.#worker.flush(), this.#worker.take()]);
  }

  async #beat(): Promise<void> {
    const { database, clock, sources } = this.#options;
    try {
      await enterProcess(database, this.#process, { isEnding: false, runs: this.#worker.runs });
      await this.#worker.beat();
      if (this.#claims.size > 0) await renewClaims(database, this.#claims);
      this.#worker.isMixed = await hasSeveralBaseUrls(database);
      this.#reached();
      const names = sources.all.map(({ name }) => name);
      await removeSources(database, names);
    } catch (error) {
      // By now another process may begin what runs here.
      if (clock.now() - this.#reachedAt > this.#timing.heartbeat - this.#timing.beat) {
        this.#worker.abort('the database cannot be reached');
      }
      throw error;
    }
  }

  async #fetch(claimed: ClaimedSource): Promise<void> {
    const { database, sources, log } = this.#options;
    const interval = sources.all.find(({ name }) => name === claimed.name)?.interval ?? 0;
    this.#claims.add(claimed);
    try {
      const contents = await sources.discover(claimed.name, this.#stop.signal);
      const entered = await enterContents(database, { claimed, contents, interval });
      if (entered !== 'taken-over') this.#settle(claimed.name);
      else if (!this.#ready.has(claimed.name)) this.#overtaken = [...this.#overtaken, claimed];
      if (this.#said.news(`source ${claimed.name}`, []).gone > 0)
        log.entry('info', `the source ${claimed.name} can be fetched again`, { event: 'fetched' });
      this.#tellBroken(contents);
      if (entered === 'new' || this.#unused === undefined) await this.#tellUnused();
    } catch (error) {
      if (this.#stop.signal.aborted) return await renewClaims(database, [claimed], 0);
      const problem = messageOf(error);
      const message = `cannot fetch the source ${claimed.name}: ${problem}`;
      if (this.#said.news(`source ${claimed.name}`, [problem]).added.length > 0)
        log.entry('warning', message, { event: 'fetch-failed' });
      await enterFetchProblem(database, { claimed, problem, interval });
      this.#settle(claimed.name);
    } finally {
      this.#claims.delete(claimed);
    }
  }

  #tellBroken(contents: SourceContents): void {
    const lines = brokenProjects(contents).map(({ project, problem }) => `cannot use ${project}: ${problem}`);
    for (const line of this.#said.news(`projects of ${contents.source}`, lines).added)
      this.#options.log.entry('warning', line, { event: 'broken-project' });
  }

  #settle(name: string): void {
    this.#ready.add(name);
    this.#overtaken = this.#overtaken.filter((claimed) => claimed.name !== name);
  }

  async #tellUnused(): Promise<void> {
    const { database, rules, log } = this.#options;
    const unused = await unusedPatterns(
      database,
      rules.map(({ pattern }) => pattern),
    );
    for (const pattern of unused) {
      if (this.#unused?.includes(pattern)) continue;
      log.entry('warning', `no workspace has the rule ${JSON.stringify(pattern)}`, { event: 'unused-rule' });
    }
    this.#unused = unused;
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
      .catch((error: unknown) => this.#troubled(error))
      .finally(() => {
        this.#work.delete(done);
      });
    this.#work.add(done);
  }

  /** Does something again and again, each time that long after it was done. */
  #every(milliseconds: number, act: () => Promise<void>): void {
    const again = (): void => {
      const cancel = this.#options.clock.after(milliseconds, () => {
        this.#cancels.delete(cancel);
        this.#begin(
          act()
            .catch((error: unknown) => this.#troubled(error))
            .then(() => (this.#stop.signal.aborted ? undefined : again())),
        );
      });
      this.#cancels.add(cancel);
    };
    again();
  }

  #reached(): void {
    this.#reachedAt = this.#options.clock.now();
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.#options.log.entry('info', 'the database can be used again', { event: 'database-back' });
  }

  #troubled(error: unknown): void {
    const trouble = messageOf(error);
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    const message = error instanceof UserError ? trouble : `cannot use the database: ${trouble}`;
    this.#options.log.entry('error', message, { event: 'database' });
  }
}
