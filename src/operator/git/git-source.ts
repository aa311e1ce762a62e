import { hash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from '../../files/files.ts';
import { type FetchOptions, fetchGit } from '../../git/fetch-git.ts';
import { type GitAddress, isRefName, parseGitAddress } from '../../git/git-address.ts';
import { ObjectReader } from '../../git/object-reader.ts';
import { gitEnvironment, ISOLATION_SETTINGS, removeStaleFiles } from '../../git/run-git.ts';
import { UserError, usageError } from '../../problems/user-error.ts';
import { CHECKOUTS_FOLDER } from '../../project/local-paths.ts';
import { treeProblem } from '../../project/project-size.ts';
import type { ProjectOrigin } from '../../runs/drift-request/request-target.ts';
import type { FetchResult, ManifestSource, Version } from '../source.ts';

interface GitSourceOptions extends Pick<FetchOptions, 'env' | 'redact'> {
  readonly url: string;
  readonly ref: string;
  /** The folder of the project in the repository. */
  readonly subfolder: string;
  /** The absolute path of the working folder. Relative addresses start there, and its `.voxform/git` contains the checkouts. */
  readonly cwd: string;
  /** Distinguishes several watches in the same folder. */
  readonly workspace: string | undefined;
  /** Registers the password of the address for redaction. */
  keepSecret(secret: string): void;
}

const FETCHED_REF = 'refs/voxform/fetched';
const GOOD_REF = 'refs/voxform/good';

/** The timeout of a git command. */
const TIMEOUT_MS = 120_000;

/**
 * Returns a source for the newest commit of a branch or tag. Each commit has its own checkout.
 * @throws UserError for an invalid address, ref or folder.
 */
export function gitSource(options: GitSourceOptions): ManifestSource {
  const address = parseGitAddress(options.url, { cwd: options.cwd, option: '--git' });
  if (!isRefName(options.ref))
    throw usageError(`--ref: ${JSON.stringify(options.ref)} is not a valid branch or tag name`);
  const subfolder = checkSubfolder(options.subfolder);
  for (const secret of secretsOf(address)) options.keepSecret(secret);
  return new GitSource({ ...options, subfolder }, address);
}

export function secretsOf({ credentials }: GitAddress): string[] {
  if (credentials === undefined) return [];
  const { user, password } = credentials;
  // Without a password, the user name is a token.
  return password === '' ? [user] : [password, Buffer.from(`${user}:${password}`).toString('base64')];
}

/** Returns the normalized relative path of the project in a checkout. Throws `UserError` if the path leaves the checkout. */
function checkSubfolder(folder: string): string {
  const normal = path.posix.normalize(folder.replaceAll('\\', '/'));
  const leavesRepository = path.posix.isAbsolute(normal) || normal === '..' || normal.startsWith('../');
  if (!leavesRepository && !normal.split('/').includes('.git')) return normal;
  throw usageError('--path must be a folder inside the repository');
}

class GitSource implements ManifestSource {
  readonly name: string;
  readonly isAtomic = true;
  readonly #options: GitSourceOptions;
  readonly #address: GitAddress;
  readonly #home: string;
  #good: string | undefined;
  #newest: string | undefined;

  constructor(options: GitSourceOptions, address: GitAddress) {
    const { ref, cwd, workspace } = options;
    this.#options = options;
    this.#address = address;
    this.name = `${ref} of ${address.shown}`;
    const key = hash('sha256', JSON.stringify([address.url, ref, workspace]));
    this.#home = path.join(cwd, CHECKOUTS_FOLDER, key.slice(0, 16));
  }

  async fetch(signal: AbortSignal): Promise<FetchResult> {
    const { ref } = this.#options;
    let problem: unknown;
    try {
      await this.#prepare(signal);
      await this.#git(
        ['fetch', '--no-tags', '--depth=1', '--no-write-fetch-head', '--', this.#address.url, `+${ref}:${FETCHED_REF}`],
        signal,
      );
    } catch (error) {
      problem = error;
    }
    signal.throwIfAborted();
    const commit = await this.#commitAt(FETCHED_REF, signal);
    if (commit === undefined) throw problem ?? new UserError(`${this.name} has no commit`);
    this.#newest = commit;
    try {
      return { ...(await this.#checkOut(commit, signal)), problem };
    } catch (error) {
      signal.throwIfAborted();
      const lastGood = error instanceof UserError ? await this.lastGood() : undefined;
      if (lastGood === undefined || lastGood.commit === commit) throw error;
      return { ...lastGood, problem: error };
    }
  }

  async lastGood(): Promise<Version | undefined> {
    const noAbort = new AbortController().signal;
    const commit = this.#good ?? (await this.#commitAt(GOOD_REF, noAbort));
    return commit === undefined ? undefined : this.#checkOut(commit, noAbort);
  }

  async keep({ commit }: Version): Promise<void> {
    if (commit === undefined || commit === this.#good) return;
    this.#good = commit;
    const noAbort = new AbortController().signal;
    await this.#git(['update-ref', GOOD_REF, commit], noAbort);
    await this.#removeOthers(noAbort);
  }

  originOf({ folder, checkout = folder }: Version): ProjectOrigin {
    const folderPath = path.relative(realpathSync(checkout), realpathSync(folder)).replaceAll(path.sep, '/');
    return { address: this.#address.url, ref: this.#options.ref, folder: folderPath };
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    await makeFolders(this.#home, { mode: 0o700 });
    const entries = await readdir(this.#home);
    if (entries.includes('repository')) return removeStaleFiles(path.join(this.#home, 'repository'));
    await fetchGit(
      ['init', '--quiet', '--bare', '--template=', '--', path.join(this.#home, 'repository')],
      this.#gitOptions(signal),
    );
  }

  async #commitAt(ref: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`], signal).catch(
      () => undefined,
    );
  }

  async #checkOut(commit: string, signal: AbortSignal): Promise<Version> {
    const checkout = path.join(this.#home, commit);
    if (!existsSync(checkout)) {
      const { tree, folder } = await this.#projectAt(commit, signal);
      // A complete checkout is renamed to its final path. The next run removes an incomplete one.
      const partial = `${checkout}.partial`;
      await rm(partial, { recursive: true, force: true });
      const work = path.join(partial, folder);
      await makeFolders(work);
      const index = path.join(this.#home, 'index');
      for (const each of [index, `${index}.lock`]) await rm(each, { force: true });
      await this.#git(['--work-tree', work, 'read-tree', '-u', '--reset', tree], signal, index);
      await rename(partial, checkout);
    }
    return { folder: path.join(checkout, this.#options.subfolder), checkout, commit };
  }

  /**
   * Returns the tree to check out: the project folder, or the whole repository if the path contains a link or does not exist.
   * @throws UserError if the tree exceeds the limits of a project.
   */
  async #projectAt(commit: string, signal: AbortSignal): Promise<{ tree: string; folder: string }> {
    const { env, subfolder } = this.#options;
    const call = { env: gitEnvironment(env, ISOLATION_SETTINGS), signal };
    const objects = new ObjectReader(path.join(this.#home, 'repository'), call);
    try {
      const object = subfolder === '.' ? undefined : await objects.header(`${commit}:${subfolder}`);
      const projectFolder = object?.type === 'tree' ? { tree: object.id, folder: subfolder } : undefined;
      const project = projectFolder ?? { tree: (await objects.header(`${commit}^{tree}`))?.id ?? '', folder: '.' };
      const problem = await treeProblem(objects, project.tree);
      if (problem === undefined) return project;
      const prefix = project.folder === '.' ? '' : `${project.folder} of `;
      throw new UserError(`${prefix}${this.name} cannot be used at ${commit}: ${problem}`);
    } finally {
      await objects.close();
    }
  }

  /** Removes all checkouts except those of the last valid commit and of the newest commit. */
  async #removeOthers(signal: AbortSignal): Promise<void> {
    const retained = new Set(['repository', 'index', this.#good, this.#newest]);
    for (const entry of await readdir(this.#home)) {
      if (!retained.has(entry)) await rm(path.join(this.#home, entry), { recursive: true, force: true });
    }
    await this.#git(['gc', '--auto', '--quiet'], signal).catch(() => undefined);
  }

  #git(args: readonly string[], signal: AbortSignal, index?: string): Promise<string> {
    return fetchGit(['--git-dir', path.join(this.#home, 'repository'), ...args], {
      ...this.#gitOptions(signal),
      index,
    });
  }

  #gitOptions(signal: AbortSignal): FetchOptions {
    const { env, redact } = this.#options;
    return { env, redact, signal, address: this.#address, timeout: TIMEOUT_MS };
  }
}
