import type { Address } from '../../manifests/resource.ts';
import type { Fingerprints } from '../../state/fingerprint.ts';
import type { State } from '../../state/state.ts';
import type { Bound } from './bind-desired.ts';
import type { Decision } from './decision.ts';
import type { Observed } from './observed.ts';

/** What every decision of a run is made with. */
export interface RunFacts extends Pick<Bound, 'allowReplace' | 'allowRecreate'> {
  readonly state: State;
  /** Prepared for every secret of the resources and for what `textsToMask` gives. */
  readonly fingerprints: Fingerprints;
  /** What the platform did not apply is to be sent again. */
  readonly retryIgnored?: boolean;
}

export interface Deciding extends Bound, RunFacts {
  readonly observed: Observed;
  /** What could be decided before everything was observed. */
  readonly decided?: ReadonlyMap<Address, Decision>;
}
