import type { Guards } from '../../project/project.ts';
import type { BindingRequest } from '../decide/bind-desired.ts';
import type { ObserveOptions } from './observe-options.ts';
import type { ReadAhead } from './read-ahead.ts';

/** What a plan is made for, and with what. */
export interface PlanRequest extends Omit<ObserveOptions, 'workspaceId'>, BindingRequest {
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
  readonly guards: Guards;
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
