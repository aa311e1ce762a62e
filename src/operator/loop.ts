import type { Clock } from './clock.ts';

export type Trigger = 'start' | 'interval' | 'retry' | 'files' | 'hangup' | 'request' | 'window' | 'settled';

export interface NextRun {
  /** False if the run must be retried. The pause before the retry is longer after each consecutive failure. */
  readonly healthy: boolean;
  /** An additional run after a delay. If another run starts earlier, the additional run is cancelled. */
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
  /** A run starts when files have not changed for `quiet` milliseconds, but at most `longest` milliseconds after the first change. */
  readonly settling: { readonly quiet: number; readonly longest: number };
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), for the jitter of pauses. */
  random(): number;
  /** Executes a run. The promise must not reject. */
  run(triggers: readonly Trigger[]): Promise<NextRun>;
}

/** Schedules runs, one at a time. Triggers during a run cause one further run. All times are from the given clock. */
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

  /** Starts no further runs until `resume` is called. Triggers that occur in the meantime take effect then. */
  pause(): void {
    this.#paused = true;
  }

  /** Ends the pause and starts a run at once. */
  resume(): void {
    this.#paused = false;
    this.trigger('request');
  }

  /** Requests a run. It starts at once, after the current run, or when files have stopped changing. */
  trigger(trigger: Trigger): void {
    if (this.#stopped) return;
    this.#triggers.add(trigger);
    this.#beginIfFree();
  }

  /** Reports a changed file. Changes in quick succession cause one run. */
  filesChanged(): void {
    if (this.#stopped) return;
    const { clock, settling } = this.#options;
    this.#triggers.add('files');
    this.#firstChange ??= clock.now();
    const remaining = this.#firstChange + settling.longest - clock.now();
    this.#schedule('quiet', Math.max(0, Math.min(settling.quiet, remaining)), () => {
      this.#firstChange = undefined;
      this.#beginIfFree();
    });
  }

  /** True if a file has changed since the last run began. */
  get hasUnreadChanges(): boolean {
    return this.#triggers.has('files');
  }

  /** Starts no further runs. Resolves when the current run has ended. */
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
      ? pauses.interval * (1 + JITTER * (2 * random() - 1))
      : retryPause(pauses, this.#failures, random());
    this.#schedule('next', pause, () => this.trigger(healthy ? 'interval' : 'retry'));
    if (again !== undefined) this.#schedule('again', again.milliseconds, () => this.trigger(again.trigger));
    this.#nextAt = clock.now() + Math.min(pause, again?.milliseconds ?? pause);
    this.#beginIfFree();
  }

  #schedule(name: 'next' | 'again' | 'quiet', milliseconds: number, act: () => void): void {
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

/** The maximum jitter of an interval, as a fraction. It spreads the runs of loops that started at the same time. */
const JITTER = 0.1;

/**
 * Returns the pause in milliseconds after consecutive failures: 50 % to 100 % of a backoff that doubles per failure, up to `maxRetry`.
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
