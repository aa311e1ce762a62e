import { z } from 'zod';
import { isRefName } from '../../../git/git-address.ts';
import { UserError } from '../../../problems/user-error.ts';
import { lazyStrictObject } from '../../../values/described.ts';
import type { StateBackend } from '../backend.ts';
import { secretTextSetting, withWorkspace } from '../settings.ts';
import { type GitLocation, hasPassword, remoteKey, remotePath, shownRemote } from './git-settings.ts';
import { createGitStore } from './git-store.ts';
import { RefAccess } from './ref-access.ts';

const REF = 'refs/voxform/{workspace}';
/** Patterns that would also match branches or tags without a state. */
const ALL_REFS = /^refs\/((heads|tags)\/)?\*$/;

const settings = lazyStrictObject(() => ({
  remote: secretTextSetting(
    z
      .string()
      .min(1)
      .refine((text) => !hasPassword(text), {
        error: 'the password must not be in the project file; use { $secret: NAME } or { $env: NAME }',
      }),
    {
      description:
        "Repository with the state: the name of a remote of the project's repository, or an address; default: origin.",
      examples: ['origin', 'git@git.example.com:team/voice-state.git', { $secret: 'STATE_REPOSITORY' }],
    },
  ).optional(),
  ref: z
    .string()
    .refine((ref) => ref.startsWith('refs/') && isRefName(withWorkspace(ref, 'x')), {
      error: 'expected a full ref, such as refs/voxform/{workspace}',
    })
    .meta({
      description: `Ref of the state, with {workspace} for the name of the workspace; default: ${REF}.`,
      examples: [REF, 'refs/heads/voxform/{workspace}'],
    })
    .optional(),
}));

export const git: StateBackend<z.infer<ReturnType<typeof settings>>, GitLocation> = {
  settings,
  description: 'Backend of the state: git, a ref of a shared Git repository.',
  locationSetting: 'ref',
  locate({ remote = 'origin', ref = REF }, { root, workspace, source }) {
    const siblings = withWorkspace(ref, '*');
    return {
      remote,
      ref: withWorkspace(ref, workspace),
      ...(ref !== REF && siblings !== ref && !ALL_REFS.test(siblings) && { siblings }),
      root,
      ...(source !== undefined && { source }),
    };
  },
  keyOf: (location) => `${remoteKey(location)} ${location.ref}`,
  describe: (location) => `${location.ref} of ${shownRemote(location)}`,
  folderOf(location) {
    const path = remotePath(location);
    return path === undefined ? undefined : { setting: 'remote', path };
  },
  prepare: (location, user) => new RefAccess(location, user).prepare(user.stop ?? new AbortController().signal),
  open(location, user) {
    if (location.ref !== '' && !isRefName(location.ref)) {
      throw new UserError(`state.ref: ${location.ref} is not a valid ref`, {
        hint: 'Set a separate ref for this workspace, such as refs/voxform/production.',
      });
    }
    return createGitStore(location, user, git.describe(location, user.root));
  },
};
