import { commandFor, type Reach } from '../problems/workspace-command.ts';
import { type LockHolder, spanText } from '../state/lock-info.ts';

/** Another run holds the lock of the state. */
export class StateLocked extends Error {
  override readonly name = 'Busy';
  readonly lock: string;

  constructor(holder: LockHolder, reach: Reach) {
    const { id, operation, who, job, since, silentSeconds: silent } = holder;
    const where = job === undefined ? '' : ` (${job.name} ${job.url})`;
    const age = silent === undefined ? '' : `, last seen ${spanText(silent)} ago`;
    super(
      `the state is locked by ${operation} of ${who}${where} since ${since}${age} (if that run has definitely ended: ${commandFor(`voxform state unlock ${id}`, reach)})`,
    );
    this.lock = id;
  }
}
