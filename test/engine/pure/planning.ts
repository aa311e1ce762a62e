import { bindResources } from '../../../src/engine/bind.ts';
import type { Observed } from '../../../src/engine/observe.ts';
import { makePlan, type Plan } from '../../../src/engine/plan.ts';
import type { PlannedResource } from '../../../src/engine/plan-document.ts';
import { kinds, lookups } from '../../../src/kinds/index.ts';
import type { Resource } from '../../../src/manifests/resource.ts';
import type { State } from '../../../src/state/state.ts';
import { fingerprints, observedOf, stateOf } from './facts.ts';

export interface World {
  readonly resources: readonly Resource[];
  readonly state?: State;
  readonly observed?: Observed;
  readonly scope?: ReadonlySet<string>;
  /** Addresses that manifests out of scope declare. */
  readonly alsoDeclared?: readonly string[];
}

export function plan({
  resources,
  state = stateOf({}),
  observed = observedOf({}),
  scope,
  alsoDeclared,
}: World): Plan {
  const declared = new Set([...resources.map(({ address }) => address), ...(alsoDeclared ?? [])]);
  return makePlan({
    bindings: bindResources(resources, { state, declared }),
    declared,
    scope,
    state,
    observed,
    kinds,
    lookups,
    fingerprints,
    workspace: { name: 'staging', id: 'W1', baseUrl: 'https://example.com' },
    refreshed: true,
    allowReplace: new Set(),
    guards: { maxChangedPercent: 50, minResources: 10 },
    version: '1.2.3',
  });
}

export function at({ document }: Plan, address: string): PlannedResource {
  const found = document.resources.find((each) => each.address === address);
  if (found === undefined) throw new Error(`${address} is not in the plan`);
  return found;
}
