import type { Dispatcher } from 'undici';
import { type Connecting, poolFor } from './connection.ts';
import type { JointLimit } from './joint-limit.ts';
import type { Method } from './retry.ts';

/** The connections of one client, which may share those of its reads with others. */
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

  /** Ends those that nobody else has. */
  async close(): Promise<void> {
    await (await this.#own?.catch(() => undefined))?.destroy();
  }
}
