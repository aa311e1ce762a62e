import { UserError } from '../problems/user-error.ts';
import { olderState } from './state-errors.ts';
import type { StateStore, StoredState } from './store.ts';

/** The error for a state that is older than the last known one; undefined if it is not. */
export function olderIn({ document, newer }: StoredState, location: string): UserError | undefined {
  return document && newer && olderState(location, document, newer);
}

/** @throws UserError if the state is older than the last known one, unless that is allowed. */
export function admitOlder(
  stored: StoredState,
  location: string,
  allow: ((warning: string) => void) | undefined,
): void {
  const older = olderIn(stored, location);
  if (older === undefined) return;
  if (allow === undefined) throw older;
  allow(older.message);
}

/** @throws UserError if the state belongs to another workspace. */
export function checkWorkspace(
  { document }: StoredState,
  workspaceId: string,
  { location, setting }: Pick<StateStore, 'location' | 'setting'>,
): void {
  if (document === undefined || document.workspace_id === workspaceId) return;
  throw new UserError(
    `the state ${location} belongs to workspace ${document.workspace_id}, but ${workspaceId} is configured`,
    { hint: `Correct workspace_id, or give this workspace its own \`${setting}\` in voxform.yaml.` },
  );
}
