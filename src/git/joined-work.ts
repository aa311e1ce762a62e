interface Running<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** Work that several callers await. It is cancelled when the last of them stops waiting. */
export class JoinedWork<T> {
  readonly #work: (signal: AbortSignal) => Promise<T>;
  #running: Running<T> | undefined;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#work = work;
  }

  /**
   * Joins the running work, or starts it.
   * @throws the reason of the signal, while others still wait; otherwise the error of the work.
   */
  async join(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    this.#running ??= this.#begin();
    const running = this.#running;
    running.waiting++;
    const left = Promise.withResolvers<never>();
    const leave = (): void => {
      running.waiting--;
      if (running.waiting > 0) left.reject(signal.reason);
      else {
        this.#forget(running);
        running.stop.abort(signal.reason);
      }
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([running.result, left.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #begin(): Running<T> {
    const stop = new AbortController();
    const running = { result: this.#work(stop.signal), stop, waiting: 0 };
    running.result.catch(() => undefined).finally(() => this.#forget(running));
    return running;
  }

  /** Makes the next caller begin new work. */
  #forget(running: Running<T>): void {
    if (this.#running === running) this.#running = undefined;
  }
}
