import type { HostClient } from './host-client.ts';

/** A request to merge a branch, as its host has it. */
export interface HostRequest {
  readonly number: number;
  readonly url: string;
  readonly state: 'open' | 'closed' | 'merged';
  /** Branch that it goes to. */
  readonly base: string;
  /** Newest commit of its branch, as of the merge if it was merged. */
  readonly head: string;
  readonly body: string;
}

interface NewRequest {
  readonly branch: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
}

export interface RequestChange {
  readonly state?: 'closed';
  readonly body?: string;
  readonly base?: string;
}

/** The requests of one repository. Reads are retried; writes are sent once. Throws `HostProblem`. */
export interface CodeHost {
  /** All requests of the branch, the newest first; none from forks. */
  requests(branch: string): Promise<readonly HostRequest[]>;
  open(request: NewRequest): Promise<HostRequest>;
  change(number: number, change: RequestChange): Promise<void>;
}

/** One kind of host, before it is called. */
export interface HostKind {
  /** True for the usual names of its servers. */
  isAt(hostname: string): boolean;
  /** Address of the API, by that of the server; `host` has the port. */
  apiOf(server: { readonly protocol: string; readonly hostname: string; readonly host: string }): string;
  /** The reverse: what the addresses of repositories begin with, without a slash at the end. */
  serverOf(api: URL): string;
  /** What a CI job of the host knows of it. */
  inJob(
    env: Readonly<Record<string, string | undefined>>,
  ): { readonly api: string; readonly repository: string } | undefined;
  /** Default name of the secret with the token. */
  readonly token: string;
  /** User name that goes with a token for git. */
  readonly gitUser: string;
  /** That the token needs, for messages. */
  readonly rights: string;
  readonly headers?: Readonly<Record<string, string>>;
  isRepository(path: string): boolean;
  open(client: HostClient, repository: string): CodeHost;
}
