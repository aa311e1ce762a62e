import { remoteServer } from '../git/git-address.ts';
import type { HostKind } from './code-host.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';

/** Code hosts with pull or merge requests, by their names in settings. */
export const hostKinds = { github, gitlab } satisfies Record<string, HostKind>;

export type HostName = keyof typeof hostKinds;

export const hostNames = Object.keys(hostKinds) as HostName[];

interface HostedRepository {
  readonly host: HostName;
  /** Address of the API, without a final slash. */
  readonly api: string;
  /** Path of the repository on the host. */
  readonly repository: string;
}

/** The repository that is fetched from this address; undefined if the address and the settings do not tell. */
export function repositoryOnHost(
  address: string,
  settings: { readonly host: HostName | undefined; readonly api: string | undefined },
): HostedRepository | undefined {
  const remote = remoteServer(address);
  if (remote === undefined) return undefined;
  const host = settings.host ?? hostNames.find((name) => hostKinds[name].isAt(remote.hostname));
  if (host === undefined || !hostKinds[host].isRepository(remote.path)) return undefined;
  return { host, api: settings.api ?? hostKinds[host].apiOf(remote), repository: remote.path };
}
