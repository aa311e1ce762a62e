import { existsSync } from 'node:fs';
import path from 'node:path';
import type { ProcessEnvironment } from '../../../files/run-process.ts';
import { parseGitAddress } from '../../../git/git-address.ts';
import {
  folderEnvironment,
  type GitCall,
  type GitSetting,
  gitEnvironment,
  ISOLATION_SETTINGS,
  runGit,
  shortError,
} from '../../../git/run-git.ts';
import { attempt } from '../../../problems/attempt.ts';
import { UserError } from '../../../problems/user-error.ts';
import { revealed } from '../settings.ts';
import { type GitLocation, isRemoteName, shownRemote } from './git-settings.ts';

/** The repository with the state, and the parameters with which git connects to it. */
export interface GitRemote {
  /** The name of the remote as an argument for git. The address of the remote is only in the environment. */
  readonly name: string;
  readonly env: ProcessEnvironment;
  /** The folder for relative addresses. */
  readonly cwd: string;
  /** The address without passwords. */
  readonly address: string;
}

/** The name of the remote if the settings contain an address instead of a name. */
const STATE_REMOTE = 'voxform-state';

/** Settings of the user's repository that git needs to connect to the remote in the same way. */
const CONNECTION_SETTINGS =
  /^(url\..*\.(insteadof|pushinsteadof)|http\..*|credential\..*|core\.(sshcommand|askpass|gitproxy)|ssh\..*|protocol\..*)$/s;
const REMOTE_SETTINGS = ['url', 'pushurl', 'proxy', 'proxyauthmethod', 'uploadpack', 'receivepack'];

/** Disables signatures, prompts, additional refs and maintenance. */
const SETTINGS: readonly GitSetting[] = [
  ...ISOLATION_SETTINGS,
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['push.followTags', 'false'],
  ['push.gpgSign', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['fetch.recurseSubmodules', 'no'],
  ['fetch.writeCommitGraph', 'false'],
  ['fetch.fsckObjects', 'false'],
];

interface FindOptions {
  readonly env: ProcessEnvironment;
  readonly signal: AbortSignal;
  /** False to refuse a repository whose own Git configuration specifies programs to run. */
  readonly ownPrograms: boolean;
}

/**
 * Finds the remote. Reads only git's settings.
 * @throws UserError if the remote does not exist, or may not be used.
 */
export async function findRemote(location: GitLocation, { env, signal, ownPrograms }: FindOptions): Promise<GitRemote> {
  const own = folderEnvironment(env);
  const root = location.source === undefined ? location.root : existingFolder(location.root);
  const list = ['config', '--list', '-z', '--includes'];
  const [inside, outside, top] = await Promise.all([
    runGit(list, { env: own, cwd: root, signal }),
    runGit(list, { env: { ...gitEnvironment(env), GIT_DIR: '/nonexistent' }, cwd: root, signal }),
    runGit(['rev-parse', '--show-toplevel'], { env: own, cwd: root, signal }),
  ]);
  if (inside.code !== 0) throw new UserError(`git config: ${shortError(inside.errorOutput)}`);
  const all = settingsIn(inside.out);
  if (!ownPrograms) await refusePrograms({ env: own, cwd: root, signal });
  const cwd = top.code === 0 ? top.out.toString().replace(/\r?\n$/, '') : root;
  const { name, address, settings } = resolveRemote(location, { all, cwd, errorOutput: shortError(top.errorOutput) });
  const connection = withoutKnown(all, settingsIn(outside.out)).filter(([key]) => CONNECTION_SETTINGS.test(key));
  const hasSsh = env.GIT_SSH_COMMAND || env.GIT_SSH || all.some(([key]) => key === 'core.sshcommand');
  return {
    name,
    address,
    cwd,
    env: {
      ...gitEnvironment(env, [...connection, ...settings, ...SETTINGS]),
      ...(env.GIT_ASKPASS && { GIT_ASKPASS: env.GIT_ASKPASS }),
      ...(!hasSsh && { GIT_SSH_COMMAND: 'ssh -o BatchMode=yes' }),
    },
  };
}

/** Git settings that specify programs to run when connecting to a remote. */
const PROGRAMS =
  /^(core\.(sshcommand|askpass|gitproxy)|credential\.(.*\.)?helper|remote\..*\.(uploadpack|receivepack))$/s;

/** @throws UserError if the configuration of the repository, as opposed to the user's configuration, specifies programs to run. */
async function refusePrograms(call: GitCall): Promise<void> {
  const { code, out, errorOutput } = await runGit(['config', '--list', '-z', '--includes', '--show-scope'], call);
  if (code !== 0) throw new UserError(`git config: ${shortError(errorOutput)}`);
  // The output alternates between scopes and settings.
  const fields = out.toString().split('\0');
  const programSettings = fields.flatMap((scope, index) => {
    const [name = ''] = fields[index + 1]?.split('\n') ?? [];
    return index % 2 === 0 && /^(local|worktree)$/.test(scope) && PROGRAMS.test(name) ? [name] : [];
  });
  if (programSettings.length === 0) return;
  throw new UserError(
    `the configuration of this Git repository specifies programs, which voxform does not run: ${programSettings.join(', ')}`,
    {
      hint: 'An AI assistant could change these programs. Move the settings to your user configuration: git config --global',
    },
  );
}

/** Returns the folder or its nearest existing parent, because a fetched project may have no folder on this machine. */
function existingFolder(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(folder) || parent === folder ? folder : existingFolder(parent);
}

interface Repository {
  readonly all: readonly GitSetting[];
  readonly cwd: string;
  /** Git's message if there is no repository. */
  readonly errorOutput: string;
}

/** Returns the name, the address and the settings of the remote. */
function resolveRemote(
  location: GitLocation,
  { all, cwd, errorOutput }: Repository,
): Pick<GitRemote, 'name' | 'address'> & { readonly settings: readonly GitSetting[] } {
  const configured = revealed('remote', location.remote);
  const isSource = location.source !== undefined && configured === 'origin';
  const remote = isSource ? location.source : configured;
  const valuesOf = (variable: string): string[] =>
    all.filter(([key]) => key === `remote.${remote}.${variable}`).map(([, value]) => value);
  const [url, ...otherUrls] = valuesOf('url');
  const shown = shownRemote(location);
  if (url !== undefined && location.source === undefined) {
    const pushUrls = valuesOf('pushurl');
    if ((pushUrls.length || 1 + otherUrls.length) > 1) {
      throw new UserError(`the remote ${shown} has several push addresses, but a state has one location`, {
        hint: 'Set state.remote to one address.',
      });
    }
    if (/^[a-z][a-z0-9+.-]*::/i.test(url)) {
      throw new UserError(`the remote ${shown} names a helper program, which is not allowed for a state`, {
        hint: 'Set state.remote to the address of a repository.',
      });
    }
    const settings = all.filter(([key]) => REMOTE_SETTINGS.some((each) => key === `remote.${remote}.${each}`));
    return { name: remote, address: normalAddress(url, cwd), settings };
  }
  if (location.source !== undefined && !isSource && isRemoteName(remote)) {
    throw new UserError(`state.remote: a project from --git has only the remote origin, not ${remote}`, {
      hint: 'origin is the repository of --git. To use another repository, set state.remote to its address.',
    });
  }
  if (isRemoteName(remote)) throw noSuchRemote(remote, location.root, { all, cwd, errorOutput });
  const { url: address, shown: printable } = parseGitAddress(remote, { cwd: location.root, option: 'state.remote' });
  const full = remote.includes('://') ? remote : address;
  return { name: STATE_REMOTE, address: printable, settings: [[`remote.${STATE_REMOTE}.url`, full]] };
}

function noSuchRemote(remote: string, root: string, { all, errorOutput }: Repository): UserError {
  const remotes = all.flatMap(([key]) => /^remote\.(.+)\.url$/s.exec(key)?.[1] ?? []);
  const hint = 'In voxform.yaml, set state.remote to a remote or to the address of a repository.';
  if (remotes.length > 0) {
    const known = [...new Set(remotes)].join(', ');
    return new UserError(`the repository of ${root} has no remote ${remote}; remotes: ${known}`, { hint });
  }
  if (errorOutput === '') return new UserError(`the repository of ${root} has no remote ${remote}`, { hint });
  return new UserError(`state.remote is ${remote}, but ${root} is not in a usable Git repository: ${errorOutput}`, {
    hint,
  });
}

/** Returns the address in a normal form, without a password. */
function normalAddress(url: string, cwd: string): string {
  const parsed = attempt(() => parseGitAddress(url, { cwd, option: 'state.remote' }));
  return parsed?.shown ?? url.replace(/\/\/[^/]*@/, '//');
}

function settingsIn(listed: Buffer): GitSetting[] {
  return listed
    .toString()
    .split('\0')
    .filter((item) => item !== '')
    .map((item) => {
      const end = item.indexOf('\n');
      return end === -1 ? [item, 'true'] : [item.slice(0, end), item.slice(end + 1)];
    });
}

/** Removes the settings that git also finds outside the user's repository. Otherwise, git would send a header twice, for example. */
function withoutKnown(all: readonly GitSetting[], known: readonly GitSetting[]): GitSetting[] {
  const counts = new Map<string, number>();
  const keyOf = ([name, value]: GitSetting): string => `${name}\n${value}`;
  for (const each of known) counts.set(keyOf(each), (counts.get(keyOf(each)) ?? 0) + 1);
  return all.filter((each) => {
    const count = counts.get(keyOf(each)) ?? 0;
    counts.set(keyOf(each), count - 1);
    return count <= 0;
  });
}
