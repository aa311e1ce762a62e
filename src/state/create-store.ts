import { relative } from 'node:path';
import type { WorkspaceConfig } from '../project/project.ts';
import { createLocalStore, type LocalStoreOptions } from './backends/local/local-store.ts';
import type { StateStore } from './store.ts';

/** Who works with the state, for its lock, and in which project. */
export interface StoreUser
  extends Pick<
    LocalStoreOptions,
    'host' | 'user' | 'pid' | 'version' | 'now' | 'failPoint' | 'marks' | 'workspaceFlag'
  > {
  /** Absolute path of the project folder: messages call a state inside it by its path from there. */
  readonly root: string;
}

/** The store that a workspace's configuration names. Touches nothing yet. */
export function createStore(config: WorkspaceConfig['state'], { root, ...user }: StoreUser): StateStore {
  switch (config.backend) {
    case 'local':
      return createLocalStore({ ...user, path: config.path, location: nameOf(config.path, root) });
    default:
      return config.backend satisfies never;
  }
}

function nameOf(path: string, root: string): string {
  const inside = relative(root, path).replaceAll('\\', '/');
  return inside === '' || inside.startsWith('../') ? path : inside;
}
