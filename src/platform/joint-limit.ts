import type { Dispatcher } from 'undici';
import { type Connecting, Pools, poolFor } from './connection.ts';
import type { Method } from './retry.ts';

/** Requests in flight, and connections, that several clients share. Of several platforms, none ever has more than half. */
export class JointLimit {
  readonly #most: number;
  readonly #held = new Map<string, number>();
  readonly #waiting: { readonly origin: string; grant(): void }[] = [];
  readonly #pools = new Pools();
  #inFlight = 0;
  #isMixed = false;

  constructor(most: number) {
    this.#most = most;
  }

  /** Says whether the clients are of platforms on several origins. */
  set isMixed(isMixed: boolean) {
    this.#isMixed = isMixed;
    this.#hand();
  }

  /** Places that one platform may have. */
  get mostOfOne(): number {
    return this.#isMixed ? Math.max(1, Math.floor(this.#most / 2)) : this.#most;
  }

  /**
   * A place for a request, to be given back with `release` exactly once.
   * @param origin of the platform.
   * @throws the reason of a signal that aborts first: then there is nothing to give back.
   */
  async take(origin: string, signals: readonly AbortSignal[]): Promise<void> {
    if (this.#isFree(origin)) return this.#grant(origin);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { origin, grant: resolve };
    this.#waiting.push(waiting);
    const signal = AbortSignal.any([...signals]);
    const leave = (): void => {
      const place = this.#waiting.indexOf(waiting);
      if (place !== -1) this.#waiting.splice(place, 1);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  release(origin: string): void {
    this.#inFlight--;
    const left = (this.#held.get(origin) ?? 0) - 1;
    if (left > 0) this.#held.set(origin, left);
    else this.#held.delete(origin);
    this.#hand();
  }

  /**
   * Connections for reads, which last from one client to the next. A write never finds its connection closed by the other side: nobody
   * could say then whether it was carried out.
   * @internal
   */
  reads(origin: string, connecting: Omit<Connecting, 'connections'>): Promise<Dispatcher> {
    return this.#pools.to(origin, { ...connecting, connections: this.#most });
  }

  /** Ends the connections. */
  async close(): Promise<void> {
    await this.#pools.close();
  }

  #isFree(origin: string): boolean {
    return this.#inFlight < this.#most && (this.#held.get(origin) ?? 0) < this.mostOfOne;
  }

  #grant(origin: string): void {
    this.#inFlight++;
    this.#held.set(origin, (this.#held.get(origin) ?? 0) + 1);
  }

  /** To whoever came first of those who may have one. */
  #hand(): void {
    for (;;) {
      const place = this.#waiting.findIndex(({ origin }) => this.#isFree(origin));
      const [next] = place === -1 ? [] : this.#waiting.splice(place, 1);
      if (next === undefined) return;
      this.#grant(next.origin);
      next.grant();
    }
  }
}

/** The connections of one client, which may share those for reads with other clients. */
export class Connections {
  readonly #begin: () => Promise<Dispatcher>;
  readonly #shared: Promise<Dispatcher> | undefined;
  #own: Promise<Dispatcher> | undefined;

  constructor(origin: string, connecting: Connecting, shared: JointLimit | undefined) {
    this.#begin = () => poolFor(origin, connecting);
    this.#shared = shared?.reads(origin, connecting);
    if (shared === undefined) this.#own = this.#begin();
  }

  for(method: Method): Promise<Dispatcher> {
    if (method === 'GET' && this.#shared !== undefined) return this.#shared;
    this.#own ??= this.#begin();
    return this.#own;
  }

  /** Closes the connections that are not shared. */
  async close(): Promise<void> {
    await (await this.#own?.catch(() => undefined))?.destroy();
  }
}
