import { z } from 'zod';
import { shellWord } from '../problems/shell-word.ts';
import { advice, command, UserError } from '../problems/user-error.ts';
import { lazyObject } from '../values/described.ts';
import type { Immutable } from '../values/json.ts';
import type { StateDocument } from './state-document.ts';

/** The state cannot be used as it is, and nothing but a copy of it or `voxform recover` brings back what it knew. */
export class LostState extends UserError {
  override readonly name = 'LostState';
}

/** The end of the hint of every such error. */
export const RECOVER = advice`Without a backup: ${command('recover')} finds what records it can.`;

/** Another run took the lock over, or somebody ended it: this run may write nothing more. */
export class LostLock extends UserError {
  override readonly name = 'LostLock';

  constructor(location: string) {
    super(`this run lost the lock of ${location}`, {
      hint: advice`Another run took it because this one fell silent, or someone ran ${command('state unlock')}. Wait until no voxform is using this state, then plan again.`,
    });
  }
}

/** What tells that a state was put back to an older one, or that another one was written from the same. */
export interface NewerState {
  readonly serial: number;
  /** How a shell writes the path of a copy of it, where there is one. */
  readonly copy: string | undefined;
  /** What the copy knows and the state does not: addresses, with their ids where there are any. */
  readonly missing: readonly string[];
}

/** Names that a message holds. */
const SHOWN = 10;

/** The refusal of whatever would write; its message is the warning of whatever only reads. */
export function olderState(location: string, { serial }: StateDocument, newer: NewerState): UserError {
  const { copy, missing } = newer;
  const other = copy === undefined ? 'the last state written on this machine' : copy;
  const compared =
    newer.serial > serial
      ? `is older than ${other} (serial ${newer.serial})`
      : `differs from ${other}, which has the same serial`;
  const more = missing.length > SHOWN ? ` and ${missing.length - SHOWN} more` : '';
  const lacks = missing.length === 0 ? '' : `. Missing from it: ${missing.slice(0, SHOWN).join(', ')}${more}`;
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

/** What stands in the place of a state that was moved. An earlier voxform takes it for a damaged state, and writes nothing either. */
export const movedMark = lazyObject(() => ({
  /** Where the state went, as messages call it. */
  moved_to: z.string().min(1),
  /** ISO 8601. */
  moved_at: z.string(),
  lineage: z.string().min(1),
  /** Of the last document that stood here. */
  serial: z.int().min(0),
  workspace_id: z.string().min(1),
}));

export type MovedMark = Immutable<z.infer<ReturnType<typeof movedMark>>>;

/** The state is no longer kept here. */
export class MovedState extends UserError {
  override readonly name = 'MovedState';
  readonly mark: MovedMark;

  /** @param name how messages call the old place, e.g. its path. */
  constructor(name: string, mark: MovedMark) {
    const { moved_to: to } = mark;
    // What is no path is said in settings, which a mark does not hold.
    const isPath = !/[ :]/.test(to);
    super(`the state ${name} was moved to ${mark.moved_to} on ${mark.moved_at}`, {
      hint: `Point \`state\` of the workspace in voxform.yaml at ${to}.`,
      next: [{ action: 'move_state', from: isPath ? shellWord(to) : "'{ backend: BACKEND, … }'" }],
    });
    this.mark = mark;
  }
}
