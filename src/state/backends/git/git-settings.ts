import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseGitAddress } from '../../../git/git-address.ts';
import { attempt } from '../../../problems/attempt.ts';
import { Secret } from '../../../values/value.ts';

export interface GitPlace {
  /** Name of a remote, or the address of a repository. */
  readonly remote: Secret | string;
  /** A whole one. */
  readonly ref: string;
  /** Pattern of the refs that other workspaces have in place of this one, besides those by default. */
  readonly siblings?: string | undefined;
  /** Absolute path of a folder in the repository whose remotes and settings count. Paths begin there. */
  readonly root: string;
  /** Address of the repository that the project was fetched from: `origin` means that one, and there is no other. */
  readonly source?: string | undefined;
}

/** True for what can only be the name of a remote. */
export function isRemoteName(text: string): boolean {
  return /^\w[\w.-]*$/.test(text);
}

/** True for an address that has its password in it. */
export function hasPassword(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/]*:[^/]*@/i.test(text);
}

/** How messages call the remote; without any password. */
export function shownRemote({ remote }: Pick<GitPlace, 'remote'>): string {
  if (remote instanceof Secret) return `the repository in ${remote.name}`;
  return remote.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1');
}

/** The same after the words "the remote". */
export function namedRemote({ remote }: Pick<GitPlace, 'remote'>): string {
  return remote instanceof Secret ? `in ${remote.name}` : shownRemote({ remote });
}

/** The same for each way to write one remote, as far as that can be told without asking git. */
export function remoteKey({ remote, root }: GitPlace): string {
  const text = textOf(remote);
  return text === undefined ? shownRemote({ remote }) : (pathIn(text, root) ?? text);
}

/** The path on this machine that a remote is; undefined for a name, and for what is elsewhere. */
export function remotePath({ remote, root }: GitPlace): string | undefined {
  const text = textOf(remote);
  return text === undefined ? undefined : pathIn(text, root);
}

function textOf(remote: Secret | string): string | undefined {
  if (typeof remote === 'string') return remote;
  return remote.isSet ? remote.reveal() : undefined;
}

function pathIn(text: string, root: string): string | undefined {
  if (isRemoteName(text)) return undefined;
  return attempt(() => {
    const { url } = parseGitAddress(text, { cwd: root, option: 'state.remote' });
    if (url.startsWith('file:')) return fileURLToPath(url);
    return isAbsolute(url) ? url : undefined;
  });
}
