import { realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { z } from 'zod';
import { attempt } from '../../../problems/attempt.ts';
import { lazyStrictObject } from '../../../values/described.ts';
import type { StateBackend } from '../backend.ts';
import { withWorkspace } from '../settings.ts';
import { LocalStore } from './local-store.ts';

/** The location is an absolute path. */
export const local: StateBackend<{ readonly path?: string | undefined }, { readonly path: string }> = {
  settings: lazyStrictObject(() => ({
    path: z
      .string()
      .min(1)
      .meta({
        description:
          'Path of the state file, relative to the project, with {workspace} for the name of the workspace; default: .voxform/{workspace}.state.json.',
        examples: ['.voxform/staging.state.json'],
      })
      .optional(),
  })),
  description: 'Backend of the state: local, a file on this machine.',
  locationSetting: 'path',
  locate: ({ path }, { root, workspace }) => ({
    path: resolve(root, withWorkspace(path ?? '.voxform/{workspace}.state.json', workspace)),
  }),
  keyOf: ({ path }) => attempt(() => realpathSync(path)) ?? path,
  describe({ path }, root) {
    const inside = relative(root, path).replaceAll('\\', '/');
    return inside === '' || inside.startsWith('../') ? path : inside;
  },
  fileOf: ({ path }) => path,
  open: ({ path }, user) => new LocalStore({ ...user, path, location: local.describe({ path }, user.root) }),
};
