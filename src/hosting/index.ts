import { remoteServer } from '../git/git-address.ts';
import type { HostKind } from './code-host.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';

/** The supported code hosts, by their names in settings. */
export const hostKinds = { github, gitlab } satisfies Record<string, HostKind>;

export type HostName = keyof typeof hostKinds;

export const hostNames = Object.keys(hostKinds) as HostName[];

export interface HostedRepository {
  readonly host: HostName;
  /** The address of the API, without a trailing slash. */
  readonly api: string;
  /** The path of the repository on the host. */
  readonly repository: string;
}

/** Returns the repository at a Git address; undefined if the address and the settings do not identify a repository. */
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
  /** The Git address of the repository. */
  readonly address: string;
  readonly host: HostName | undefined;
  /** The path of the folder in the repository, with slashes; empty for the root. */
  readonly folder: string;
  readonly commit: string;
}

/**
 * Returns the address of the files in a folder at a commit, with the placeholders `{file}` and `{line}`. Returns undefined if the host is
 * unknown, or if `commit` is not a full commit id, for example because the files differ from the commit.
 */
export function filesOnHost({ address, host, folder, commit }: CommittedFolder): string | undefined {
  const found = repositoryOnHost(address, { host, api: undefined });
  if (found === undefined || !/^[0-9a-f]{40,64}$/.test(commit)) return undefined;
  const { filePath, serverOf } = hostKinds[found.host];
  const parts = [serverOf(new URL(found.api)), found.repository, filePath, commit, ...pathParts(folder), '{file}'];
  return `${parts.join('/')}#L{line}`;
}

/** Returns the address of a line; undefined for a file outside the folder. */
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
