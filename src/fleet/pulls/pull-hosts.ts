import { HostClient } from '../../hosting/host-client.ts';
import { type HostName, hostKinds } from '../../hosting/index.ts';
import type { PullRequests } from '../../hosting/pull-requests.ts';
import type { WatchLog } from '../../operator/watch-log.ts';
import type { Redactor } from '../../values/redactor.ts';
import type { FleetFile } from '../fleet-file.ts';
import { hostAccess } from '../sources/host-access.ts';
import { addressText } from '../sources/open-sources.ts';

/** The code host of a source whose pull requests are planned. */
export interface PullHost {
  readonly name: HostName;
  readonly pulls: PullRequests;
  /** True if requests from forks are planned too, with the secrets of the workspace. */
  readonly forks: boolean;
  /** The branch whose requests are planned. */
  readonly base: string;
  /** Milliseconds between two checks of a merged request. */
  readonly interval: number;
}

interface PullHostsOptions {
  readonly fleet: FleetFile;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redactor: Redactor;
  readonly log: WatchLog;
  readonly signal: AbortSignal;
}

interface PullHosts extends AsyncDisposable {
  /** The code host of each source whose pull requests are planned, by source name. */
  readonly hosts: ReadonlyMap<string, PullHost>;
}

/** Creates clients for the code hosts. Sends no request. @throws UserError if credentials are not set or a repository's host is unknown. */
export function openPullHosts({ fleet, env, redactor, log, signal }: PullHostsOptions): PullHosts {
  const clients: HostClient[] = [];
  const hosts = new Map<string, PullHost>();
  for (const source of fleet.sources) {
    if (!('git' in source) || source.pullRequests === undefined) continue;
    const { name, pullRequests, ref, interval } = source;
    const { host, repository, client } = hostAccess(
      { ...source, pullRequests },
      {
        address: addressText(source),
        folder: fleet.folder,
        env,
        redactor,
        signal,
        onNotice: (message) => log.entry('info', message, { event: 'pulls' }),
      },
    );
    const connection = new HostClient(client);
    clients.push(connection);
    hosts.set(name, {
      name: host,
      pulls: hostKinds[host].pulls(connection, repository),
      forks: pullRequests.forks,
      base: ref,
      interval,
    });
  }
  return {
    hosts,
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((each) => each.close()));
    },
  };
}
