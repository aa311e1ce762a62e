import { randomUUID } from 'node:crypto';
import { UserError } from '../problems/user-error.ts';
import { type Json, jsonEqual } from '../values/json.ts';
import type { StateDocument } from './document.ts';
import { fold } from './fold.ts';
import { droppedBy } from './held-ids.ts';
import { MovedState } from './moved-state.ts';
import { admitOlder, checkWorkspace, type SessionOptions } from './session.ts';
import type { StateLease, StateStore } from './store.ts';

export interface Move {
  readonly from: StateStore;
  readonly to: StateStore;
  readonly session: Pick<SessionOptions, 'lock' | 'workspaceId' | 'version' | 'now' | 'allowOlder'>;
}

export interface Moved {
  /** Records that the state manages. */
  readonly records: number;
  readonly serial: number;
}

/**
 * Moves a state under both locks: the journal is worked in, the copy is written and read back, and a mark takes the old one's place.
 * A run that dies leaves the old state in force, or a copy that the next call of this finishes.
 * @throws UserError where there is nothing to move, or where the new place holds another state.
 */
export async function moveState({ from, to, session }: Move): Promise<Moved> {
  const source = await from.lock(session.lock);
  try {
    const document = await folded(source, from, session);
    const target = await to.lock(session.lock);
    try {
      const copy = await copied(document, { target, location: to.location, version: session.version });
      await source.leaveMark({
        moved_to: to.location,
        moved_at: session.now().toISOString(),
        lineage: document.lineage,
        serial: document.serial,
        workspace_id: document.workspace_id,
      });
      return { records: Object.keys(copy.resources).length, serial: copy.serial };
    } finally {
      await target.release();
    }
  } finally {
    await source.release();
  }
}

async function folded(
  source: StateLease,
  { location }: StateStore,
  { workspaceId, version, allowOlder }: Move['session'],
): Promise<StateDocument> {
  const stored = await source.read();
  const { document, journal } = stored;
  if (document === undefined) {
    throw new UserError(`there is no state at ${location}`, {
      hint: 'Name the file of the state that is to be moved: voxform state move --from PATH',
    });
  }
  checkWorkspace(stored, workspaceId, location);
  admitOlder(stored, location, allowOlder);
  if (journal.length === 0) return document;
  const next = fold(document, journal).toDocument({
    serial: document.serial + 1,
    voxform_version: version,
    write: randomUUID(),
  });
  await source.commit(next, document.serial);
  return next;
}

interface Target {
  readonly target: StateLease;
  readonly location: string;
  readonly version: string;
}

async function copied(
  document: StateDocument,
  { target, location, version }: Target,
): Promise<StateDocument> {
  const current = await currentOf(target, document);
  if (current !== undefined) {
    if (isCopy(current, document)) return current;
    throw new UserError(`${location} holds another state already: serial ${current.serial}`, {
      hint: 'Nothing was moved. Compare the two, and move the one that is not needed out of the way.',
    });
  }
  const copy = { ...document, serial: document.serial + 1, voxform_version: version, write: randomUUID() };
  await target.commit(copy, undefined);
  const { document: back } = await target.read();
  if (back === undefined || !jsonEqual(content(back), content(copy))) {
    throw new UserError(`the copy at ${location} does not read back as it was written`, {
      hint: 'The old state is still in force. Check the disk, then run the command again.',
    });
  }
  return back;
}

/** Where this very state was moved away from the target before, it may come back. */
async function currentOf(target: StateLease, document: StateDocument): Promise<StateDocument | undefined> {
  try {
    const stored = await target.read();
    return stored.document && fold(stored.document, stored.journal).toDocument(stored.document);
  } catch (error) {
    if (error instanceof MovedState && error.mark.lineage === document.lineage) return undefined;
    throw error;
  }
}

/** True for what an earlier, interrupted move wrote, also when runs have gone on with it: it forgets nothing of the old one. */
function isCopy(copy: StateDocument, document: StateDocument): boolean {
  if (copy.lineage !== document.lineage || copy.serial <= document.serial) return false;
  const { ids, pending } = droppedBy(copy, document);
  return ids.length === 0 && pending.length === 0;
}

function content({ resources, pending, orphans, lineage, salt, serial }: StateDocument): Json {
  return { resources, pending, orphans, lineage, salt, serial } as unknown as Json;
}
