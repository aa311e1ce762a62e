import { parseGitAddress } from '../../git/git-address.ts';
import { HostClient } from '../../hosting/host-client.ts';
import { hostCredentials } from '../../hosting/host-credentials.ts';
import { hostKinds, repositoryOnHost } from '../../hosting/index.ts';
import type { WatchLog } from '../../operator/watch-log.ts';
import { proxyFor, secretsOf } from '../../platform/proxy.ts';
import { UserError } from '../../problems/user-error.ts';
import type { Redactor } from '../../values/redactor.ts';
import type { FleetFile } from '../fleet-file.ts';
import { addressText } from '../sources/open-sources.ts';
import type { PullHost } from './pulls.ts';

interface PullHostsOptions {
  readonly fleet: FleetFile;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redactor: Redactor;
  readonly log: WatchLog;
  readonly signal: AbortSignal;
}

/** The hosts of the sources whose pull requests are planned, by source. */
interface PullHosts extends AsyncDisposable {
  readonly hosts: ReadonlyMap<string, PullHost>;
}

/** @throws UserError for a token that is not set or a repository whose host is unknown. Sends nothing yet. */
export function openPullHosts({ fleet, env, redactor, log, signal }: PullHostsOptions): PullHosts {
  const clients: HostClient[] = [];
  const hosts = new Map<string, PullHost>();
  for (const source of fleet.sources) {
    if (!('git' in source) || source.pullRequests === undefined) continue;
    const { name, pullRequests, ref, interval } = source;
    const { url } = parseGitAddress(addressText(source), { cwd: fleet.folder, option: 'git' });
    const place = repositoryOnHost(url, pullRequests);
    if (place === undefined) {
      throw new UserError(`the Git address of ${name} does not tell the host and the repository of its pull requests`, {
        hint: `Set sources.${name}.pull_requests.host and api.`,
      });
    }
    const { host, api, repository } = place;
    const kind = hostKinds[host];
    const proxy = proxyFor(new URL(api), env);
    for (const secret of secretsOf(proxy)) redactor.add(secret);
    const context = {
      api,
      shown: `${repository} on ${new URL(api).host}`,
      repository,
      settings: { api: `sources.${name}.pull_requests.api`, repository: `sources.${name}.git` },
      kind,
      network: { proxy, ca: undefined },
      signal,
      longestPause: 0,
      redact: (text: string) => redactor.redact(text),
      onNotice: (message: string) => log.entry('info', message, { event: 'pulls' }),
      addSecret: (text: string) => redactor.add(text),
      howToSet: (secret: string) => `Set ${secret} in the environment. It needs ${kind.pullRights}.`,
    };
    const credentials = hostCredentials(pullRequests.credentials, context);
    const client = new HostClient({ ...context, credentials, rights: kind.pullRights });
    clients.push(client);
    hosts.set(name, {
      name: host,
      pulls: kind.pulls(client, repository),
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
