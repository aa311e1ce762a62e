import { z } from 'zod';
import { lazily } from '../values/lazily.ts';
import type { StateBackend, StateOwner, StoreUser } from './backends/backend.ts';
import { backends } from './backends/index.ts';
import type { StateStore } from './store.ts';

type BackendName = keyof typeof backends;

/** Where a workspace keeps its state: the backend, and what that needs to find it. */
export type StatePlace = {
  [Name in BackendName]: { readonly backend: Name } & ReturnType<(typeof backends)[Name]['place']>;
}[BackendName];

const [first = 'local', ...others] = Object.keys(backends) as BackendName[];

function schemaOf(name: BackendName) {
  const { settings, description } = backends[name];
  const backend = z.literal(name).describe(description);
  return z.strictObject({ backend: name === first ? backend.optional() : backend, ...settings().shape });
}

/** `state` in the project file. */
export const stateSchema = lazily(
  () =>
    (others.length === 0
      ? schemaOf(first)
      : z.discriminatedUnion('backend', [schemaOf(first), ...others.map(schemaOf)], {
          error: `expected one of ${Object.keys(backends).join(', ')}`,
        })
    ).describe('Where the state is kept.') as z.ZodType<StateSettings>,
);

export interface StateSettings {
  readonly backend?: BackendName | undefined;
  readonly [setting: string]: unknown;
}

/** @param settings as `stateSchema` has checked them; all left out where the project file says nothing. */
export function placeOf(
  { backend = first, ...settings }: StateSettings | undefined = {},
  owner: StateOwner,
): StatePlace {
  return { backend, ...backendOf({ backend }).place(settings, owner) } as StatePlace;
}

export function isBackend(name: string): name is BackendName {
  return Object.hasOwn(backends, name);
}

/** The backend of a place, to be asked about this place and no other. */
export function backendOf({ backend }: { readonly backend: BackendName }): StateBackend {
  return backends[backend];
}

/** True where two places hold the same state. */
export function isSameState(a: StatePlace, b: StatePlace): boolean {
  return a.backend === b.backend && backendOf(a).keyOf(a) === backendOf(b).keyOf(b);
}

/** The store at a place. Touches nothing yet. */
export function createStore(place: StatePlace, user: StoreUser): StateStore {
  return backendOf(place).open(place, user);
}

/** Finds a state of a workspace in the store that a place names, whatever its name there; undefined if the store cannot be searched. */
export function searchAt(place: StatePlace, user: StoreUser): StateStore['elsewhere'] {
  // Without a name of its own, none of the states there is passed over.
  return createStore({ ...place, [backendOf(place).placeSetting]: '' } as StatePlace, user).elsewhere;
}
