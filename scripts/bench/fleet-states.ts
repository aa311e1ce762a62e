import { randomUUID } from 'node:crypto';
import { stateBytes } from '../../src/state/document-text.ts';
import { newSalt } from '../../src/state/fingerprint.ts';
import { emptyDocument } from '../../src/state/fold.ts';
import type { ResourceEntry } from '../../src/state/state-document.ts';
import type { Json } from '../../src/values/json.ts';
import { VERSION } from '../../src/version.ts';
import {
  agentAddress,
  agentId,
  FLEET_AGENTS,
  fleetAddress,
  fleetAgent,
  fleetSpecOf,
  fleetWorkspaceId,
} from './workload.ts';

export interface StoredState {
  readonly name: string;
  readonly write: string;
  readonly state: string;
}

/** Generates the states of all workspaces after an apply, in batches. */
export function* fleetStates(workspaces: number): Generator<readonly StoredState[]> {
  for (let first = 0; first < workspaces; first += 100) {
    const some = Math.min(100, workspaces - first);
    yield Array.from({ length: some }, (_, nth) => storedState(first + nth));
  }
}

function storedState(workspace: number): StoredState {
  const write = randomUUID();
  const fresh = { lineage: randomUUID(), salt: newSalt() };
  const numbers = Array.from({ length: FLEET_AGENTS }, (_, nth) => workspace * FLEET_AGENTS + nth);
  const document = {
    ...emptyDocument(fresh, fleetWorkspaceId(workspace), VERSION),
    serial: 1,
    write,
    resources: Object.fromEntries(
      numbers.map((number) => [agentAddress(fleetSpecOf(number)), entryOf(number)] as const),
    ),
  };
  const state = stateBytes(document).toString();
  return { name: fleetAddress(workspace), write, state };
}

function entryOf(number: number): ResourceEntry {
  const { spec } = fleetAgent(number);
  const leaves = Object.entries(spec).flatMap(([key, value]): [string, Json][] =>
    typeof value === 'string'
      ? [[key, value]]
      : Object.entries(value as Record<string, Json>).map(([field, leaf]) => [`${key}.${field}`, leaf]),
  );
  return { id: agentId(number), recorded: Object.fromEntries(leaves), observed: {}, unobserved: [] };
}
