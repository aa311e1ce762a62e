import { kinds } from '../../kinds/index.ts';
import { type Address, kindOf, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import { type Discovering, discover, type KnownId, type Missed } from '../discover.ts';
import { type Match, matchesFor } from './matches.ts';
import { type MergedBackups, mergeBackups, type RememberedState } from './merge-backups.ts';

interface Recovering extends Omit<Discovering, 'known' | 'kinds'> {
  /** All resources of the manifests. */
  readonly resources: readonly Resource[];
  /** The current state; empty if it is lost. */
  readonly state: State;
  /** Newest first. */
  readonly backups: readonly RememberedState[];
  /** Ids given by a person. */
  readonly given: readonly KnownId[];
}

export interface Recovery {
  /** One for each manifest without a record in the state, by address. */
  readonly matches: readonly Match[];
  /** Manifests with an unknown create in the state, which is not resolved here. */
  readonly unanswered: readonly Address[];
  readonly missed: readonly Missed[];
  readonly merged: MergedBackups;
}

/** Searches for the records of all manifests that the state lacks. Reads nothing from the platform if it lacks none. */
export async function findLostRecords(input: Recovering): Promise<Recovery> {
  const { resources, state } = input;
  const merged = mergeBackups(input.backups, input.workspaceId);
  const lacking = resources.filter(({ address }) => !state.resources.has(address));
  const unanswered = lacking.filter(({ address }) => state.pending.has(address));
  const wanted = lacking.filter(({ address }) => !state.pending.has(address));
  const result = { unanswered: unanswered.map(({ address }) => address), merged };
  if (wanted.length === 0) return { ...result, matches: [], missed: [] };
  const named = wanted.flatMap(({ kind, id, address }) =>
    id === undefined ? [] : [{ kind, id, clause: `metadata.id of ${address} names it` }],
  );
  const sought = new Map([...kinds].filter(([name]) => wanted.some(({ kind }) => kind === name)));
  const known = [...input.given, ...named, ...merged.known];
  const discovery = await discover({ ...input, kinds: sought, known });
  const { remembered } = merged;
  const matches = matchesFor({
    wanted,
    discovery,
    held: heldIn(state, merged),
    remembered,
  });
  return { ...result, matches, missed: discovery.missed };
}

/** Managed records, and those released intentionally. */
function heldIn(state: State, { orphans }: MergedBackups): Map<string, Set<string>> {
  const held = new Map<string, Set<string>>();
  const hold = (kind: string, id: string): void => {
    const ids = held.get(kind) ?? new Set<string>();
    held.set(kind, ids.add(id));
  };
  for (const [address, { id }] of state.resources) hold(kindOf(address), id);
  for (const { kind, id } of [...state.orphans, ...orphans]) hold(kind, id);
  return held;
}
