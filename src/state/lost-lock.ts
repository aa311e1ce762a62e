import { UserError } from '../problems/user-error.ts';

/** Another run took the lock over, or somebody ended it: this run may write nothing more. */
export class LostLock extends UserError {
  override readonly name = 'LostLock';

  constructor(location: string) {
    super(`the lock of ${location} was taken from this run while it worked`, {
      hint: 'Another run took it over after a minute without a sign of life, or somebody ended it with: voxform state unlock. Wait until no voxform works on this state, then plan again.',
    });
  }
}
