import { type GitResult, runGit } from '../../../git/run-git.ts';
import { errorCode } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import { damageOf, pushRefusalOf, type RemoteContext, refusalOf } from './git-refusal.ts';
import { findRemote, type GitRemote } from './git-remote.ts';
import { type GitLocation, namedRemote, remoteKey } from './git-settings.ts';
import { ObjectCache } from './object-cache.ts';
import { type GitObject, objectsIn } from './state-commit.ts';

/** Git's messages about damaged objects in the cache. */
const DAMAGE =
  /pack-objects|unable to read|corrupt|bad object|missing (blob|tree|commit|object)|loose object|packfile|not a git repository:/i;

type AccessUser = Pick<StoreUser, 'env' | 'cacheFolder' | 'redact' | 'once'>;

/** Reads and writes one ref of a remote, and reads sibling refs and fetched objects. Each method runs at most a few git commands. */
export class RefAccess {
  readonly #location: GitLocation;
  readonly #user: AccessUser;
  #remote: GitRemote | undefined;
  #cache: ObjectCache | undefined;
  #isReached = false;
  /** True after a fetch that found damage, which may be in the cache. */
  #foundDamage = false;

  constructor(location: GitLocation, user: AccessUser) {
    this.#location = location;
    this.#user = user;
  }

  /** Finds the remote. */
  async prepare(signal: AbortSignal): Promise<void> {
    await this.#findRemote(signal);
  }

  /** Returns the commit of the ref; undefined if the ref does not exist. */
  async tip(signal: AbortSignal): Promise<string | undefined> {
    const { ref } = this.#location;
    return (await this.list([ref], signal)).get(ref);
  }

  /** Returns the commits of HEAD and of each matching ref, by the name of the ref. */
  async list(patterns: readonly string[], signal: AbortSignal): Promise<Map<string, string>> {
    const remote = await this.#findRemote(signal);
    const { code, out, errorOutput } = await requireGit(
      runGit(['ls-remote', '--', remote.name, ...patterns, 'HEAD'], {
        // Runs outside the user's repository, because its settings would otherwise apply twice.
        env: { ...remote.env, GIT_DIR: '/nonexistent' },
        cwd: remote.cwd,
        signal,
      }),
    );
    if (code !== 0) throw refusalOf(errorOutput, this.#context);
    this.#isReached = true;
    const refs = out
      .toString()
      .split('\n')
      .map((line) => line.split('\t'));
    const format = refs[0]?.[0]?.length === 64 ? 'sha256' : 'sha1';
    this.#cache ??= new ObjectCache(remote, format, this.#user.cacheFolder);
    return new Map(refs.flatMap(([commit = '', name]) => (name === undefined ? [] : [[name, commit]])));
  }

  async fetch(depth: number, signal: AbortSignal, refs: readonly string[] = [this.#location.ref]): Promise<void> {
    const { name } = await this.#findRemote(signal);
    const options = ['--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--no-progress'];
    const { code, errorOutput } = await this.git(
      ['fetch', `--depth=${depth}`, ...options, '--', name, ...refs],
      signal,
    );
    const isDamaged = code !== 0 && DAMAGE.test(errorOutput);
    const isRemoteDamaged = isDamaged && this.#foundDamage;
    this.#foundDamage = isDamaged;
    if (code === 0) return;
    if (isRemoteDamaged) throw damageOf(errorOutput, this.#context);
    if (isDamaged) await this.renew();
    throw refusalOf(errorOutput, this.#context);
  }

  /**
   * Moves the ref to a commit in the cache.
   * @param before the current commit of the ref; undefined for a new ref.
   * @throws as `ObjectStore.write` does.
   */
  async push(commit: string, before: string | undefined, signal: AbortSignal): Promise<void> {
    const { name } = await this.#findRemote(signal);
    const { ref } = this.#location;
    const options = ['--porcelain', '--no-progress', '--no-verify', '--no-signed', '--no-follow-tags'];
    // This is always a fast-forward, because the lease requires that the ref is at the parent of this commit.
    const lease = `--force-with-lease=${ref}:${before ?? ''}`;
    const { code, out, errorOutput } = await this.git(
      ['push', ...options, lease, '--', name, `${commit}:${ref}`],
      signal,
    );
    if (code === 0) return;
    if (DAMAGE.test(errorOutput)) await this.renew();
    throw pushRefusalOf(out.toString(), errorOutput, this.#context);
  }

  /** Reads objects from the cache. Missing objects are undefined. Returns undefined if the cache is damaged. */
  async objects(names: readonly string[], signal: AbortSignal): Promise<(GitObject | undefined)[] | undefined> {
    if (names.length === 0) return [];
    const input = [Buffer.from(names.map((name) => `${name}\n`).join(''))];
    const { code, out } = await this.git(['cat-file', '--batch'], signal, input);
    return code === 0 ? objectsIn(out) : undefined;
  }

  /** Runs git in the cache. Must be called after `tip`. */
  async git(args: readonly string[], signal: AbortSignal, input?: readonly Uint8Array[]): Promise<GitResult> {
    if (this.#cache === undefined) throw new Error('the ref has not been read yet');
    return requireGit(this.#cache.git(args, signal, input));
  }

  /** The number of digits of an object id. */
  get idDigits(): number {
    return this.#cache?.idDigits ?? 40;
  }

  /** Drops the fetched objects. */
  async renew(): Promise<void> {
    await this.#cache?.renew();
  }

  get #context(): RemoteContext {
    const { ref } = this.#location;
    const { redact = (text) => text } = this.#user;
    return { ref, remote: namedRemote(this.#location), isFirst: !this.#isReached, redact };
  }

  async #findRemote(signal: AbortSignal): Promise<GitRemote> {
    const { env = {}, once } = this.#user;
    const options = { env, signal, ownPrograms: once === undefined };
    const find = () => requireGit(findRemote(this.#location, options));
    this.#remote ??= await (once?.(`remote ${remoteKey(this.#location)}`, find) ?? find());
    return this.#remote;
  }
}

/** @throws UserError if git is not installed. */
async function requireGit<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new UserError('a state in Git needs git, which is not installed');
  }
}
