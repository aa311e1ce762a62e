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

/** The orphans that are not closed. */
export function openOrphans({ orphans }: Pick<State, 'orphans'>): readonly Orphan[] {
  return orphans.filter(({ closed }) => closed === undefined);
}

/** The identity of a new state. */
export interface FreshState {
  readonly lineage: string;
  readonly salt: string;
}
