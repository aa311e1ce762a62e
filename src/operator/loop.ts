import type { Clock } from './clock.ts';

export type Trigger = 'start' | 'interval' | 'retry' | 'files' | 'hangup' | 'request' | 'window' | 'settled';

export interface NextRun {
  /** True if the run succeeded. After a failure, the next run is a retry, with a longer pause after each further failure. */
  readonly healthy: boolean;
  /** The time of an extra run. Any earlier run replaces it. */
  readonly again?: { readonly trigger: Trigger; readonly milliseconds: number } | undefined;
}

/** The timing of runs, in milliseconds. */
export interface Pauses {
  readonly interval: number;
  /** The pause after the first failure. It doubles with each further failure. */
  readonly firstRetry: number;
  readonly maxRetry: number;
}

export interface LoopOptions {
  readonly clock: Clock;
  readonly pauses: Pauses;
  /** Changed files are read after `quiet` milliseconds without a change, but at the latest after `longest` milliseconds. */
  readonly settling: { readonly quiet: number; readonly longest: number };
  /** Returns a number from 0 to below 1, the jitter of the pauses. */
  random(): number;
  /** Must not reject. */
  run(triggers: readonly Trigger[]): Promise<NextRun>;
}

/**
 * Schedules runs: one at a time, and one more if a trigger occurred meanwhile. Uses only the given clock.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #triggers = new Set<Trigger>();
  readonly #timers = new Map<'next' | 'again' | 'quiet', () => void>();
  readonly #ended = Promise.withResolvers<void>();
  #running = false;
  #stopped = false;
  #paused = false;
  #failures = 0;
  #firstChange: number | undefined;
  #nextAt: number | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Consecutive failed runs. */
  get failures(): number {
    return this.#failures;
  }

  /** Milliseconds until the next scheduled run; undefined during a run, while paused and after `stop`. */
  get untilNext(): number | undefined {
    if (this.#nextAt === undefined || this.#paused) return undefined;
    return Math.max(0, this.#nextAt - this.#options.clock.now());
  }

  /** Starts no run until resumed. Requests made meanwhile are executed then. */
  pause(): void {
    this.#paused = true;
  }

  /** Starts a run at once. */
  resume(): void {
    this.#paused = false;
    this.trigger('request');
  }

  /** Requests a run: at once, after the current one, or when files have stopped changing. */
  trigger(trigger: Trigger): void {
    if (this.#stopped) return;
    this.#triggers.add(trigger);
    this.#beginIfFree();
  }

  /** Reports a changed file. Many changes cause one run. */
  filesChanged(): void {
    if (this.#stopped) return;
    const { clock, settling } = this.#options;
    this.#triggers.add('files');
    this.#firstChange ??= clock.now();
    const remaining = this.#firstChange + settling.longest - clock.now();
    this.#time('quiet', Math.max(0, Math.min(settling.quiet, remaining)), () => {
      this.#firstChange = undefined;
      this.#beginIfFree();
    });
  }

  /** True if a file has changed since the last run began. */
  get hasUnreadChanges(): boolean {
    return this.#triggers.has('files');
  }

  /** Starts no further run. Resolves when the current one has ended. */
  stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#nextAt = undefined;
    if (!this.#running) this.#ended.resolve();
    return this.#ended.promise;
  }

  #beginIfFree(): void {
    if (this.#stopped || this.#paused || this.#running) return;
    if (this.#triggers.size === 0 || this.#timers.has('quiet')) return;
    const triggers = [...this.#triggers];
    this.#triggers.clear();
    this.#running = true;
    this.#cancel('next');
    this.#cancel('again');
    this.#nextAt = undefined;
    void this.#options.run(triggers).then((next) => this.#finish(next));
  }

  #finish({ healthy, again }: NextRun): void {
    this.#running = false;
    if (this.#stopped) {
      this.#ended.resolve();
      return;
    }
    const { pauses, random, clock } = this.#options;
    this.#failures = healthy ? 0 : this.#failures + 1;
    const pause = healthy
      ? pauses.interval * (1 + SPREAD * (2 * random() - 1))
      : retryPause(pauses, this.#failures, random());
    this.#time('next', pause, () => this.trigger(healthy ? 'interval' : 'retry'));
    if (again !== undefined) this.#time('again', again.milliseconds, () => this.trigger(again.trigger));
    this.#nextAt = clock.now() + Math.min(pause, again?.milliseconds ?? pause);
    this.#beginIfFree();
  }

  #time(name: 'next' | 'again' | 'quiet', milliseconds: number, act: () => void): void {
    this.#cancel(name);
    const cancel = this.#options.clock.after(milliseconds, () => {
      this.#timers.delete(name);
      act();
    });
    this.#timers.set(name, cancel);
  }

  #cancel(name: 'next' | 'again' | 'quiet'): void {
    this.#timers.get(name)?.();
    this.#timers.delete(name);
  }
}

/** The maximum deviation of an interval, as a fraction. It spreads loops that start at the same time. */
const SPREAD = 0.1;

/**
 * Returns the pause after consecutive failures: from 50 % to 100 % of a time that doubles with each failure, up to a maximum.
 * @param failures starts at 1.
 * @param random between 0 and 1.
 */
export function retryPause(
  { firstRetry, maxRetry }: Pick<Pauses, 'firstRetry' | 'maxRetry'>,
  failures: number,
  random: number,
): number {
  const maxPause = Math.min(maxRetry, firstRetry * 2 ** Math.min(failures - 1, 40));
  return maxPause * (0.5 + random / 2);
}
