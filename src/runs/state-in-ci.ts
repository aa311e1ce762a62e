import { existsSync } from 'node:fs';
import { type GitCall, gitEnvironment, runGit } from '../git/run-git.ts';
import { UserError } from '../problems/user-error.ts';
import { commandFor } from '../problems/workspace-command.ts';
import { backendOf } from '../state/state-place.ts';
import { isLoopback } from '../values/loopback.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import type { RunContext } from './run-context.ts';

const SHARED = 'Set state: { backend: git } in voxform.yaml';

/**
 * Other jobs see neither a state in the checkout of this one nor its lock: warns where Git has the state.
 * @throws UserError where there is no state yet, because what this job creates would be lost with the checkout.
 */
export async function checkStateInCi(
  { env, log }: Pick<RunContext, 'env' | 'log'>,
  { project, workspace, reach }: OpenWorkspace,
): Promise<void> {
  if (env.CI === undefined || env.CI === '' || env.CI === 'false') return;
  const backend = backendOf(workspace.state);
  const file = backend.fileOf(workspace.state);
  if (file === undefined) return;
  const location = backend.locationOf(workspace.state, project.root);
  const tracking = await trackingOf(file, { env, cwd: project.root });
  if (tracking === 'untracked' && !existsSync(file)) {
    // A platform on this machine is one to try things with.
    if (isLoopback(new URL(workspace.baseUrl).hostname)) return;
    throw new UserError(
      `no state at ${location} yet, and no other job would see the one that this job creates`,
      {
        hint: `${SHARED}. To start with an empty state in this checkout: ${commandFor('voxform state init', reach)}`,
      },
    );
  }
  if (tracking !== 'tracked') return;
  log.warn(
    `the state ${location} is in Git, and other jobs do not see its lock. ${SHARED}, then run: ${commandFor(`voxform state move --from ${location}`, reach)}`,
  );
}

/** Undefined for a file outside of a repository, and without git. */
async function trackingOf(
  file: string,
  call: Pick<GitCall, 'env' | 'cwd'>,
): Promise<'tracked' | 'untracked' | undefined> {
  const signal = new AbortController().signal;
  const env = gitEnvironment(call.env);
  const result = await runGit(['ls-files', '--error-unmatch', '--', file], { ...call, env, signal }).catch(
    () => undefined,
  );
  return result?.code === 0 ? 'tracked' : result?.code === 1 ? 'untracked' : undefined;
}
