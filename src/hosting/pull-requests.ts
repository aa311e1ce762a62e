/** A pull request, or a merge request, as its host describes it. Texts are not trusted. */
export interface PullRequest {
  readonly number: number;
  readonly url: string;
  readonly title: string;
  readonly state: 'open' | 'closed' | 'merged';
  /** The user name of the author. */
  readonly author: string;
  /** The branch that receives the changes. */
  readonly base: string;
  /** The branch with the changes. */
  readonly branch: string;
  /** The newest commit of `branch`; for a merged request, as of the merge. */
  readonly head: string;
  /** True if `branch` is in another repository. */
  readonly isFork: boolean;
  /** The commit of `base` with the merged changes. */
  readonly mergedAs: string | undefined;
}

export type CommitState = 'pending' | 'success' | 'failure';

export interface CommitStatus {
  readonly state: CommitState;
  /** At most 140 characters. */
  readonly description: string;
  readonly url: string | undefined;
}

/** Reviews that count for the newest commit of a request. User names, sorted. */
export interface Reviews {
  /** Users with write access who approved this commit, except its author and everyone who pushed to the branch. */
  readonly approvals: readonly string[];
  /** Users with write access who requested changes. */
  readonly objections: readonly string[];
}

/**
 * The pull requests of one repository. Reads are retried; writes are sent once. All methods throw `HostProblem`; its failure is
 * `refused` with status 404 if a request or a comment is gone.
 */
export interface PullRequests {
  /** All open requests for a branch. An unchanged list costs a conditional request, which does not count towards a rate limit. */
  openFor(base: string): Promise<readonly PullRequest[]>;
  get(number: number): Promise<PullRequest>;
  /** The commit at which the branches of a request diverged. */
  mergeBase(request: PullRequest): Promise<string>;
  reviews(request: PullRequest): Promise<Reviews>;
  setStatus(request: Pick<PullRequest, 'head'>, status: CommitStatus): Promise<void>;
  /** The ids of the comments that this client's user wrote and that begin with the text, oldest first. */
  ownComments(number: number, text: string): Promise<readonly { readonly id: string; readonly body: string }[]>;
  addComment(number: number, body: string): Promise<void>;
  changeComment(number: number, id: string, body: string): Promise<void>;
  removeComment(number: number, id: string): Promise<void>;
}

/** The name of the status on its host. */
export const STATUS_NAME = 'voxform';

const LONGEST_DESCRIPTION = 140;

/** Truncates a description to the limit of all hosts. */
export function shortened(description: string): string {
  const characters = [...description];
  if (characters.length <= LONGEST_DESCRIPTION) return description;
  return `${characters.slice(0, LONGEST_DESCRIPTION - 1).join('')}…`;
}
