import { kindNamed } from '../../kinds/index.ts';
import { type Address, kindOf, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import { type Binding, bindResources } from './bind.ts';
import { refuseUnknown, type Selection, scopeOf } from './scope.ts';

/** What a run is about: the resources in its scope, each with what the state remembers of it. */
export interface Bound {
  readonly bindings: ReadonlyMap<Address, Binding>;
  /** Everything that the manifests declare. */
  readonly declared: ReadonlySet<Address>;
  /** The addresses that they had before, as their manifests say. */
  readonly previous: ReadonlySet<Address>;
  /** The addresses that may be planned; undefined for all. */
  readonly scope: ReadonlySet<Address> | undefined;
  readonly allowReplace: ReadonlySet<Address>;
  /** Addresses, or `all`. */
  readonly allowRecreate: ReadonlySet<string>;
}

export interface BindingRequest {
  /** Everything that the manifests declare for the workspace. */
  readonly desired: readonly Resource[];
  readonly selection: Selection;
  /** Addresses whose missing records are created again, or `all`. */
  readonly allowRecreate: readonly string[];
  readonly allowReplace: readonly Address[];
  readonly state: State;
}

/** @throws UserError for an address that is given and unknown, and for a kind that only a newer version knows. */
export function bindDesired(request: BindingRequest): Bound {
  const { desired, state } = request;
  // What a newer voxform keeps there must not be forgotten by this one.
  for (const address of [...state.resources.keys(), ...state.pending.keys()]) kindNamed(kindOf(address));
  const declared = new Set(desired.map(({ address }) => address));
  const scope = scopeOf(request.selection, { resources: desired, state });
  refuseUnknown(request.allowReplace, { known: declared, option: '--allow-replace' });
  const named = request.allowRecreate.filter((each) => each !== 'all');
  refuseUnknown(named, { known: declared, option: '--allow-recreate' });
  const inScope = desired.filter(({ address }) => scope?.has(address) ?? true);
  return {
    bindings: bindResources(inScope, { state, declared }),
    declared,
    previous: new Set(
      desired.flatMap(({ kind, previousNames }) => previousNames.map((name) => `${kind}/${name}`)),
    ),
    scope,
    allowReplace: new Set(request.allowReplace),
    allowRecreate: new Set(request.allowRecreate),
  };
}
