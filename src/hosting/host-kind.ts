import type { CodeHost } from './code-host.ts';
import type { HostClient } from './host-client.ts';

/** What there is to know of one kind of host before it is spoken to. */
export interface HostKind {
  /** True where servers of that name are most likely of this kind. */
  isAt(hostname: string): boolean;
  /** Address of the API, by that of the server; `host` has the port. */
  apiOf(server: { readonly protocol: string; readonly hostname: string; readonly host: string }): string;
  /** What a CI job of such a host is told of itself. */
  inJob(
    env: Readonly<Record<string, string | undefined>>,
  ): { readonly api: string; readonly repository: string } | undefined;
  /** Name of the secret that holds the token, where settings name none. */
  readonly token: string;
  /** That the token needs, for messages. */
  readonly rights: string;
  readonly headers?: Readonly<Record<string, string>>;
  isRepository(path: string): boolean;
  open(client: HostClient, place: { readonly repository: string; readonly shown: string }): CodeHost;
}
