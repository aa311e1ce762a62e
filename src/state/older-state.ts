import { UserError } from '../problems/user-error.ts';
import type { StateDocument } from './state-document.ts';

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
