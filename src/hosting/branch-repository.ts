import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type FetchOptions, fetchGit } from '../git/fetch-git.ts';
import type { GitSetting } from '../git/run-git.ts';
import type { Network } from '../platform/web-client.ts';
import { UserError } from '../problems/user-error.ts';
import type { Secret } from '../values/value.ts';
import type { HostKind } from './code-host.ts';
import { HostProblem } from './host-client.ts';

interface BranchRepositoryOptions extends Pick<FetchOptions, 'env' | 'signal' | 'redact'> {
  /** The address of the repository on its host, without credentials. */
  readonly url: string;
  readonly kind: Pick<HostKind, 'gitUser' | 'rights'>;
  readonly token: Secret;
  readonly network: Network;
}

export interface CommittedFile {
  readonly mode: string;
  readonly id: string;
}

/** Formats a changed file as an entry of the list that `BranchRepository.changes` returns. */
export function formatChangedFile(name: string, { mode, id }: CommittedFile, newId: string): string {
  return `${mode} ${mode} ${id} ${newId} M ${name}`;
}

interface NewCommit {
  readonly parent: string;
  readonly message: string;
  readonly files: readonly { readonly path: string; readonly mode: string; readonly text: string }[];
}

interface TemporaryRepository {
  readonly folder: string;
  readonly settings: readonly GitSetting[];
}

const REMOTE = 'host';
const AUTHOR = 'voxform <voxform@localhost>';
/** The timeout of one git command in milliseconds. */
const TIMEOUT_MS = 120_000;

/**
 * Reads and pushes the branches of a repository on a code host with git, using a temporary repository without file contents. The token is
 * sent only to that host, and never appears in the arguments of a process. The methods throw `HostProblem`.
 */
export class BranchRepository {
  readonly #options: BranchRepositoryOptions;
  /** The Unix time of all commits. It is fixed, so that equal changes result in equal commits. */
  readonly #seconds = Math.floor(Date.now() / 1000);
  #repository: Promise<TemporaryRepository> | undefined;

  constructor(options: BranchRepositoryOptions) {
    this.#options = options;
  }

  async close(): Promise<void> {
    const repository = await this.#repository?.catch(() => undefined);
    if (repository !== undefined) await remove(repository);
  }

  /** Returns the name of the default branch, and the newest commit of the default branch and of each given branch that exists. */
  async heads(
    branches: readonly string[],
  ): Promise<{ readonly defaultBranch: string | undefined; readonly heads: ReadonlyMap<string, string> }> {
    const names = ['HEAD', ...branches.map((branch) => `refs/heads/${branch}`)];
    const output = await this.#git(['ls-remote', '--symref', '--', REMOTE, ...names]);
    const lines = output.split('\n').map((line) => line.split('\t'));
    const [symbolic = ''] = lines.find(([target, name]) => name === 'HEAD' && target?.startsWith('ref: ')) ?? [];
    const defaultBranch = /^ref: refs\/heads\/(.+)$/.exec(symbolic)?.[1];
    const heads = lines.flatMap(([id = '', name = '']): [string, string][] => {
      if (name === 'HEAD' && defaultBranch !== undefined && !id.startsWith('ref: ')) return [[defaultBranch, id]];
      return name.startsWith('refs/heads/') ? [[name.slice('refs/heads/'.length), id]] : [];
    });
    return { defaultBranch, heads: new Map(heads) };
  }

  /** Fetches the newest commits of branches, and the parents of these commits. */
  async fetch(branches: readonly string[]): Promise<void> {
    const refs = branches.map((branch) => `+refs/heads/${branch}:refs/heads/${branch}`);
    await this.#git(['fetch', '--quiet', '--no-tags', '--depth=2', '--no-write-fetch-head', '--', REMOTE, ...refs]);
  }

  async files(commit: string, paths: readonly string[]): Promise<ReadonlyMap<string, CommittedFile>> {
    const output = await this.#git(['--literal-pathspecs', 'ls-tree', '-z', commit, '--', ...paths]);
    const entries = output.split('\0').filter(Boolean);
    return new Map(
      entries.map((entry) => {
        const [facts = '', name = ''] = entry.split(/\t(.*)/s);
        const [mode = '', , id = ''] = facts.split(' ');
        return [name, { mode, id }];
      }),
    );
  }

  async commit(id: string): Promise<{ readonly parents: readonly string[]; readonly message: string }> {
    const [head = '', message = ''] = (await this.#git(['cat-file', 'commit', id])).split(/\n\n(.*)/s);
    return { parents: [...head.matchAll(/^parent (\S+)$/gm)].map(([, parent = '']) => parent), message };
  }

  /** Returns the files that differ between two commits, each in the format of `formatChangedFile`, sorted. */
  async changes(before: string, after: string): Promise<readonly string[]> {
    const options = ['-r', '-z', '--raw', '--no-renames', '--no-abbrev'];
    const printed = await this.#git(['diff-tree', ...options, before, after]);
    return [...printed.matchAll(/:([^\0]*)\0([^\0]*)\0/g)].map(([, facts, name]) => `${facts} ${name}`).sort();
  }

  /** Creates a commit and returns its id. Does not move a branch. */
  async create({ parent, message, files }: NewCommit): Promise<string> {
    const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
    const time = `${this.#seconds} +0000`;
    const changes = files.map(
      ({ path: name, mode, text }) => `M ${mode} inline ${JSON.stringify(name)}\n${data(text)}`,
    );
    const commit = `commit refs/new\nmark :1\ncommitter ${AUTHOR} ${time}\n${data(message)}from ${parent}\n`;
    const input = `${commit}${changes.join('')}\nget-mark :1\ndone\n`;
    return this.#git(['fast-import', '--quiet', '--force', '--done'], input);
  }

  /**
   * Moves a branch to a commit.
   * @throws HostProblem if the branch is no longer at the expected commit, or the host refuses the push.
   */
  async push(branch: string, commit: string, expected: string | undefined): Promise<void> {
    const ref = `refs/heads/${branch}`;
    const lease = `--force-with-lease=${ref}:${expected ?? ''}`;
    const options = ['--quiet', '--no-thin', '--no-verify', '--no-signed', '--no-follow-tags', lease];
    await this.#git(['push', ...options, '--', REMOTE, `${commit}:${ref}`]);
  }

  async #git(args: readonly string[], input?: string): Promise<string> {
    this.#repository ??= this.#createRepository();
    return this.#run(args, await this.#repository, input);
  }

  async #createRepository(): Promise<TemporaryRepository> {
    const { url, network } = this.#options;
    const { proxy, ca } = network;
    const folder = await mkdtemp(path.join(tmpdir(), 'voxform-branch-'));
    const certificates = path.join(folder, 'certificates.pem');
    if (ca !== undefined) {
      const { getCACertificates } = await import('node:tls');
      await writeFile(certificates, [...getCACertificates('default'), ca].join('\n'));
    }
    const settings: readonly GitSetting[] = [
      [`remote.${REMOTE}.url`, url],
      [`remote.${REMOTE}.promisor`, 'true'],
      [`remote.${REMOTE}.partialCloneFilter`, 'blob:none'],
      ['credential.helper', ''],
      ['http.proxy', proxy === undefined ? '' : withCredentials(proxy)],
      ['http.proxyAuthMethod', 'basic'],
      ...(ca === undefined ? [] : [['http.sslCAInfo', certificates] as const]),
    ];
    const repository = { folder, settings };
    try {
      await this.#run(['init', '--quiet', '--bare', '--template='], repository);
      return repository;
    } catch (error) {
      await remove(repository);
      throw error;
    }
  }

  async #run(args: readonly string[], { folder, settings }: TemporaryRepository, input?: string): Promise<string> {
    const { url, kind, token, env, signal, redact } = this.#options;
    const credentials = { server: `${new URL(url).origin}/`, user: kind.gitUser, password: token.reveal() };
    try {
      return await fetchGit(['--git-dir', folder, ...args], {
        env,
        signal,
        redact,
        address: { url, shown: url, credentials },
        settings,
        input,
        timeout: TIMEOUT_MS,
      });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const isRemote = ['ls-remote', 'fetch', 'push'].includes(args[0] ?? '');
      const hint = error.hint ?? (isRemote ? `The token ${token.name} needs ${kind.rights}.` : undefined);
      throw new HostProblem(error.message, { reason: 'unclear' }, hint === undefined ? {} : { hint });
    }
  }
}

async function remove({ folder }: TemporaryRepository): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

function withCredentials({ origin, credentials }: NonNullable<Network['proxy']>): string {
  if (credentials === undefined) return origin;
  const [user = '', password = ''] = credentials.reveal().split(/:(.*)/s).map(encodeURIComponent);
  return origin.replace('://', `://${user}:${password}@`);
}
