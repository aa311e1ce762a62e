import type { PlanDocument } from '../engine/plan/plan-document.ts';
import type { State } from '../state/state.ts';
import type { MissingResource } from './run-report.ts';

export function missingIn({ resources }: PlanDocument): MissingResource[] {
  return resources
    .filter(({ missing }) => missing === true)
    .map(({ address, id, missing_since }) => ({ address, id, since: missing_since }));
}

/** Remembers since when records are missing, in a process that stores nothing. */
export class MissingSince {
  #since: ReadonlyMap<string, string>;

  /** @param missing the result of an earlier run. */
  constructor(missing: readonly MissingResource[] = []) {
    this.#since = new Map(
      missing.flatMap(({ address, id, since }) => (since === undefined ? [] : [[keyOf(address, id), since]])),
    );
  }

  /** Remembers the result of a run. */
  note(missing: readonly MissingResource[], at: Date): void {
    this.#since = new Map(
      missing.map(({ address, id, since }) => {
        const key = keyOf(address, id);
        return [key, since ?? this.#since.get(key) ?? at.toISOString()];
      }),
    );
  }

  /** The state with the remembered times. */
  in(state: State): State {
    if (this.#since.size === 0) return state;
    // Not spread: a state may be an object of a class with getters.
    const { lineage, serial, salt, workspaceId, pending, orphans } = state;
    const resources = new Map(
      [...state.resources].map(([address, entry]) => {
        const since = this.#since.get(keyOf(address, entry.id));
        return [address, since === undefined ? entry : { missing_since: since, ...entry }];
      }),
    );
    return { lineage, serial, salt, workspaceId, pending, orphans, resources };
  }
}

function keyOf(address: string, id: string | null): string {
  return JSON.stringify([address, id]);
}
