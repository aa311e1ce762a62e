import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeFolders } from '../../../files/files.ts';
import { JoinedWork } from '../../../git/joined-work.ts';
import { type GitResult, removeStaleFiles, runGit, shortError } from '../../../git/run-git.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { GitRemote } from './git-remote.ts';

type ObjectFormat = 'sha1' | 'sha256';

/* Above these limits, the objects are dropped and fetched again. Git's own cleanup would keep them for two weeks. */
const MAX_PACK_FILES = 80;
const MAX_LOOSE_OBJECTS = 6_700;
const MAX_BYTES = 256_000_000;
const MAX_SHALLOW_BYTES = 64_000;

/** Git distributes loose objects over 256 folders. One folder serves as a sample for estimates, as in git itself. */
const SAMPLE = { folder: '17', of: 256 };

/** A bare repository for the objects of one remote, so that the user's repository stays unchanged. It may be deleted at any time. */
export class ObjectCache {
  readonly #remote: GitRemote;
  readonly #format: ObjectFormat;
  readonly #base: string | undefined;
  readonly #opening = new JoinedWork((signal) => this.#open(signal));
  #folder: string | undefined;

  /** @param base absolute path of the folder for caches; default: a temporary folder. */
  constructor(remote: GitRemote, format: ObjectFormat, base: string | undefined) {
    this.#remote = remote;
    this.#format = format;
    this.#base = base;
  }

  get idDigits(): number {
    return this.#format === 'sha1' ? 40 : 64;
  }

  async git(args: readonly string[], signal: AbortSignal, input?: readonly Uint8Array[]): Promise<GitResult> {
    this.#folder ??= await this.#opening.join(signal);
    const folder = this.#folder;
    const { env, cwd } = this.#remote;
    return runGit(['--git-dir', folder, ...args], { env, cwd, input, signal });
  }

  /** Replaces the repository with an empty one. */
  async renew(): Promise<void> {
    const folder = this.#folder;
    this.#folder = undefined;
    if (folder !== undefined) await discard(folder);
  }

  async #open(signal: AbortSignal): Promise<string> {
    const { address, env } = this.#remote;
    const base = this.#base === undefined ? await temporaryFolder() : path.join(this.#base, 'states');
    const key = createHash('sha256').update(address).digest('hex').slice(0, 24);
    const folder = path.join(base, `${key}.${this.#format}`);
    if (await isLarge(folder)) await discard(folder);
    await removeStaleFiles(folder);
    if (await isRepository(folder)) return folder;
    await makeFolders(base, { mode: 0o700 });
    const draft = `${folder}.new-${randomUUID()}`;
    const { code, errorOutput } = await runGit(
      ['init', '--quiet', '--bare', '--template=', `--object-format=${this.#format}`, '--', draft],
      { env, signal },
    );
    if (code !== 0) throw new UserError(`git init: ${shortError(errorOutput)}`);
    try {
      await rename(draft, folder);
    } catch (error) {
      // Another run may have created the folder first.
      await rm(draft, { recursive: true, force: true });
      if (!(await isRepository(folder))) throw error;
    }
    return folder;
  }
}

async function isRepository(folder: string): Promise<boolean> {
  return (await sizeOf(path.join(folder, 'HEAD'))) !== undefined;
}

async function isLarge(folder: string): Promise<boolean> {
  const objects = path.join(folder, 'objects');
  const [packs, sample, shallow = 0] = await Promise.all([
    sizesIn(path.join(objects, 'pack')),
    sizesIn(path.join(objects, SAMPLE.folder)),
    sizeOf(path.join(folder, 'shallow')),
  ]);
  const sum = (sizes: readonly number[]): number => sizes.reduce((all, each) => all + each, 0);
  return (
    packs.length > MAX_PACK_FILES ||
    sample.length * SAMPLE.of > MAX_LOOSE_OBJECTS ||
    sum(packs) + sum(sample) * SAMPLE.of > MAX_BYTES ||
    shallow > MAX_SHALLOW_BYTES
  );
}

async function sizesIn(folder: string): Promise<number[]> {
  const names = await readdir(folder).catch(() => []);
  return Promise.all(names.map(async (name) => (await sizeOf(path.join(folder, name))) ?? 0));
}

async function sizeOf(file: string): Promise<number | undefined> {
  return (await stat(file).catch(() => undefined))?.size;
}

/** Removes the folder, even while it is in use. The rename makes this atomic for later users. */
async function discard(folder: string): Promise<void> {
  const renamed = `${folder}.old-${randomUUID()}`;
  const isMissing = await rename(folder, renamed).then(
    () => false,
    () => true,
  );
  if (!isMissing) await rm(renamed, { recursive: true, force: true });
}

/** Returns a folder that only this user can write to, because objects from other users must not get into the state. */
async function temporaryFolder(): Promise<string> {
  const uid = process.getuid?.();
  const folder = path.join(tmpdir(), `voxform-${uid ?? 'cache'}`);
  await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
  const found = await lstat(folder);
  const isOwn = found.isDirectory() && (uid === undefined || (found.uid === uid && (found.mode & 0o077) === 0));
  return isOwn ? folder : mkdtemp(`${folder}-`);
}
