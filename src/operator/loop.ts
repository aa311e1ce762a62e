import type { Clock } from './clock.ts';

/** What makes a run begin. */
export type Trigger = 'start' | 'interval' | 'retry' | 'files' | 'hangup' | 'request' | 'window' | 'settled';

export interface NextRun {
  /** False: the next run comes after a pause that grows with every failed one. */
  readonly healthy: boolean;
  /** A run that is due at a time of its own, unless another comes first. */
  readonly again?: { readonly trigger: Trigger; readonly milliseconds: number } | undefined;
}

/** How runs are spaced, in milliseconds. */
export interface Pauses {
  readonly interval: number;
  /** After the first failed run; it doubles with each further one. */
  readonly firstRetry: number;
  readonly longestRetry: number;
}

export interface LoopOptions {
  readonly clock: Clock;
  readonly pauses: Pauses;
  /** Files that change are left alone until nothing has changed for `quiet` milliseconds, but no longer than `longest`. */
  readonly settling: { readonly quiet: number; readonly longest: number };
  /** From 0 to 1: how pauses are spread. */
  random(): number;
  /** Must not reject. */
  run(triggers: readonly Trigger[]): Promise<NextRun>;
}

/**
 * When runs happen: one at a time, and one more where anything was asked for meanwhile. It knows nothing of what a run does, and
 * reads no clock but the one it is given.
 */
export class Loop {
  readonly #options: LoopOptions;
  readonly #asked = new Set<Trigger>();
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

  /** Runs that failed in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Milliseconds until the next run that is planned; undefined during a run, while paused and after the end. */
  get untilNext(): number | undefined {
    if (this.#nextAt === undefined || this.#paused) return undefined;
    return Math.max(0, this.#nextAt - this.#options.clock.now());
  }

  /** Begins no run until it is resumed; what was asked for meanwhile is run then. */
  pause(): void {
    this.#paused = true;
  }

  /** Begins a run at once. */
  resume(): void {
    this.#paused = false;
    this.trigger('request');
  }

  /** Asks for a run: at once, or after the one that is under way, or when files that are changing have settled. */
  trigger(trigger: Trigger): void {
    if (this.#stopped) return;
    this.#asked.add(trigger);
    this.#beginIfFree();
  }

  /** Tells of a file that changed. Many changes make one run. */
  filesChanged(): void {
    if (this.#stopped) return;
    const { clock, settling } = this.#options;
    this.#asked.add('files');
    this.#firstChange ??= clock.now();
    const left = this.#firstChange + settling.longest - clock.now();
    this.#time('quiet', Math.max(0, Math.min(settling.quiet, left)), () => {
      this.#firstChange = undefined;
      this.#beginIfFree();
    });
  }

  /** True while files are changing or have changed in a way that no run has taken up yet. */
  get hasNews(): boolean {
    return this.#asked.has('files');
  }

  /** Begins no further run. Resolves when the one under way has come to its end. */
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
    if (this.#asked.size === 0 || this.#timers.has('quiet')) return;
    const triggers = [...this.#asked];
    this.#asked.clear();
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
    const pause = healthy ? intervalPause(pauses, random()) : retryPause(pauses, this.#failures, random());
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

/** Share by which an interval may be longer or shorter, so that many loops started at once drift apart. */
const SPREAD = 0.1;

/** @param random from 0 to 1. */
function intervalPause({ interval }: Pauses, random: number): number {
  return interval * (1 + SPREAD * (2 * random - 1));
}

/**
 * The pause after that many failed runs in a row: between half and the whole of a time that doubles up to its cap.
 * @param failures from 1.
 * @param random from 0 to 1.
 */
export function retryPause(
  { firstRetry, longestRetry }: Pick<Pauses, 'firstRetry' | 'longestRetry'>,
  failures: number,
  random: number,
): number {
  const whole = Math.min(longestRetry, firstRetry * 2 ** Math.min(failures - 1, 40));
  return whole * (0.5 + random / 2);
}
