import { randomUUID } from 'node:crypto';
import { advice, command, UserError } from '../problems/user-error.ts';
import { type Json, jsonEqual } from '../values/json.ts';
import { fold } from './fold.ts';
import { deadRunOf } from './run-ending.ts';
import { admitOlder, checkWorkspace, type SessionOptions, withLease } from './session.ts';
import type { StateDocument } from './state-document.ts';
import { MovedState } from './state-errors.ts';
import { droppedBy } from './state-records.ts';
import type { StateLease, StateStore, StoredState } from './store.ts';

interface Move {
  readonly from: StateStore;
  readonly to: StateStore;
  readonly session: Pick<SessionOptions, 'lock' | 'workspaceId' | 'version' | 'now' | 'allowOlder'>;
}

interface MoveResult {
  /** The number of managed records. */
  readonly records: number;
  readonly serial: number;
}

/**
 * Moves a state under both locks: merges the journal, writes the copy, verifies it, and leaves a mark in the old location. If the run dies,
 * either the old state stays valid or the next call continues with the copy.
 * @throws UserError if there is nothing to move, or if the new location is the old one or has another state.
 */
export async function moveState({ from, to, session }: Move): Promise<MoveResult> {
  // In a mistyped location, the lock would create a history, a ref or tables.
  const { document: found, journal } = await from.read();
  if (found === undefined && journal.length === 0 && (await from.holder()) === undefined) throw missingState(from);
  return withLease(from, session.lock, async (source) => {
    const stored = await source.read();
    const document = documentIn(stored, from, session);
    if ((await to.holder())?.id === source.info.id) {
      throw new UserError(`${from.location} and ${to.location} are the same state`, {
        hint: 'No move is needed. To use the other name, change `state` of the workspace.',
      });
    }
    const moved = await withLease(to, session.lock, async (target) => {
      const current = await currentOf(target, document);
      if (current !== undefined && !isCopyOf(current, document)) throw otherStateError(to, current);
      // After an interrupted move, the copy is the newer state.
      if ((current?.serial ?? 0) < (stored.newer?.serial ?? 0)) admitOlder(stored, from.location, session.allowOlder);
      if (stored.journal.length > 0)
        await source.commit(document, stored.document?.serial, await deadRunOf(from, source, stored));
      const copy = current ?? (await writeCopy(document, target, { to, version: session.version }));
      await source.leaveMark({
        moved_to: to.location,
        moved_at: session.now().toISOString(),
        lineage: document.lineage,
        serial: document.serial,
        workspace_id: document.workspace_id,
      });
      await target.release({ outcome: { result: 'done', moved_from: from.location } });
      return { records: Object.keys(copy.resources).length, serial: copy.serial };
    });
    await source.release({ outcome: { result: 'done', moved_to: to.location } });
    return moved;
  });
}

/** Returns the document to move, with its journal merged. */
function documentIn(stored: StoredState, store: StateStore, { workspaceId, version }: Move['session']): StateDocument {
  const { document, journal } = stored;
  if (document === undefined) throw missingState(store);
  checkWorkspace(stored, workspaceId, store);
  if (journal.length === 0) return document;
  const serial = document.serial + 1;
  return fold(document, journal).toDocument({ serial, voxform_version: version, write: randomUUID() });
}

function missingState({ location }: StateStore): UserError {
  return new UserError(`there is no state at ${location}`, {
    hint: advice`Specify the state file to move: ${command('state move --from PATH')}`,
  });
}

function otherStateError({ location }: StateStore, { serial }: StateDocument): UserError {
  return new UserError(`${location} already has another state (serial ${serial})`, {
    hint: 'Nothing was moved. Compare the two states, and move away the one that you do not need.',
  });
}

async function writeCopy(
  document: StateDocument,
  target: StateLease,
  { to, version }: { readonly to: StateStore; readonly version: string },
): Promise<StateDocument> {
  const copy = { ...document, serial: document.serial + 1, voxform_version: version, write: randomUUID() };
  await target.commit(copy, undefined);
  const { document: written } = await target.read();
  if (written === undefined || !jsonEqual(content(written), content(copy))) {
    throw new UserError(`the copy at ${to.location} does not match the written state`, {
      hint: 'The old state is still in use. Check the disk, then run the command again.',
    });
  }
  return written;
}

/** Returns the document at the target. The mark of the same state counts as no document, so that a state can be moved back. */
async function currentOf(target: StateLease, document: StateDocument): Promise<StateDocument | undefined> {
  try {
    const stored = await target.read();
    return stored.document && fold(stored.document, stored.journal).toDocument(stored.document);
  } catch (error) {
    if (error instanceof MovedState && error.mark.lineage === document.lineage) return undefined;
    throw error;
  }
}

/** True for the copy of an interrupted move, even if other runs have changed it. The copy must contain all records of the old state. */
function isCopyOf(copy: StateDocument, document: StateDocument): boolean {
  if (copy.lineage !== document.lineage || copy.serial <= document.serial) return false;
  const { ids, pending } = droppedBy(copy, document);
  return ids.length === 0 && pending.length === 0;
}

function content({ resources, pending, orphans, lineage, salt, serial }: StateDocument): Json {
  return { resources, pending, orphans, lineage, salt, serial } as unknown as Json;
}
