import { FleetFrozen } from '../operator/messages.ts';
import type { WritePermission } from '../platform/client.ts';
import { UserError } from '../problems/user-error.ts';
import type { Freeze } from './rows/freeze-rows.ts';

/** Milliseconds between two queries for a freeze. */
export const FREEZE_CHECK = 250;
/** Milliseconds after which an answer is too old to write on it: nothing may be written a second after the fleet was frozen. */
const TRUSTED = 700;
/** Queries before one write: a database that needs longer for each is too slow. */
const MAX_CHECKS = 10;

interface FreezeGateOptions {
  current(): Promise<Freeze | undefined>;
  /** Milliseconds. */
  now(): number;
  /** Called when a freeze begins or ends. */
  onChange(freeze: Freeze | undefined): void;
}

/** Permits writes while the fleet is known not to be frozen. Without the database, nothing is known. */
export class FreezeGate implements WritePermission {
  readonly #options: FreezeGateOptions;
  /** When the query for the last answer was sent. */
  #askedAt = Number.NEGATIVE_INFINITY;
  #freeze: Freeze | undefined;
  #frozen = new AbortController();
  #check: Promise<void> | undefined;

  constructor(options: FreezeGateOptions) {
    this.#options = options;
  }

  /** Aborted, with a `FleetFrozen`, while the fleet is frozen. A run keeps the signal of its beginning: it writes nothing after a freeze. */
  get frozen(): AbortSignal {
    return this.#frozen.signal;
  }

  get mayWrite(): boolean {
    return this.#freeze === undefined && this.#options.now() - this.#askedAt < TRUSTED;
  }

  async renew(): Promise<void> {
    for (let checks = 0; !this.mayWrite; checks++) {
      if (checks === MAX_CHECKS) throw new UserError('the database answers too slowly to write safely');
      await this.check();
      if (this.#freeze !== undefined) throw new FleetFrozen(this.#freeze);
    }
  }

  /** Queries now; overlapping calls share one query. */
  check(): Promise<void> {
    this.#check ??= this.#ask().finally(() => {
      this.#check = undefined;
    });
    return this.#check;
  }

  async #ask(): Promise<void> {
    const { current, now, onChange } = this.#options;
    const askedAt = now();
    const freeze = await current();
    this.#askedAt = askedAt;
    const isNew = freeze?.at !== this.#freeze?.at;
    this.#freeze = freeze;
    if (!isNew) return;
    if (this.#frozen.signal.aborted) this.#frozen = new AbortController();
    if (freeze !== undefined) this.#frozen.abort(new FleetFrozen(freeze));
    onChange(freeze);
  }
}
