import type { PlatformClient } from '../../platform/client.ts';
import type { State } from '../../state/state.ts';
import type { OnReadProgress } from './read-counter.ts';

export interface ObserveOptions {
  readonly client: PlatformClient;
  readonly workspaceId: string;
  readonly state: State;
  readonly concurrency: number;
  /** False: recorded records are not read; only what is nowhere recorded is looked for. */
  readonly refresh: boolean;
  /** Do not take it for a wrong key when every recorded record is missing. */
  readonly evenIfAll: boolean;
  readonly onProgress?: OnReadProgress;
}
