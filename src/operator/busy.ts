import type { LockHolder } from '../state/store.ts';

/** Another run is at work on the state. */
export class Busy extends Error {
  override readonly name = 'Busy';
  readonly lock: string;

  constructor(holder: LockHolder, workspaceFlag: string) {
    const { id, operation, who, since, silentSeconds: silent } = holder;
    const age = silent === undefined ? '' : `, last sign of life ${silent} s ago`;
    super(
      `${operation} of ${who} is at work on the state since ${since}${age} (if it is certainly gone: voxform state unlock ${id}${workspaceFlag})`,
    );
    this.lock = id;
  }
}
