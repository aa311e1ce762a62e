import { idKey, kindOf } from '../manifests/resource.ts';
import { isMasked } from './fingerprint.ts';
import type { JournalEntry, JournalEvent } from './journal-lines.ts';
import type { FreshState, State } from './state.ts';
import {
  type Orphan,
  orphanOf,
  type PendingCreate,
  type ResourceEntry,
  STATE_FORMAT_VERSION,
  type StateDocument,
} from './state-document.ts';

/** A pending write, with the entry before it. */
type OpenWrite =
  | { readonly type: 'creating'; readonly before: PendingCreate | undefined }
  | { readonly type: 'updating'; readonly before: ResourceEntry | undefined };

/** A state that applies journal events. Each event changes the maps in place, so its cost does not depend on the size of the state. */
export class FoldedState implements State {
  readonly lineage: string;
  readonly salt: string;
  readonly workspaceId: string;
  #serial: number;
  #appliedCommit: string | undefined;
  readonly #resources: Map<string, ResourceEntry>;
  readonly #pending: Map<string, PendingCreate>;
  readonly #orphans: Map<string, Orphan>;
  readonly #open = new Map<string, OpenWrite>();
  #orphanList: readonly Orphan[] | undefined;

  constructor(document: StateDocument) {
    this.lineage = document.lineage;
    this.salt = document.salt;
    this.workspaceId = document.workspace_id;
    this.#serial = document.serial;
    this.#appliedCommit = document.applied_commit;
    this.#resources = new Map(Object.entries(document.resources));
    this.#pending = new Map(Object.entries(document.pending));
    this.#orphans = new Map(document.orphans.map((orphan) => [idKey(orphan.kind, orphan.id), orphan]));
  }

  get serial(): number {
    return this.#serial;
  }

  get appliedCommit(): string | undefined {
    return this.#appliedCommit;
  }

  get resources(): ReadonlyMap<string, ResourceEntry> {
    return this.#resources;
  }

  get pending(): ReadonlyMap<string, PendingCreate> {
    return this.#pending;
  }

  /** The orphans, in the order of their release. */
  get orphans(): readonly Orphan[] {
    this.#orphanList ??= [...this.#orphans.values()];
    return this.#orphanList;
  }

  /** Must be called after writing a document with this serial that contains all events so far. */
  setSerial(serial: number): void {
    this.#serial = serial;
  }

  /** Never throws, even if the events are in an unexpected order. */
  apply({ event, at }: Pick<JournalEntry, 'event' | 'at'>): void {
    switch (event.type) {
      case 'creating':
        this.#open.set(event.address, { type: 'creating', before: this.#pending.get(event.address) });
        this.#pending.set(event.address, event.pending);
        return;
      case 'updating':
        this.#beginUpdate(event.address, event.paths);
        return;
      case 'not-done':
        this.#undo(event.address);
        return;
      case 'saved':
        this.#save(event, at);
        return;
      case 'forgotten':
        this.#resources.delete(event.address);
        if (this.#open.get(event.address)?.type === 'updating') this.#open.delete(event.address);
        if (event.orphan !== undefined) this.#addOrphan(event.orphan);
        return;
      case 'closed':
        // A record that is not an orphan may be managed again.
        if (this.#orphans.has(idKey(event.orphan.kind, event.orphan.id))) this.#addOrphan(event.orphan);
        return;
      case 'renamed':
        this.#rename(event.from, event.to, at);
        return;
      case 'applying':
        this.#appliedCommit = event.commit;
        return;
      case 'resolved':
        this.#pending.delete(event.address);
        this.#open.delete(event.address);
        return;
      default:
        event satisfies never;
    }
  }

  toDocument(write: Pick<StateDocument, 'serial' | 'voxform_version' | 'write'>): StateDocument {
    return {
      format_version: STATE_FORMAT_VERSION,
      voxform_version: write.voxform_version,
      lineage: this.lineage,
      serial: write.serial,
      workspace_id: this.workspaceId,
      ...(this.#appliedCommit !== undefined && { applied_commit: this.#appliedCommit }),
      salt: this.salt,
      resources: Object.fromEntries(this.#resources),
      pending: Object.fromEntries(this.#pending),
      orphans: [...this.orphans],
      write: write.write,
    };
  }

  #beginUpdate(address: string, paths: readonly string[]): void {
    const before = this.#resources.get(address);
    this.#open.set(address, { type: 'updating', before });
    if (before !== undefined) this.#resources.set(address, withoutPaths(before, new Set(paths)));
  }

  #undo(address: string): void {
    const open = this.#open.get(address);
    if (open === undefined) return;
    this.#open.delete(address);
    if (open.type === 'updating') {
      if (open.before !== undefined) this.#resources.set(address, open.before);
    } else if (open.before === undefined) this.#pending.delete(address);
    else this.#pending.set(address, open.before);
  }

  #save({ address, entry, orphan }: Extract<JournalEvent, { type: 'saved' }>, at: string): void {
    const before = this.#resources.get(address);
    const pending = this.#pending.get(address);
    const { recorded = pending?.recorded ?? {} } = entry;
    this.#resources.set(address, { ...entry, recorded });
    // Saving the record that an unknown create replaces does not resolve the unknown create.
    if (pending?.replaces !== entry.id) this.#pending.delete(address);
    this.#open.delete(address);
    if (orphan !== undefined) this.#addOrphan(orphan);
    // A replaced id becomes an orphan, because its record may exist even if the platform reported the record as missing.
    if (before !== undefined && before.id !== entry.id && before.id !== orphan?.id) {
      this.#addOrphan(orphanOf(address, { id: before.id, reason: 'gone', since: at }));
    }
    if (this.#orphans.delete(idKey(kindOf(address), entry.id))) this.#orphanList = undefined;
  }

  #rename(from: string, to: string, at: string): void {
    if (from === to) return;
    const entry = this.#resources.get(from);
    if (entry !== undefined) {
      const displaced = this.#resources.get(to);
      if (displaced !== undefined && displaced.id !== entry.id) {
        this.#addOrphan(orphanOf(to, { id: displaced.id, reason: 'removed', since: at }));
      }
      this.#resources.set(to, entry);
      this.#resources.delete(from);
    }
    const pending = this.#pending.get(from);
    if (pending !== undefined) {
      this.#pending.set(to, pending);
      this.#pending.delete(from);
    }
    const open = this.#open.get(from);
    this.#open.delete(from);
    if (open === undefined) this.#open.delete(to);
    else this.#open.set(to, open);
  }

  #addOrphan(orphan: Orphan): void {
    this.#orphans.set(idKey(orphan.kind, orphan.id), orphan);
    this.#orphanList = undefined;
  }
}

/** Returns the state that results from applying the entries to the document in order. Does not modify its arguments. */
export function fold(document: StateDocument, entries: Iterable<JournalEntry>): FoldedState {
  const state = new FoldedState(document);
  for (const entry of entries) state.apply(entry);
  return state;
}

export function recordCount(state: Pick<State, 'resources' | 'pending' | 'orphans'>): number {
  const { resources, pending, orphans } = state;
  return resources.size + pending.size + orphans.length;
}

/** Returns the document for a workspace that has no state yet. */
export function emptyDocument(fresh: FreshState, workspaceId: string, version: string): StateDocument {
  return {
    format_version: STATE_FORMAT_VERSION,
    voxform_version: version,
    lineage: fresh.lineage,
    serial: 0,
    workspace_id: workspaceId,
    salt: fresh.salt,
    resources: {},
    pending: {},
    orphans: [],
    write: '',
  };
}

/** A placeholder for a fingerprint. It equals no actual fingerprint. */
const UNKNOWN_SECRET = { $fingerprint: '' };

/** Returns the entry without these paths and all paths below them. */
function withoutPaths(entry: ResourceEntry, paths: ReadonlySet<string>): ResourceEntry {
  const stays = (path: string): boolean => {
    for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
      if (paths.has(path.slice(0, end))) return false;
    }
    return true;
  };
  const keep = (leaves: ResourceEntry['recorded']): ResourceEntry['recorded'] =>
    Object.fromEntries(Object.entries(leaves).filter(([path]) => stays(path)));
  // The record may still have the old secret. Its path stays marked as secret, so that the secret is never printed.
  const secret = Object.keys(entry.recorded).filter((path) => !stays(path) && isMasked(entry.recorded[path]));
  const { not_applied: notApplied, ...rest } = entry;
  const remaining = notApplied?.filter(stays) ?? [];
  return {
    ...rest,
    ...(remaining.length > 0 && { not_applied: remaining }),
    recorded: { ...keep(entry.recorded), ...Object.fromEntries(secret.map((path) => [path, UNKNOWN_SECRET])) },
    observed: keep(entry.observed),
    unobserved: [...entry.unobserved.filter(stays), ...secret].sort(),
  };
}
