import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseGitAddress } from '../../../git/git-address.ts';
import { attempt } from '../../../problems/attempt.ts';
import { Secret } from '../../../values/value.ts';

export interface GitLocation {
  /** Name of a remote, or the address of a repository. */
  readonly remote: Secret | string;
  readonly ref: string;
  /** Pattern of the refs of other workspaces, in addition to the default refs. */
  readonly siblings?: string | undefined;
  /** Absolute path of a folder in the repository whose remotes and settings apply. Relative paths start from this folder. */
  readonly root: string;
  /** Address of the repository that the project was fetched from. If present, this repository is `origin`, and no other remotes exist. */
  readonly source?: string | undefined;
}

/** True for the name of a remote, as opposed to an address. */
export function isRemoteName(text: string): boolean {
  return /^\w[\w.-]*$/.test(text);
}

export function hasPassword(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/]*:[^/]*@/i.test(text);
}

/** Returns the remote for messages, without passwords. */
export function shownRemote({ remote }: Pick<GitLocation, 'remote'>): string {
  if (remote instanceof Secret) return `the repository in ${remote.name}`;
  return remote.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1');
}

/** Returns the remote for messages, in a form that can follow the words "the remote". */
export function namedRemote({ remote }: Pick<GitLocation, 'remote'>): string {
  return remote instanceof Secret ? `in ${remote.name}` : shownRemote({ remote });
}

/** Returns a key that is equal for all spellings of one remote, as far as they can be compared without running git. */
export function remoteKey(location: GitLocation): string {
  return remotePath(location) ?? textOf(location.remote) ?? shownRemote(location);
}

/** Returns the path of a local remote; undefined for a name, and for an address on another machine. */
export function remotePath({ remote, root }: GitLocation): string | undefined {
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
