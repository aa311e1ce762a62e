/** A pull or merge request, as returned by the host. Its strings are not trusted. */
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
  /** The newest commit of `branch`; for a merged request, the newest commit at the time of the merge. */
  readonly head: string;
  /** True if `branch` is in another repository. */
  readonly isFork: boolean;
  /** The commit on `base` that contains the merged changes; undefined if unknown or if the request is not merged. */
  readonly mergedAs: string | undefined;
}

export type CommitState = 'pending' | 'success' | 'failure';

export interface CommitStatus {
  readonly state: CommitState;
  /** `setStatus` truncates the description to 140 characters. */
  readonly description: string;
  readonly url: string | undefined;
}

/** The users whose reviews count for a request, as sorted user names. */
export interface Reviews {
  /** Users with write access who approved the newest commit, except the author of the request and everyone who contributed commits. */
  readonly approvals: readonly string[];
  /** Users with write access who requested changes. */
  readonly objections: readonly string[];
}

/**
 * The pull requests of one repository. Reads are retried; writes are sent once. All methods throw `HostProblem`. Its failure is
 * `refused` with status 404 if the request or the comment no longer exists.
 */
export interface PullRequests {
  /** Returns the open requests with this base. An unchanged list needs only conditional requests, which rate limits do not count. */
  openFor(base: string): Promise<readonly PullRequest[]>;
  get(number: number): Promise<PullRequest>;
  /** Returns the commit at which the branches of a request diverged. */
  mergeBase(request: PullRequest): Promise<string>;
  reviews(request: PullRequest): Promise<Reviews>;
  setStatus(request: Pick<PullRequest, 'head'>, status: CommitStatus): Promise<void>;
  /** Returns the comments that this client's user wrote and that begin with the text, oldest first. */
  ownComments(number: number, text: string): Promise<readonly { readonly id: string; readonly body: string }[]>;
  addComment(number: number, body: string): Promise<void>;
  changeComment(number: number, id: string, body: string): Promise<void>;
  removeComment(number: number, id: string): Promise<void>;
}

/** The name of the commit status on the code host. */
export const STATUS_NAME = 'voxform';

const MAX_DESCRIPTION_LENGTH = 140;

/** Truncates a description to the maximum length that all hosts accept. */
export function truncateDescription(description: string): string {
  const characters = [...description];
  if (characters.length <= MAX_DESCRIPTION_LENGTH) return description;
  return `${characters.slice(0, MAX_DESCRIPTION_LENGTH - 1).join('')}…`;
}
