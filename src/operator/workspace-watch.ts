import { once } from 'node:events';
import type { OpenWorkspace } from '../runs/open-workspace.ts';
import type { RunContext } from '../runs/run-context.ts';
import type { Clock } from './clock.ts';
import { GracefulShutdown } from './graceful-shutdown.ts';
import type { InputFiles } from './last-load.ts';
import { LastGoodManifests, type LastGoodOptions } from './load-version.ts';
import { Loop, type LoopOptions, type NextRun, type Trigger } from './loop.ts';
import { Reconciler, type WatchPolicy } from './reconciler.ts';
import { RunLogger } from './run-logger.ts';
import { isHealthy, millisecondsUntilWindow, type RunObserver, type RunReport } from './run-report.ts';
import type { WatchLog } from './watch-log.ts';

export interface FileWatch {
  /** Watches the files. Returns true if additional files are watched. They may have changed since the load, so load again. */
  watch(inputs: InputFiles): Promise<boolean>;
  close(): Promise<void>;
}

/** Aborting `interrupts.stop` of the context ends the watch. */
export interface WatchOptions extends Pick<LastGoodOptions, 'context' | 'source' | 'local'> {
  readonly log: WatchLog;
  readonly policy: WatchPolicy;
  readonly clock: Clock;
  readonly timing: Pick<LoopOptions, 'pauses' | 'settling' | 'random'> & {
    /** Milliseconds for which a resource must be missing from the manifests before it is released. */
    readonly removalDelay: number;
    /** Milliseconds for which requests in flight may continue during shutdown. */
    readonly grace: number;
  };
  readonly observers: readonly RunObserver[];
  /** Creates the file watcher, which calls `changed` for each changed file. */
  watchFiles(changed: () => void): FileWatch;
}

export interface WatchStatus {
  readonly running: boolean;
  readonly ending: boolean;
  readonly runs: number;
  /** Consecutive failed runs. */
  readonly failures: number;
  readonly secondsUntilNext: number | undefined;
  readonly last: RunReport | undefined;
  readonly lastOk: RunReport | undefined;
  readonly paused: Pause | undefined;
}

interface Pause {
  readonly at: Date;
  readonly by: string;
  readonly because: string | null;
}

/** Reconciles the platform with the manifests of a workspace, or only reports the differences, until stopped. */
export class Watch {
  readonly #options: WatchOptions;
  readonly #loop: Loop;
  readonly #shutdown: GracefulShutdown;
  readonly #files: FileWatch;
  readonly #reconciler: Reconciler;
  readonly #observers: readonly RunObserver[];
  readonly #manifests: LastGoodManifests;
  readonly #askedBy = new Set<string>();
  #runs = 0;
  #running = false;
  #last: RunReport | undefined;
  #lastOk: RunReport | undefined;
  #paused: Pause | undefined;

  constructor(options: WatchOptions) {
    const { clock, timing, source, policy, local, log } = options;
    this.#options = options;
    this.#shutdown = new GracefulShutdown(options.context.interrupts.stop, { clock, graceMs: timing.grace });
    const context: RunContext = { ...options.context, interrupts: this.#shutdown };
    this.#files = options.watchFiles(() => this.#loop.filesChanged());
    this.#loop = new Loop({ ...timing, clock, run: (triggers) => this.#run(triggers) });
    this.#observers = [new RunLogger(log), ...options.observers];
    this.#manifests = new LastGoodManifests({
      context,
      source,
      local,
      watchFiles: (inputs) => this.#files.watch(inputs),
    });
    this.#reconciler = new Reconciler({
      context,
      shutdown: this.#shutdown,
      clock,
      policy,
      operation: 'watch',
      maxBusy: 2 * timing.pauses.interval,
      removalDelay: source.isAtomic ? 0 : timing.removalDelay,
      hasUnreadChanges: () => !source.isAtomic && this.#loop.hasUnreadChanges,
      origin: ({ version }) => source.originOf(version),
      manifests: this.#manifests,
    });
  }

  /** Runs until stopped. Resolves to false if the grace period was too short. */
  async untilStopped(): Promise<boolean> {
    const { stop } = this.#shutdown;
    this.#loop.trigger('start');
    if (!stop.aborted) await once(stop, 'abort');
    await this.#loop.stop();
    await this.#files.close();
    this.#shutdown.done();
    return !this.#shutdown.overdue;
  }

  /** Requests a run. @param by the person who requests it. */
  trigger(trigger: Trigger, by?: string): void {
    if (by !== undefined) this.#askedBy.add(by);
    this.#loop.trigger(trigger);
  }

  /** Starts no further runs until `resume` is called. */
  pause(by: string, because: string | null): void {
    this.#paused ??= { at: this.#options.context.now(), by, because };
    this.#loop.pause();
    for (const observer of this.#observers) observer.paused?.(true);
  }

  /** Ends the pause and starts a run at once. */
  resume(by: string): void {
    this.#paused = undefined;
    this.#askedBy.add(by);
    for (const observer of this.#observers) observer.paused?.(false);
    this.#loop.resume();
  }

  /** The workspace with the last valid manifests; undefined if there are none yet. */
  get opened(): OpenWorkspace | undefined {
    return this.#manifests.loaded?.opened;
  }

  get status(): WatchStatus {
    const remaining = this.#loop.untilNext;
    return {
      running: this.#running,
      ending: this.#shutdown.stop.aborted,
      runs: this.#runs,
      failures: this.#loop.failures,
      secondsUntilNext: remaining === undefined ? undefined : remaining / 1000,
      last: this.#last,
      lastOk: this.#lastOk,
      paused: this.#paused,
    };
  }

  async #run(triggers: readonly Trigger[]): Promise<NextRun> {
    this.#runs += 1;
    this.#running = true;
    for (const observer of this.#observers) observer.began?.();
    const askedBy = [...this.#askedBy];
    this.#askedBy.clear();
    const report = await this.#reconciler.run({ number: this.#runs, triggers, askedBy });
    this.#running = false;
    this.#last = report;
    if (report.result === 'ok') this.#lastOk = report;
    for (const observer of this.#observers) observer.finished(report);
    return this.#nextRun(report);
  }

  #nextRun(report: RunReport): NextRun {
    const { timing, context } = this.#options;
    const healthy = isHealthy(report.result);
    if (report.hold?.reason === 'leaving')
      return { healthy, again: { trigger: 'settled', milliseconds: timing.removalDelay } };
    const milliseconds = millisecondsUntilWindow(report, context.now());
    return milliseconds === undefined ? { healthy } : { healthy, again: { trigger: 'window', milliseconds } };
  }
}
