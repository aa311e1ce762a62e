import type { Dispatcher } from 'undici';
import { type ConnectOptions, Pools, poolFor } from './connection.ts';
import type { Method } from './retry.ts';

/** A limit of concurrent requests, and connections, that several clients share. With several platforms, none gets more than half. */
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

  /** True if the clients use platforms on several origins. */
  set isMixed(isMixed: boolean) {
    this.#isMixed = isMixed;
    this.#grantSlots();
  }

  /** The maximum number of slots for one platform. */
  get maxPerPlatform(): number {
    return this.#isMixed ? Math.max(1, Math.floor(this.#most / 2)) : this.#most;
  }

  /**
   * Waits for a slot. Release it exactly once.
   * @param origin of the platform.
   * @throws the reason of a signal that aborts first: then there is no slot to release.
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
    this.#grantSlots();
  }

  /**
   * Connections for reads, shared by successive clients. Writes do not use them: if the server closed an idle connection, it would be
   * unknown whether a write was executed.
   * @internal
   */
  reads(origin: string, connecting: Omit<ConnectOptions, 'connections'>): Promise<Dispatcher> {
    return this.#pools.to(origin, { ...connecting, connections: this.#most });
  }

  async close(): Promise<void> {
    await this.#pools.close();
  }

  #isFree(origin: string): boolean {
    return this.#inFlight < this.#most && (this.#held.get(origin) ?? 0) < this.maxPerPlatform;
  }

  #grant(origin: string): void {
    this.#inFlight++;
    this.#held.set(origin, (this.#held.get(origin) ?? 0) + 1);
  }

  /** Gives free slots to the first eligible waiters. */
  #grantSlots(): void {
    for (;;) {
      const place = this.#waiting.findIndex(({ origin }) => this.#isFree(origin));
      const [next] = place === -1 ? [] : this.#waiting.splice(place, 1);
      if (next === undefined) return;
      this.#grant(next.origin);
      next.grant();
    }
  }
}

/** The connections of one client. Those for reads may be shared with other clients. */
export class Connections {
  readonly #begin: () => Promise<Dispatcher>;
  readonly #shared: Promise<Dispatcher> | undefined;
  #own: Promise<Dispatcher> | undefined;

  constructor(origin: string, connecting: ConnectOptions, shared: JointLimit | undefined) {
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
