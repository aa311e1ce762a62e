import type { Dispatcher } from 'undici';
import { type ConnectOptions, Pools, poolFor } from './connection.ts';
import type { Method } from './retry.ts';

/** A limit on concurrent requests and connections that several clients share. If they use several platforms, each gets at most half. */
export class JointLimit {
  readonly #max: number;
  readonly #slotsInUse = new Map<string, number>();
  readonly #waiting: { readonly origin: string; grant(): void }[] = [];
  readonly #pools = new Pools();
  #inFlight = 0;
  #isMixed = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** True if the clients use platforms on several origins. */
  set isMixed(isMixed: boolean) {
    this.#isMixed = isMixed;
    this.#grantSlots();
  }

  /** The maximum number of slots for one platform. */
  get maxPerPlatform(): number {
    return this.#isMixed ? Math.max(1, Math.floor(this.#max / 2)) : this.#max;
  }

  /**
   * Waits for a slot. Release it exactly once.
   * @param origin the origin of the platform.
   * @throws the reason of a signal that aborts first. In this case, there is no slot to release.
   */
  async take(origin: string, signals: readonly AbortSignal[]): Promise<void> {
    if (this.#isFree(origin)) return this.#grant(origin);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { origin, grant: resolve };
    this.#waiting.push(waiting);
    const signal = AbortSignal.any([...signals]);
    const stopWaiting = (): void => {
      const index = this.#waiting.indexOf(waiting);
      if (index !== -1) this.#waiting.splice(index, 1);
      reject(signal.reason);
    };
    signal.addEventListener('abort', stopWaiting, { once: true });
    if (signal.aborted) stopWaiting();
    await promise.finally(() => signal.removeEventListener('abort', stopWaiting));
  }

  release(origin: string): void {
    this.#inFlight--;
    const remaining = (this.#slotsInUse.get(origin) ?? 0) - 1;
    if (remaining > 0) this.#slotsInUse.set(origin, remaining);
    else this.#slotsInUse.delete(origin);
    this.#grantSlots();
  }

  /**
   * Returns connections for reads, which successive clients share. Writes do not use them: if the server had closed an idle connection, it
   * would be unknown whether a write was executed.
   * @internal
   */
  reads(origin: string, connectOptions: Omit<ConnectOptions, 'connections'>): Promise<Dispatcher> {
    return this.#pools.to(origin, { ...connectOptions, connections: this.#max });
  }

  async close(): Promise<void> {
    await this.#pools.close();
  }

  #isFree(origin: string): boolean {
    return this.#inFlight < this.#max && (this.#slotsInUse.get(origin) ?? 0) < this.maxPerPlatform;
  }

  #grant(origin: string): void {
    this.#inFlight++;
    this.#slotsInUse.set(origin, (this.#slotsInUse.get(origin) ?? 0) + 1);
  }

  /** Grants free slots to the first waiting requests that may use them. */
  #grantSlots(): void {
    for (;;) {
      const index = this.#waiting.findIndex(({ origin }) => this.#isFree(origin));
      const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
      if (next === undefined) return;
      this.#grant(next.origin);
      next.grant();
    }
  }
}

/** The connections of one client. Read connections may be shared with other clients. */
export class Connections {
  readonly #open: () => Promise<Dispatcher>;
  readonly #shared: Promise<Dispatcher> | undefined;
  #own: Promise<Dispatcher> | undefined;

  constructor(origin: string, connectOptions: ConnectOptions, shared: JointLimit | undefined) {
    this.#open = () => poolFor(origin, connectOptions);
    this.#shared = shared?.reads(origin, connectOptions);
    if (shared === undefined) this.#own = this.#open();
  }

  for(method: Method): Promise<Dispatcher> {
    if (method === 'GET' && this.#shared !== undefined) return this.#shared;
    this.#own ??= this.#open();
    return this.#own;
  }

  /** Closes the connections that are not shared. */
  async close(): Promise<void> {
    await (await this.#own?.catch(() => undefined))?.destroy();
  }
}
