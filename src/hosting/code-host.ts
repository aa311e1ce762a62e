import type { ProcessEnvironment } from '../files/run-process.ts';
import type { HostClient } from './host-client.ts';
import type { HostJob } from './host-job.ts';
import type { PullRequest, PullRequests } from './pull-requests.ts';

export interface HostRequest extends Pick<PullRequest, 'number' | 'url' | 'state' | 'base' | 'head'> {
  readonly body: string;
}

interface NewRequest extends Pick<PullRequest, 'branch' | 'base' | 'title'> {
  readonly body: string;
}

export interface RequestChange {
  readonly state?: 'closed';
  readonly body?: string;
  readonly base?: string;
}

/** The pull or merge requests of one repository. Reads are retried; writes are sent once. Throws `HostProblem`. */
export interface CodeHost {
  /** All requests of the branch, newest first, without those from forks. */
  requests(branch: string): Promise<readonly HostRequest[]>;
  open(request: NewRequest): Promise<HostRequest>;
  change(number: number, change: RequestChange): Promise<void>;
}

export interface HostKind {
  /** True for the usual names of its servers. */
  isAt(hostname: string): boolean;
  /** The address of the API of a server; `host` includes the port. */
  apiOf(server: { readonly protocol: string; readonly hostname: string; readonly host: string }): string;
  /** The reverse of `apiOf`: the prefix of repository addresses, without a final slash. */
  serverOf(api: URL): string;
  /** The API and repository of the host's CI job; undefined outside of one. */
  inJob(env: ProcessEnvironment): { readonly api: string; readonly repository: string } | undefined;
  /** Default name of the secret with the token. */
  readonly token: string;
  /** The user name for a token in git. */
  readonly gitUser: string;
  /** The permissions that `open` and pushes need, for messages. */
  readonly rights: string;
  /** The permissions that `pulls` and fetches need, for messages. */
  readonly pullRights: string;
  readonly headers?: Readonly<Record<string, string>>;
  isRepository(path: string): boolean;
  /** The part between the repository and the commit in addresses of files. */
  readonly filePath: string;
  /** The maximum length of a comment, in characters. */
  readonly longestComment: number;
  /** The text without lines that the host would run as commands. */
  commentSafe(text: string): string;
  open(client: HostClient, repository: string): CodeHost;
  pulls(client: HostClient, repository: string): PullRequests;
  readonly job: HostJob;
}
