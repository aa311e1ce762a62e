import { randomUUID } from 'node:crypto';
import { idKey, kindOf } from '../manifests/resource.ts';
import { advice, command, UserError } from '../problems/user-error.ts';
import { jsonEqual } from '../values/json.ts';
import { openSession, type SessionOptions, withLease } from './session.ts';
import { orphanOf, type ResourceEntry, type StateDocument } from './state-document.ts';
import { LostState } from './state-errors.ts';
import { droppedBy, type StateContent, type StateRecord, sharedId } from './state-records.ts';
import type { StateBackup, StateStore } from './store.ts';

interface PushResult {
  readonly serial: number;
  /** Records that were missing from the document; they are orphans now. */
  readonly orphaned: readonly StateRecord[];
  /** Unknown creates of a damaged state that were missing from the document; they were added. */
  readonly unknown: readonly string[];
  /** The new location of a damaged state. */
  readonly quarantined: string | undefined;
}

/**
 * Replaces the state with a document, and keeps the earlier state as a backup.
 * @returns undefined if the state already equals the document.
 * @throws UserError if the document belongs to another workspace, has an id at two addresses, or is older than the state.
 */
export async function pushState(store: StateStore, options: PushOptions): Promise<PushResult | undefined> {
  const { document, force, session } = options;
  if (document.workspace_id !== session.workspaceId) {
    throw new UserError(
      `the document is the state of workspace ${document.workspace_id}, but ${session.workspaceId} is configured`,
      { hint: 'Select that workspace with --workspace NAME.' },
    );
  }
  const shared = sharedId(document);
  if (shared !== undefined) {
    throw new UserError(`the document has ${shared.id} at two addresses: ${shared.addresses.join(' and ')}`, {
      hint: advice`Remove one of them from the document. To rename a record: ${command('state mv OLD NEW')}`,
    });
  }
  const lost = await quarantineDamaged(store, options);
  // Merges the journal of a dead run first, so that the backup includes it.
  const { onMissing, ...rest } = session;
  await (
    await openSession(store, {
      allowOlder: () => undefined,
      ...rest,
      lock: { ...session.lock, isStep: true },
      ...(!force && { onMissing: () => allowLost(onMissing) }),
    })
  ).close();
  return withLease(store, session.lock, async (lease) => {
    const { document: current, newer } = await lease.read();
    if (current !== undefined && !force) {
      const known = session.allowOlder === undefined ? newer?.serial : undefined;
      refuseOlder(document, { ...current, serial: known ?? current.serial });
    }
    if (newer === undefined && jsonEqual({ ...document, serial: current?.serial, write: current?.write }, current))
      return undefined;
    const orphaned = lost?.ids ?? (current === undefined || force ? [] : missingRecords(current, options));
    const serial = Math.max(document.serial, current?.serial ?? 0, newer?.serial ?? 0) + 1;
    const since = session.now().toISOString();
    const managed = new Set(Object.entries(document.resources).map(([address, { id }]) => idKey(kindOf(address), id)));
    const orphans = [
      // A managed record must not be an orphan.
      ...document.orphans.filter(({ kind, id }) => !managed.has(idKey(kind, id))),
      ...orphaned.map((record) => orphanOf(record.address, { reason: 'removed', since, ...record })),
    ];
    const pending = { ...lost?.pending, ...document.pending };
    const next = { ...document, orphans, pending, serial, voxform_version: session.version };
    await lease.commit({ ...next, write: randomUUID() }, current?.serial);
    // This machine may know a later serial of the lost state. The pushed document then needs a higher serial.
    const later = current === undefined ? (await lease.read()).newer?.serial : undefined;
    if (later !== undefined) await lease.commit({ ...next, serial: later + 1, write: randomUUID() }, serial);
    const unknown = Object.keys(lost?.pending ?? {});
    return {
      serial: later === undefined ? serial : later + 1,
      orphaned,
      unknown,
      quarantined: lost?.quarantined,
    };
  });
}

/**
 * Returns the records of the current state that are missing from the document.
 * @throws UserError if the document drops an unknown create, which could then be sent a second time.
 */
function missingRecords(current: StateDocument, options: PushOptions): readonly StateRecord[] {
  const { ids, pending } = droppedRecords(current, options);
  const [first] = pending;
  if (first !== undefined) {
    throw new UserError(`the document drops unknown creates of the state: ${pending.join(', ')}`, {
      hint: 'Resolve them first, or drop them with --force.',
      next: [
        { action: 'import', address: first, id: null, reason: 'found' },
        { action: 'resolve_not_created', address: first },
      ],
    });
  }
  return ids;
}

/** Calls `onMissing`, but ignores the error for a lost state, because a push may restore the state. */
async function allowLost(onMissing: SessionOptions['onMissing']): Promise<void> {
  try {
    await onMissing?.();
  } catch (error) {
    if (!(error instanceof LostState)) throw error;
  }
}

function refuseOlder(document: StateDocument, current: StateDocument): void {
  const hint = advice`Compare them first: ${command('state pull')}. To push the document anyway: --force`;
  if (document.lineage !== current.lineage) {
    throw new UserError('the document has another lineage: it is a different state, not an older one', {
      hint,
    });
  }
  if (document.serial < current.serial) {
    throw new UserError(`the document (serial ${document.serial}) is older than the state (serial ${current.serial})`, {
      hint,
    });
  }
}

interface PushOptions {
  readonly document: StateDocument;
  /** The push command with `--force`, for messages. */
  readonly forced: string;
  /** True to replace a damaged state, and to accept a document that is older, has another lineage or lacks records. */
  readonly force: boolean;
  readonly session: SessionOptions;
  /** Returns the natural key of a record, for the orphan list. */
  naturalKey(address: string, entry: ResourceEntry): string | undefined;
}

/** Returns the records of the other content that are missing from the document, with their natural keys. */
function droppedRecords(other: StateContent, { document, naturalKey }: PushOptions): ReturnType<typeof droppedBy> {
  const { ids, pending } = droppedBy(document, other);
  const withKey = (record: StateRecord): StateRecord => {
    const entry = other.resources[record.address];
    return entry?.id === record.id ? { ...record, natural_key: naturalKey(record.address, entry) } : record;
  };
  return { ids: ids.map(withKey), pending };
}

interface QuarantinedState {
  readonly quarantined: string | undefined;
  /** Records in the backups that are missing from the document. */
  readonly ids: readonly StateRecord[];
  readonly pending: StateDocument['pending'];
}

/**
 * Quarantines an unreadable state, and finds the records in its backups.
 * @returns undefined if the state is readable.
 * @throws LostState if it is unreadable and `force` is false.
 */
async function quarantineDamaged(store: StateStore, options: PushOptions): Promise<QuarantinedState | undefined> {
  const { forced, force, session } = options;
  const lease = await store.lock({ ...session.lock, isStep: true });
  try {
    await lease.read();
    return undefined;
  } catch (error) {
    if (!(error instanceof LostState)) throw error;
    if (!force) {
      const replace = `To replace the state and keep a copy of the damaged one: ${forced}`;
      throw new LostState(error.message, { hint: advice`${replace}. ${error.advice ?? ''}`, cause: error });
    }
    const backups = (await store.backups()).filter(
      ({ workspaceId = session.workspaceId }) => workspaceId === session.workspaceId,
    );
    const quarantined = await lease.quarantine();
    const dropped = backups.map((each) => droppedRecords(fromBackup(each), options));
    const ids = dropped.flatMap((each) => each.ids);
    const isDropped = new Set(dropped[0]?.pending);
    return {
      quarantined,
      ids: [...new Map(ids.map((record) => [idKey(record.kind, record.id), record])).values()],
      pending: Object.fromEntries([...(backups[0]?.pending ?? [])].filter(([address]) => isDropped.has(address))),
    };
  } finally {
    await lease.release();
  }
}

function fromBackup({ resources, pending, orphans }: StateBackup): StateContent {
  return { resources: Object.fromEntries(resources), pending: Object.fromEntries(pending), orphans };
}
