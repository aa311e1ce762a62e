import { remoteServer } from '../git/git-address.ts';
import type { HostKind } from './code-host.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';

/** Code hosts with pull or merge requests, by their names in settings. */
export const hostKinds = { github, gitlab } satisfies Record<string, HostKind>;

export type HostName = keyof typeof hostKinds;

export const hostNames = Object.keys(hostKinds) as HostName[];

export interface HostedRepository {
  readonly host: HostName;
  /** Address of the API, without a final slash. */
  readonly api: string;
  /** Path of the repository on the host. */
  readonly repository: string;
}

/** The repository that is fetched from this address; undefined if the address and the settings do not identify it. */
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

interface CommittedFolder {
  /** Address of the repository. */
  readonly address: string;
  readonly host: HostName | undefined;
  /** With slashes; empty for the root. */
  readonly folder: string;
  readonly commit: string;
}

/**
 * The address of the files of a folder at a commit, with `{file}` and `{line}`; undefined for a host that is not known, and for files that
 * differ from the commit.
 */
export function filesOnHost({ address, host, folder, commit }: CommittedFolder): string | undefined {
  const found = repositoryOnHost(address, { host, api: undefined });
  if (found === undefined || !/^[0-9a-f]{40,64}$/.test(commit)) return undefined;
  const { filePath, serverOf } = hostKinds[found.host];
  const parts = [serverOf(new URL(found.api)), found.repository, filePath, commit, ...pathParts(folder), '{file}'];
  return `${parts.join('/')}#L{line}`;
}

/** The address of a line; undefined for a file outside of the folder. */
export function fileOnHost(files: string, { file, line }: { readonly file: string; readonly line: number }) {
  if (file.split('/').includes('..')) return undefined;
  const text = files.replace(/\{(file|line)\}/g, (_, key) =>
    key === 'file' ? pathParts(file).join('/') : String(line),
  );
  return URL.canParse(text) && /^https?:/.test(text) ? new URL(text) : undefined;
}

function pathParts(path: string): string[] {
  return path
    .split('/')
    .filter((part) => part !== '')
    .map(encodeURIComponent);
}
