import { randomUUID } from 'node:crypto';
import { UserError } from '../problems/user-error.ts';
import { jsonEqual } from '../values/json.ts';
import type { StateDocument } from './document.ts';
import { openSession, type SessionOptions } from './session.ts';
import type { StateStore } from './store.ts';

export interface PushOptions {
  readonly document: StateDocument;
  /** Also when it is older than the state, or of another lineage. Never when it is of another workspace. */
  readonly force: boolean;
  readonly session: SessionOptions;
}

/**
 * Puts a document in the place of the state; the earlier one is kept as a backup.
 * @returns the new serial, or undefined where the state was the same already.
 * @throws UserError where the document does not belong here, or would take the state back.
 */
export async function pushState(
  store: StateStore,
  { document, force, session }: PushOptions,
): Promise<number | undefined> {
  if (document.workspace_id !== session.workspaceId) {
    throw new UserError(
      `the document is the state of the workspace ${document.workspace_id}, but ${session.workspaceId} is configured`,
      { hint: 'Select the workspace that it belongs to: voxform state push --workspace NAME FILE' },
    );
  }
  // Works a journal that a dead run left into the state first, so that the backup has it.
  await (await openSession(store, { allowOlder: () => undefined, ...session })).close();
  const lease = await store.lock(session.lock);
  try {
    const { document: current, newer } = await lease.read();
    if (current !== undefined && !force) {
      const known = session.allowOlder === undefined ? newer?.serial : undefined;
      refuseStepBack(document, { ...current, serial: known ?? current.serial });
    }
    if (
      newer === undefined &&
      jsonEqual({ ...document, serial: current?.serial, write: current?.write }, current)
    )
      return undefined;
    const serial = Math.max(document.serial, current?.serial ?? 0, newer?.serial ?? 0) + 1;
    const write = randomUUID();
    await lease.commit({ ...document, serial, voxform_version: session.version, write }, current?.serial);
    return serial;
  } finally {
    await lease.release();
  }
}

function refuseStepBack(document: StateDocument, current: StateDocument): void {
  const hint = 'Compare them first: voxform state pull. If the document is the right one: --force';
  if (document.lineage !== current.lineage) {
    throw new UserError(
      'the document is of another lineage than the state: another memory, not an older one',
      {
        hint,
      },
    );
  }
  if (document.serial < current.serial) {
    throw new UserError(
      `the document is older than the state: serial ${document.serial}, and the state has ${current.serial}`,
      { hint },
    );
  }
}
