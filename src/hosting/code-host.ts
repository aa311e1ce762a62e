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

/** The pull or merge requests of one repository. Reads are retried; writes are sent once. The methods throw `HostProblem`. */
export interface CodeHost {
  /** Returns all requests of the branch except requests from forks, newest first. */
  requests(branch: string): Promise<readonly HostRequest[]>;
  open(request: NewRequest): Promise<HostRequest>;
  change(number: number, change: RequestChange): Promise<void>;
}

export interface HostKind {
  /** Returns true if servers of this kind usually have such a hostname, such as github.com. */
  isAt(hostname: string): boolean;
  /** Returns the address of a server's API. `host` includes the port. */
  apiOf(server: { readonly protocol: string; readonly hostname: string; readonly host: string }): string;
  /** The inverse of `apiOf`: returns the prefix of repository addresses, without a trailing slash. */
  serverOf(api: URL): string;
  /** Returns the API and repository of the current CI job; undefined if the process does not run in a CI job of this host. */
  inJob(env: ProcessEnvironment): { readonly api: string; readonly repository: string } | undefined;
  /** The default name of the secret that contains the token. */
  readonly token: string;
  /** The user name that git must send with a token. */
  readonly gitUser: string;
  /** The permissions that `open` and pushes need, for messages. */
  readonly rights: string;
  /** The permissions that `pulls` and fetches need, for messages. */
  readonly pullRights: string;
  readonly headers?: Readonly<Record<string, string>>;
  isRepository(path: string): boolean;
  /** The part of a file's address between the repository and the commit. */
  readonly filePath: string;
  /** The maximum length of a comment, in characters. */
  readonly maxCommentLength: number;
  /** Escapes the lines that the host would run as commands. */
  commentSafe(text: string): string;
  open(client: HostClient, repository: string): CodeHost;
  pulls(client: HostClient, repository: string): PullRequests;
  readonly job: HostJob;
}
