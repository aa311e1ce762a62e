import { parseGitAddress } from '../../git/git-address.ts';
import type { HostClientOptions } from '../../hosting/host-client.ts';
import { hostCredentials } from '../../hosting/host-credentials.ts';
import { type HostName, hostKinds, repositoryOnHost } from '../../hosting/index.ts';
import { proxyFor, secretsOf } from '../../platform/proxy.ts';
import { UserError } from '../../problems/user-error.ts';
import type { Redactor } from '../../values/redactor.ts';
import type { GitSourceSettings, PullRequestSettings } from '../fleet-file.ts';

/** A source whose pull requests are planned. */
interface SourceOnHost extends GitSourceSettings {
  readonly pullRequests: PullRequestSettings;
}

interface AccessOptions {
  /** The Git address of the source, including its password, if any. */
  readonly address: string;
  /** The absolute path of the folder of the fleet file. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
  onNotice(message: string): void;
}

/** The settings for a client of the host's API. */
interface HostAccess {
  readonly host: HostName;
  readonly repository: string;
  readonly client: HostClientOptions;
  /** The prefix of repository addresses on this host, without a trailing slash. */
  readonly server: string;
}

/**
 * Returns the settings for the API of a source's code host. Sends no request.
 * @throws UserError if credentials are not set, or if the host of the repository is unknown.
 */
export function hostAccess(source: SourceOnHost, options: AccessOptions): HostAccess {
  const { name, pullRequests } = source;
  const { address, folder, env, redactor, signal, onNotice } = options;
  const { url } = parseGitAddress(address, { cwd: folder, option: 'git' });
  const found = repositoryOnHost(url, pullRequests);
  if (found === undefined) {
    throw new UserError(
      `cannot determine the code host and the repository of the source ${name} from its Git address`,
      {
        hint: `Set sources.${name}.pull_requests.host and api.`,
      },
    );
  }
  const { host, api, repository } = found;
  const kind = hostKinds[host];
  const proxy = proxyFor(new URL(api), env);
  for (const secret of secretsOf(proxy)) redactor.add(secret);
  const client = {
    api,
    shown: `${repository} on ${new URL(api).host}`,
    rights: kind.pullRights,
    settings: { api: `sources.${name}.pull_requests.api`, repository: `sources.${name}.git` },
    kind,
    network: { proxy, ca: undefined },
    signal,
    maxPauseMs: 0,
    redact: (text: string) => redactor.redact(text),
    onNotice,
  };
  const credentials = hostCredentials(pullRequests.credentials, {
    ...client,
    repository,
    howToSet: (secret) => `Set ${secret} in the environment. It needs ${kind.pullRights}.`,
    addSecret: (text) => redactor.add(text),
  });
  return { host, repository, client: { ...client, credentials }, server: kind.serverOf(new URL(api)) };
}
