/** A request to merge a branch, as its host has it. */
export interface HostRequest {
  readonly number: number;
  readonly url: string;
  readonly state: 'open' | 'closed' | 'merged';
  /** Branch that it goes to. */
  readonly base: string;
  readonly body: string;
}

/** What a branch has and its base has not. */
export interface BranchContent {
  readonly mergeBase: string;
  readonly commits: readonly { readonly id: string; readonly message: string }[];
  /** Paths that differ from the merge base. */
  readonly files: readonly string[];
  /** False where the host has shown a part only. */
  readonly isWhole: boolean;
}

export interface CommitWanted {
  readonly branch: string;
  /** What the branch points to; undefined where it is to be made. */
  readonly head: string | undefined;
  /** The head, or another commit: then the branch leaves what it had behind. */
  readonly parent: string;
  readonly message: string;
  /** By path. */
  readonly files: ReadonlyMap<string, string>;
}

export interface RequestChange {
  readonly state?: 'open' | 'closed';
  readonly body?: string;
  readonly base?: string;
}

/**
 * A repository on a host that merges branches by request. Reads are repeated until they succeed or patience ends; what
 * writes is sent once. Throws `HostProblem`.
 */
export interface CodeHost {
  /** For messages, e.g. `acme/voices on github.com`. */
  readonly shown: string;
  defaultBranch(): Promise<string>;
  /** The commit that a branch points to; undefined where there is no such branch. */
  head(branch: string): Promise<string | undefined>;
  contentOf(head: string, base: string): Promise<BranchContent>;
  /** Ids of blobs by path, without those that are not there. */
  blobs(commit: string, paths: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** All requests of the branch, the newest first; none from forks. */
  requests(branch: string): Promise<readonly HostRequest[]>;
  /** Must not commit where the branch has moved on. */
  commit(wanted: CommitWanted): Promise<void>;
  open(request: {
    readonly branch: string;
    readonly base: string;
    readonly title: string;
    readonly body: string;
  }): Promise<HostRequest>;
  change(number: number, change: RequestChange): Promise<void>;
}
