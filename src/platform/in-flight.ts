/** A request in flight. */
export interface Flight {
  readonly since: number;
  /** Request milliseconds of all until then. */
  readonly before: number;
}

/** Counts requests in flight, and tells how many there were on average while one of them was. */
export class InFlight {
  readonly #now: () => number;
  #count = 0;
  /** Milliseconds of all requests together until `#at`. */
  #sum = 0;
  #at = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  begin(): Flight {
    this.#advance();
    this.#count++;
    return { since: this.#at, before: this.#sum };
  }

  /** The mean number of requests in flight since it began, itself included. To be called exactly once. */
  end({ since, before }: Flight): number {
    this.#advance();
    const mean = this.#at > since ? (this.#sum - before) / (this.#at - since) : this.#count;
    this.#count--;
    return mean;
  }

  #advance(): void {
    const now = this.#now();
    this.#sum += this.#count * (now - this.#at);
    this.#at = now;
  }
}
