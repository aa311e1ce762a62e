import type { State } from '../state/state.ts';
import { isLoopback } from '../values/loopback.ts';
import { commitId } from './local-user.ts';
import type { StateAccess } from './state-access.ts';

interface OlderCommit {
  readonly message: string;
  /** False if the clone cannot tell, or if neither commit contains the other. */
  readonly isCertain: boolean;
}

/** Git exits with this code for a commit that does not descend from another. */
const NO = 1;

/**
 * Whether the manifests may be older than those applied last, as in a clone that was not pulled: an apply would undo a colleague's
 * changes. Undefined if not, and for a platform on this machine. Manifests that voxform fetched are the newest of their ref and are not
 * checked.
 */
export async function olderCommit(
  opened: Pick<StateAccess, 'commit' | 'git' | 'workspace'>,
  { appliedCommit: applied }: Pick<State, 'appliedCommit'>,
): Promise<OlderCommit | undefined> {
  if (applied === undefined || isLoopback(new URL(opened.workspace.baseUrl).hostname)) return undefined;
  const { git } = opened;
  const head = commitId(await opened.commit());
  if (git === undefined || head === undefined || head === applied) return undefined;
  const [contains, isContained, shallow] = await Promise.all([
    git('merge-base', '--is-ancestor', applied, head),
    git('merge-base', '--is-ancestor', head, applied),
    git('rev-parse', '--is-shallow-repository'),
  ]);
  if (contains?.code === 0) return undefined;
  const last = `the last apply was of commit ${applied.slice(0, 10)}`;
  if (isContained?.code === 0) {
    return {
      message: `${last}, which is newer than these manifests (${head.slice(0, 10)})`,
      isCertain: true,
    };
  }
  if (shallow?.out.toString().trim() === 'true') {
    return {
      message: `${last}. This shallow clone cannot tell whether these manifests (${head.slice(0, 10)}) are older; fetch the whole history to check this`,
      isCertain: false,
    };
  }
  if (contains?.code === NO) {
    return {
      message: `${last}, which these manifests (${head.slice(0, 10)}) do not contain`,
      isCertain: false,
    };
  }
  return { message: `${last}, which this clone does not have: pull it first`, isCertain: true };
}
