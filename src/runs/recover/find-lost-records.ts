import { kinds } from '../../kinds/index.ts';
import { type Address, kindOf, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import { type Discovering, discover } from '../discover.ts';
import type { KnownId, Missed } from '../mentioned-ids.ts';
import { type Match, matchesFor } from './matches.ts';
import { type MergedBackups, mergeBackups, type RememberedState } from './merge-backups.ts';

interface Recovering extends Omit<Discovering, 'known' | 'kinds'> {
  /** Everything that the manifests declare. */
  readonly resources: readonly Resource[];
  /** As it is now: empty where it is lost. */
  readonly state: State;
  /** The newest first. */
  readonly backups: readonly RememberedState[];
  /** Ids that a person named. */
  readonly given: readonly KnownId[];
}

export interface Recovery {
  /** One for each manifest that has no record in the state, in the order of the addresses. */
  readonly matches: readonly Match[];
  /** Manifests whose create has had no clear answer: the state has a question about them, and it is not answered here. */
  readonly unanswered: readonly Address[];
  readonly missed: readonly Missed[];
  readonly merged: MergedBackups;
}

/** Looks for the records of all manifests that the state lacks. Reads nothing from the platform where it lacks none. */
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

/** What is managed, and what was released for good reasons. */
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
