/** A request as it came in. The body is there when it was JSON; a provider key in it is replaced. Headers are not kept. */
export interface ReceivedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
}

/** Beyond this the oldest requests are dropped: an emulator may run for days. */
const MOST_KEPT = 200_000;

/** The requests to the API, oldest first; those to the dashboard are not among them. */
export class RequestLog {
  #entries: ReceivedRequest[] = [];

  get entries(): readonly ReceivedRequest[] {
    return this.#entries;
  }

  add(request: ReceivedRequest): void {
    if (this.#entries.length >= MOST_KEPT) this.#entries = this.#entries.slice(MOST_KEPT / 2);
    this.#entries.push(request);
  }

  clear(): void {
    this.#entries = [];
  }
}
