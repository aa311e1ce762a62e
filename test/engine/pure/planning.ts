import { expect } from 'vitest';
import { bindResources } from '../../../src/engine/decide/bind.ts';
import { makePlan, type Plan, type PlanInput } from '../../../src/engine/decide/make-plan.ts';
import type { Observed } from '../../../src/engine/decide/observed.ts';
import { DecideAhead } from '../../../src/engine/observe/decide-ahead.ts';
import type { PlannedResource } from '../../../src/engine/plan/plan-document.ts';
import type { Resource } from '../../../src/manifests/resource.ts';
import type { State } from '../../../src/state/state.ts';
import { fingerprints, observedOf, stateOf } from './facts.ts';

export interface World {
  readonly resources: readonly Resource[];
  readonly state?: State;
  readonly observed?: Observed;
  readonly scope?: ReadonlySet<string>;
  /** Addresses of manifests that are out of scope. */
  readonly alsoDeclared?: readonly string[];
  /** Earlier addresses in the manifests that are out of scope. */
  readonly alsoPrevious?: readonly string[];
  readonly allowRecreate?: readonly string[];
}

/** Returns the plan of a world, and checks that it is the same if some decisions are made ahead. */
export function plan(world: World): Plan {
  const input = inputOf(world);
  const result = makePlan(input);
  expect(makePlan({ ...input, decided: decidedAhead(world) })).toEqual(result);
  return result;
}

/** Returns the decisions that are made before everything is observed. */
export function decidedAhead(world: World): DecideAhead['decisions'] {
  const { bindings, observed, ...known } = inputOf(world);
  const deciding = new DecideAhead(known);
  for (const [address, observation] of observed.records) {
    const binding = bindings.get(address);
    if (binding !== undefined) deciding.add(binding, observation);
  }
  deciding.decide();
  return deciding.decisions;
}

function inputOf({
  resources,
  state = stateOf({}),
  observed = observedOf({}),
  scope,
  alsoDeclared,
  alsoPrevious = [],
  allowRecreate = [],
}: World): PlanInput {
  const declared = new Set([...resources.map(({ address }) => address), ...(alsoDeclared ?? [])]);
  return {
    bindings: bindResources(resources, state, declared),
    declared,
    previous: new Set([
      ...resources.flatMap(({ kind, previousNames }) => previousNames.map((name) => `${kind}/${name}`)),
      ...alsoPrevious,
    ]),
    scope,
    state,
    observed,
    fingerprints,
    workspace: { name: 'staging', id: 'W1', baseUrl: 'https://example.com' },
    refresh: true,
    allowReplace: new Set(),
    allowRecreate: new Set(allowRecreate),
    guards: { maxChangedPercent: 50, minResources: 10 },
    version: '1.2.3',
  };
}

export function at({ document }: Plan, address: string): PlannedResource {
  const found = document.resources.find((each) => each.address === address);
  if (found === undefined) throw new Error(`${address} is not in the plan`);
  return found;
}
