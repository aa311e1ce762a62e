import { type Address, idKey, kindOf } from '../manifests/resource.ts';
import type { Orphan, PendingCreate, ResourceEntry } from './state-document.ts';

/** The state of one workspace: the document with the journal merged. */
export interface State {
  readonly lineage: string;
  /** Serial of the document; the journal does not increase it. */
  readonly serial: number;
  readonly salt: string;
  readonly workspaceId: string;
  /** The Git commit of the last applied manifests, if any. */
  readonly appliedCommit?: string | undefined;
  readonly resources: ReadonlyMap<string, ResourceEntry>;
  readonly pending: ReadonlyMap<string, PendingCreate>;
  readonly orphans: readonly Orphan[];
}

/** Returns the address of each managed record, by `idKey` of its kind and id. */
export function managedRecords({ resources }: Pick<State, 'resources'>): Map<string, Address> {
  return new Map([...resources].map(([address, { id }]) => [idKey(kindOf(address), id), address]));
}

export function openOrphans({ orphans }: Pick<State, 'orphans'>): readonly Orphan[] {
  return orphans.filter(({ closed }) => closed === undefined);
}

export interface FreshState {
  readonly lineage: string;
  readonly salt: string;
}
