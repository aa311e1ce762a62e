import type { Clock } from '../../src/operator/clock.ts';

/** A clock that stands still until a test advances it. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly act: () => void }>();

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, act: () => void): () => void {
    const timer = { at: this.#now + milliseconds, act };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Advances the clock. Fires each timer at its time, and waits for the work that it starts. */
  async pass(milliseconds: number): Promise<void> {
    await settled();
    const end = this.#now + milliseconds;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = due.at;
      due.act();
      await settled();
    }
    this.#now = end;
    await settled();
  }

  get waiting(): number {
    return this.#timers.size;
  }
}

/** Runs all pending microtasks and callbacks. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}
