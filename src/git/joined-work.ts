interface Running<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** An operation that concurrent callers share. It is cancelled when the last caller stops waiting. */
export class JoinedWork<T> {
  readonly #work: (signal: AbortSignal) => Promise<T>;
  #running: Running<T> | undefined;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#work = work;
  }

  /**
   * Waits for the operation in progress, or starts one.
   * @throws the signal's reason if the signal aborts while other callers still wait; otherwise the error of the operation.
   */
  async join(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    this.#running ??= this.#begin();
    const running = this.#running;
    running.waiting++;
    const cancelled = Promise.withResolvers<never>();
    const cancel = (): void => {
      running.waiting--;
      if (running.waiting > 0) cancelled.reject(signal.reason);
      else {
        this.#forget(running);
        running.stop.abort(signal.reason);
      }
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await Promise.race([running.result, cancelled.promise]);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  #begin(): Running<T> {
    const stop = new AbortController();
    const running = { result: this.#work(stop.signal), stop, waiting: 0 };
    running.result.catch(() => undefined).finally(() => this.#forget(running));
    return running;
  }

  /** Makes the next call of `join` start a new operation. */
  #forget(running: Running<T>): void {
    if (this.#running === running) this.#running = undefined;
  }
}
