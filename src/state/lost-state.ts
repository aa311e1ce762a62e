import { UserError } from '../problems/user-error.ts';

/** The state cannot be used as it is, and nothing but a copy of it or `voxform recover` brings back what it knew. */
export class LostState extends UserError {
  override readonly name = 'LostState';
}

/** The end of the hint of every such error. */
export const RECOVER = 'Without a backup: voxform recover finds what records it can.';
