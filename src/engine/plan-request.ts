import type { Address, Resource } from '../manifests/resource.ts';
import type { Guards } from '../project/project.ts';
import type { Selection } from './decide/scope.ts';
import type { ObserveOptions } from './observe/observe-options.ts';
import type { ReadAhead } from './observe/read-ahead.ts';

/** What a plan is made for, and with what. */
export interface PlanRequest extends Omit<ObserveOptions, 'workspaceId'> {
  /** Everything that the manifests declare for the workspace. */
  readonly desired: readonly Resource[];
  readonly selection: Selection;
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
  readonly guards: Guards;
  /** Addresses whose missing records are created again, or `all`. */
  readonly allowRecreate: readonly string[];
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
}
