import type { PlatformClient } from '../../platform/client.ts';
import type { State } from '../../state/state.ts';
import type { OnReadProgress } from './read-counter.ts';

export interface ObserveOptions {
  readonly client: PlatformClient;
  readonly workspaceId: string;
  readonly state: State;
  readonly concurrency: number;
  /** False: recorded records are not read; only unrecorded ones are searched. */
  readonly refresh: boolean;
  /** Do not assume a wrong API key if all recorded records are missing. */
  readonly evenIfAll: boolean;
  readonly onProgress?: OnReadProgress;
}
