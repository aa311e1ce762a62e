import { UserError } from '../problems/user-error.ts';

/** Another run took the lock over, or somebody ended it: this run may write nothing more. */
export class LostLock extends UserError {
  override readonly name = 'LostLock';

  constructor(location: string) {
    super(`this run lost the lock of ${location}`, {
      hint: 'Another run took it because this one fell silent, or someone ran voxform state unlock. Wait until no voxform is using this state, then plan again.',
    });
  }
}
