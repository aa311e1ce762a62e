import type { Kind, Lookup } from '../kinds/kind.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { Guards } from '../project/project.ts';
import type { State } from '../state/state.ts';
import type { Selection } from './decide/scope.ts';
import type { ReadAhead } from './observe/read-ahead.ts';
import type { ReadProgress } from './observe/read-counter.ts';

/** What a plan is made for, and with what. */
export interface PlanRequest {
  /** Everything that the manifests declare for the workspace. */
  readonly desired: readonly Resource[];
  readonly state: State;
  readonly selection: Selection;
  readonly client: PlatformClient;
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly lookups: ReadonlyMap<string, Lookup>;
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
  readonly guards: Guards;
  readonly concurrency: number;
  /** False: recorded records are not read; only what is nowhere recorded is looked for. */
  readonly refresh: boolean;
  /** Addresses whose missing records are created again, or `all`. */
  readonly allowRecreate: readonly string[];
  /** Go on where every record that was read is missing. */
  readonly evenIfAll: boolean;
  readonly allowReplace: readonly Address[];
  /** Sends again what the platform did not apply. */
  readonly retryIgnored?: boolean;
  readonly version: string;
  /** What was begun to be read before. Its time counts as when the platform was read. */
  readonly ahead?: ReadAhead | undefined;
  /** Says of each record that changes what leads to it; lists what that needs where something changes. */
  readonly routes?: boolean;
  /** Compares drafts that may be newer than their published version with it: those that change, or all. */
  readonly publications?: 'changes' | 'all' | undefined;
  now(): Date;
  onProgress?(progress: ReadProgress): void;
}
