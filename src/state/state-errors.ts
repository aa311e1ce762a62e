import { z } from 'zod';
import { shellWord } from '../problems/shell-word.ts';
import { advice, command, UserError } from '../problems/user-error.ts';
import { lazyObject } from '../values/described.ts';
import type { Immutable } from '../values/json.ts';
import type { StateDocument } from './state-document.ts';

/** The state is damaged or missing. Only a backup or `voxform recover` can restore its records. */
export class LostState extends UserError {
  override readonly name = 'LostState';
}

/** The sentence about `voxform recover` in the hints of `LostState`. */
export const RECOVER = advice`Without a backup: ${command('recover')} finds as many records as possible.`;

/** Another run took over the lock, or a person removed it. This run must write nothing more. */
export class LostLock extends UserError {
  override readonly name = 'LostLock';

  constructor(location: string) {
    super(`this run lost the lock of ${location}`, {
      hint: advice`Another run took over the lock because this run sent no heartbeat, or someone ran ${command('state unlock')}. Wait until no voxform process uses this state, then plan again.`,
    });
  }
}

/** A write that is newer than the state, or another write with the same serial. */
export interface NewerState {
  readonly serial: number;
  /** Path of a copy; undefined if there is none. */
  readonly copy: string | undefined;
  /** Records that are missing from the state: addresses, with their ids if known. */
  readonly missing: readonly string[];
}

/** The maximum number of records in a message. */
const MAX_NAMES = 10;

/** Returns the error for an older state. Commands that write throw it. Commands that only read print its message as a warning. */
export function olderState(location: string, { serial }: StateDocument, newer: NewerState): UserError {
  const { copy, missing } = newer;
  const other = copy === undefined ? 'the last state written on this machine' : copy;
  const compared =
    newer.serial > serial
      ? `is older than ${other} (serial ${newer.serial})`
      : `differs from ${other}, which has the same serial`;
  const omitted = missing.length > MAX_NAMES ? ` and ${missing.length - MAX_NAMES} more` : '';
  const lacks = missing.length === 0 ? '' : `. Missing records: ${missing.slice(0, MAX_NAMES).join(', ')}${omitted}`;
  return new UserError(
    `the state ${location} (serial ${serial}) ${compared}${lacks}. Applying it may create duplicates`,
    {
      ...(copy === undefined && { hint: 'Restore the newer state.' }),
      next: [
        ...(copy === undefined ? [] : [{ action: 'push_newer', file: copy } as const]),
        { action: 'allow_older_state' },
      ],
    },
  );
}

/** The content of the old location after a move. Earlier versions of voxform report it as a damaged state, so they do not replace it. */
export const movedMark = lazyObject(() => ({
  /** The new location, for messages. */
  moved_to: z.string().min(1),
  /** ISO 8601. */
  moved_at: z.string(),
  lineage: z.string().min(1),
  /** Serial of the last document in this location. */
  serial: z.int().min(0),
  workspace_id: z.string().min(1),
}));

export type MovedMark = Immutable<z.infer<ReturnType<typeof movedMark>>>;

/** The state was moved to another location. */
export class MovedState extends UserError {
  override readonly name = 'MovedState';
  readonly mark: MovedMark;

  /** @param name the old location, for messages. */
  constructor(name: string, mark: MovedMark) {
    const { moved_to: to } = mark;
    // A location that is not a path needs settings, which the mark does not contain.
    const isPath = !/[ :]/.test(to);
    super(`the state ${name} was moved to ${mark.moved_to} on ${mark.moved_at}`, {
      hint: `Point \`state\` of the workspace in voxform.yaml at ${to}.`,
      next: [{ action: 'move_state', from: isPath ? shellWord(to) : "'{ backend: BACKEND, … }'" }],
    });
    this.mark = mark;
  }
}
