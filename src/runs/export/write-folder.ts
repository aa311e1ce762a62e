import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, realpath, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { makeFolders } from '../../files/make-folders.ts';
import { draftBeside, removeDrafts } from '../../files/replace-file.ts';
import { reasonOf } from '../../manifests/read-file.ts';
import { errorCode } from '../../problems/error-code.ts';
import { UserError } from '../../problems/user-error.ts';
import type { ProjectFile } from './project-files.ts';

/**
 * Writes files into a folder that does not exist yet, or is empty: all of them or none. They are written into a folder beside it
 * and moved at the end; a run that is killed leaves at most that folder.
 * @param last the file that makes the folder a project: where the folder exists already, it comes into it as the last.
 * @returns the files, relative to the folder.
 * @throws UserError where the folder holds something, or cannot be written.
 */
export async function writeFolder(
  target: string,
  files: Iterable<ProjectFile>,
  last: string,
): Promise<readonly string[]> {
  await refuseUsed(target);
  try {
    const exists = await isReadableFolder(target);
    const real = exists ? await realpath(target) : target;
    await makeFolders(path.dirname(real));
    if (!exists) await removeDrafts([real], 'folder');
    const draft = draftBeside(exists ? path.join(real, INSIDE) : real, 'folder');
    await mkdir(draft);
    try {
      const written = await writeAll(draft, files);
      // Again: it may have been filled meanwhile, and nothing of it may be written over.
      await refuseUsed(target, path.basename(draft));
      if (exists) await moveInto(real, draft, last);
      else await rename(draft, real);
      return written;
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  } catch (cause) {
    throw cannotBeWritten(target, cause);
  }
}

/** Of the draft in a folder that exists. */
const INSIDE = 'new';

/** What is to be thrown where a folder could not be written: for errors of the file system, one that names the folder. */
export function cannotBeWritten(target: string, cause: unknown): unknown {
  if (cause instanceof UserError || !(cause instanceof Error) || !('code' in cause)) return cause;
  const reason = cause.code === 'ENOENT' ? 'cannot create a folder there' : reasonOf(cause);
  return new UserError(`cannot write the folder ${target}: ${reason}`, {
    hint: 'Choose a writable folder: --out DIR',
    cause,
  });
}

/** @throws UserError where the folder is something else, or holds something but what a killed export left. */
export async function refuseUsed(target: string, except?: string): Promise<void> {
  let entries: string[];
  try {
    if (except === undefined) await removeDrafts([path.join(target, INSIDE)], 'folder');
    entries = await readdir(target);
  } catch (cause) {
    const code = errorCode(cause);
    if (code === 'ENOENT') return;
    const reason = code === 'ENOTDIR' ? 'not a folder' : reasonOf(cause);
    throw new UserError(`cannot write to ${target}: ${reason}`, {
      hint: 'Choose a new folder: --out DIR',
      cause,
    });
  }
  if (entries.every((entry) => entry === except)) return;
  throw new UserError(`${target} is not empty`, {
    hint: 'Choose a new or empty folder: --out DIR. To replace files of the same name: --force',
  });
}

/** True where a folder can be read there. */
export async function isReadableFolder(folder: string): Promise<boolean> {
  return readdir(folder).then(
    () => true,
    () => false,
  );
}

/** After so many files everything else has its turn. Waiting for each would take three times as long as writing it. */
const FILES_IN_A_TURN = 16;

/** Writes files below a folder that exists, each when it is its turn. Returns their paths. */
export async function writeAll(root: string, files: Iterable<ProjectFile>): Promise<readonly string[]> {
  const folders = new Set<string>();
  const paths: string[] = [];
  for (const file of files) {
    const place = path.join(root, file.path);
    const folder = path.dirname(place);
    if (!folders.has(folder)) mkdirSync(folder, { recursive: true });
    folders.add(folder);
    // Never over another one: two records that came to the same name would be one file.
    writeFileSync(place, file.text, { flag: 'wx' });
    paths.push(file.path);
    if (paths.length % FILES_IN_A_TURN === 0) await setImmediate();
  }
  return paths;
}

async function moveInto(target: string, draft: string, last: string): Promise<void> {
  const entries = (await readdir(draft)).sort((a, b) => Number(a === last) - Number(b === last));
  const moved: string[] = [];
  try {
    for (const entry of entries) {
      await rename(path.join(draft, entry), path.join(target, entry));
      moved.push(entry);
    }
  } catch (error) {
    for (const entry of moved) await rm(path.join(target, entry), { recursive: true, force: true });
    throw error;
  }
}
