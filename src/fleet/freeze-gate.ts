import { FleetFrozen } from '../operator/messages.ts';
import type { WritePermission } from '../platform/client.ts';
import { UserError } from '../problems/user-error.ts';
import { shareRun } from '../values/lazy.ts';
import type { Freeze } from './rows/freeze-rows.ts';

/** Milliseconds between two queries for a freeze. */
export const FREEZE_CHECK_INTERVAL_MS = 250;
/** The time in milliseconds for which the result of a query permits writes. A frozen fleet must stop writing within a second. */
const MAX_AGE_MS = 700;
/** The maximum number of queries for one write. If every result arrives too late, the database is too slow. */
const MAX_CHECKS = 10;

interface FreezeGateOptions {
  current(): Promise<Freeze | undefined>;
  /** Returns the current time in milliseconds. */
  now(): number;
  /** Called when a freeze begins or ends. */
  onChange(freeze: Freeze | undefined): void;
}

/** Permits writes only after a recent query found no freeze. Refuses writes while the database cannot be reached. */
export class FreezeGate implements WritePermission {
  readonly #options: FreezeGateOptions;
  /** The time at which the last successful query was sent, in milliseconds. */
  #queriedAt = Number.NEGATIVE_INFINITY;
  #freeze: Freeze | undefined;
  #frozen = new AbortController();

  constructor(options: FreezeGateOptions) {
    this.#options = options;
  }

  /** Aborted with a `FleetFrozen` while the fleet is frozen. A run keeps its signal, so it writes nothing after the freeze either. */
  get frozen(): AbortSignal {
    return this.#frozen.signal;
  }

  get mayWrite(): boolean {
    return this.#freeze === undefined && this.#options.now() - this.#queriedAt < MAX_AGE_MS;
  }

  async renew(): Promise<void> {
    for (let checks = 0; !this.mayWrite; checks++) {
      if (checks === MAX_CHECKS) throw new UserError('the database responds too slowly for safe writes');
      await this.check();
      if (this.#freeze !== undefined) throw new FleetFrozen(this.#freeze);
    }
  }

  /** Queries the current freeze now. */
  readonly check = shareRun(() => this.#query());

  async #query(): Promise<void> {
    const { current, now, onChange } = this.#options;
    const queriedAt = now();
    const freeze = await current();
    this.#queriedAt = queriedAt;
    const isChanged = freeze?.at !== this.#freeze?.at;
    this.#freeze = freeze;
    if (!isChanged) return;
    if (this.#frozen.signal.aborted) this.#frozen = new AbortController();
    if (freeze !== undefined) this.#frozen.abort(new FleetFrozen(freeze));
    onChange(freeze);
  }
}
