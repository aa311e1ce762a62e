export interface Flight {
  /** The start time of the request, in milliseconds. */
  readonly since: number;
  /** The total duration of all requests until `since`, in milliseconds. */
  readonly before: number;
}

/** Tracks the mean number of requests in flight. */
export class InFlight {
  readonly #now: () => number;
  #count = 0;
  /** The total duration of all requests until `#at`, in milliseconds. */
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

  /** Returns the mean number of requests in flight since this request began, including this request. Must be called once per request. */
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
