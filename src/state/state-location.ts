import { z } from 'zod';
import { lazy } from '../values/lazy.ts';
import type { StateBackend, StateOwner, StoreUser } from './backends/backend.ts';
import { backends } from './backends/index.ts';
import { createStateStore } from './backends/object-store/state-store.ts';
import { type SealSettings, sealSettings } from './seal.ts';
import type { StateStore } from './store.ts';

type BackendName = keyof typeof backends;

/** The location of a workspace's state: the backend and its settings for this workspace. */
export type StateLocation = {
  [Name in BackendName]: {
    readonly backend: Name;
    /** Absent for a state in plain text. */
    readonly seal?: SealSettings | undefined;
  } & ReturnType<(typeof backends)[Name]['locate']>;
}[BackendName];

const [first = 'local', ...others] = Object.keys(backends) as BackendName[];

function schemaOf(name: BackendName) {
  const { settings, description } = backends[name];
  const backend = z.literal(name).describe(description);
  return z.strictObject({
    backend: name === first ? backend.optional() : backend,
    ...settings().shape,
    seal: sealSettings().describe('Encrypts the state with age.').optional(),
  });
}

/** The schema of `state` in the project file. */
export const stateSchema = lazy(
  () =>
    z
      .discriminatedUnion('backend', [schemaOf(first), ...others.map(schemaOf)], {
        error: `expected one of ${Object.keys(backends).join(', ')}`,
      })
      .meta({
        description: `Location of the state: a backend (${Object.keys(backends).join(', ')}; default: ${first}) and its settings; see docs/state.md.`,
        examples: [{ backend: 'git' }],
      }) as z.ZodType<StateSettings>,
);

export interface StateSettings {
  readonly backend?: BackendName | undefined;
  readonly seal?: SealSettings | undefined;
  readonly [setting: string]: unknown;
}

/** @param settings the settings, as checked by `stateSchema`; absent if the project file has none. */
export function locateState(
  { backend = first, seal, ...settings }: StateSettings | undefined = {},
  owner: StateOwner,
): StateLocation {
  return { backend, seal, ...backendOf({ backend }).locate(settings, owner) } as StateLocation;
}

export function isBackend(name: string): name is BackendName {
  return Object.hasOwn(backends, name);
}

export function backendOf({ backend }: { readonly backend: BackendName }): StateBackend {
  return backends[backend];
}

/** True if two locations refer to the same state. */
export function isSameState(a: StateLocation, b: StateLocation): boolean {
  return a.backend === b.backend && backendOf(a).keyOf(a) === backendOf(b).keyOf(b);
}

/** Creates the store of a location. Does not access the storage yet. */
export function createStore(location: StateLocation, user: StoreUser): StateStore {
  return createStateStore(backendOf(location).open(location, user), user);
}

/** Returns a function that finds a state of a workspace, under any name, in the same storage; undefined if it cannot be searched. */
export function searchAt(location: StateLocation, user: StoreUser): StateStore['findOther'] {
  // With an empty name, no state is excluded from the search.
  return createStore({ ...location, [backendOf(location).locationSetting]: '' } as StateLocation, user).findOther;
}
