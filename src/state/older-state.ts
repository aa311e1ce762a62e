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
  const back =
    copy === undefined ? 'Restore the newer state' : `Push the newer one: voxform state push ${copy}`;
  return new UserError(
    `the state ${location} (serial ${serial}) ${compared}${lacks}. Applying it may create duplicates`,
    { hint: `${back}. To use this one: --allow-older-state` },
  );
}
