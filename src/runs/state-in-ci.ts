import { existsSync } from 'node:fs';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { type GitCall, gitEnvironment, runGit } from '../git/run-git.ts';
import { UserError } from '../problems/user-error.ts';
import { commandFor } from '../problems/workspace-command.ts';
import type { StateSession } from '../state/session.ts';
import { backendOf } from '../state/state-place.ts';
import { isLoopback } from '../values/loopback.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import type { RunContext } from './run-context.ts';

const SHARED = 'Set state: { backend: git } in voxform.yaml';

/**
 * Warns if Git tracks the state: other CI jobs see neither a state in this checkout nor its lock.
 * @throws UserError if there is no state yet, because the ids of new records would be lost with the checkout.
 */
export async function checkStateInCi(
  { env, log }: Pick<RunContext, 'env' | 'log'>,
  { project, workspace, reach }: OpenWorkspace,
): Promise<void> {
  if (!isInCi(env)) return;
  const backend = backendOf(workspace.state);
  const file = backend.fileOf(workspace.state);
  if (file === undefined) return;
  const location = backend.locationOf(workspace.state, project.root);
  const tracking = await trackingOf(file, { env, cwd: project.root });
  if (tracking === 'untracked' && !existsSync(file)) {
    // A platform on this machine is for trials.
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

interface FirstState {
  readonly opened: OpenWorkspace;
  readonly session: StateSession;
  readonly document: PlanDocument;
  /** True if a person is asked for approval. */
  readonly isAsked: boolean;
}

/**
 * Refuses a first state without a person who would notice: the real state may be in a store that the settings no longer name, and
 * everything would be created again.
 * @throws UserError
 */
export function refuseFirstState(
  { env }: Pick<RunContext, 'env'>,
  { opened, session, document, isAsked }: FirstState,
): void {
  const { workspace, store, reach } = opened;
  const creates = document.summary.create;
  if (!session.isFirst || creates === 0 || (isAsked && !isInCi(env))) return;
  // A platform on this machine is for trials.
  if (isLoopback(new URL(workspace.baseUrl).hostname)) return;
  throw new UserError(
    `no state at ${store.location} yet, and this apply would create ${creates} ${creates === 1 ? 'record' : 'records'}`,
    {
      hint: `If this workspace had a state before, restore or move it. To start with an empty one: ${commandFor('voxform state init', reach)}`,
    },
  );
}

function isInCi({ CI }: RunContext['env']): boolean {
  return CI !== undefined && CI !== '' && CI !== 'false';
}
