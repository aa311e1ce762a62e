/** A moment by both clocks of this machine, in milliseconds. */
interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * How long ago a run renewed its lock, by the clock that shows more: the monotonic clock may stop while the machine sleeps, and the wall
 * clock may be set back.
 */
export class LockAge {
  readonly #now: () => Date;
  readonly #longest: number;
  #renewed: Moment | undefined;

  /** @param takeover milliseconds of silence after which others take the lock over. */
  constructor(now: () => Date, takeover: number) {
    this.#now = now;
    this.#longest = takeover / 2;
  }

  /** To be taken before a renewal begins: others may count the silence from any moment after it. */
  moment(): Moment {
    return { monotonic: performance.now(), wall: this.#now().getTime() };
  }

  renewedAt(moment: Moment): void {
    this.#renewed = moment;
  }

  get milliseconds(): number {
    if (this.#renewed === undefined) return Number.POSITIVE_INFINITY;
    const { monotonic, wall } = this.moment();
    return Math.max(monotonic - this.#renewed.monotonic, wall - this.#renewed.wall);
  }

  /** True while the last renewal is at most half of the takeover time ago. */
  get isRecent(): boolean {
    return this.milliseconds <= this.#longest;
  }
}
