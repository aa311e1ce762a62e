import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, realpath, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { whereMissing } from '../../files/files.ts';
import { compareText } from '../../problems/compare-text.ts';
import { UserError } from '../../problems/user-error.ts';
import type { ProjectFile } from './project-files.ts';
import { cannotBeWritten, writeAll } from './write-folder.ts';

/**
 * Writes files into a folder that holds something, over those of the same names: all of them, or the folder stays as it was. What else
 * is in it stays. Everything is written into a folder inside it first; a run that is killed while files change places leaves that folder, in
 * which `old` has what was replaced.
 * @param last the file that makes the folder a project: it comes as the last.
 * @throws UserError where the folder cannot be written, or a file would come to lie outside it.
 */
export async function writeOver(
  target: string,
  files: Iterable<ProjectFile>,
  last: string,
): Promise<WrittenOver> {
  try {
    const real = await realpath(target);
    const side = path.join(real, `.voxform-export-${randomBytes(4).toString('hex')}`);
    const exchange = { target: real, fresh: path.join(side, 'new'), old: path.join(side, 'old') };
    await mkdir(exchange.fresh, { recursive: true });
    try {
      const written = await writeAll(exchange.fresh, files);
      const places = written.toSorted((a, b) => Number(a === last) - Number(b === last));
      for (const place of places) await refuseOdd(real, place);
      const replaced = await exchangeAll(places, exchange);
      await rm(side, { recursive: true, force: true });
      return { written, replaced };
    } catch (error) {
      if (!(error instanceof NotPutBack)) await rm(side, { recursive: true, force: true });
      throw error;
    }
  } catch (cause) {
    throw cannotBeWritten(target, cause);
  }
}

/** Files, relative to the folder. */
export interface WrittenOver {
  readonly written: readonly string[];
  /** Those of them that were there before, in order. */
  readonly replaced: readonly string[];
}

/** Files below `folder` of the target that none of the written ones is, in order: a manifest among them may declare a record again. */
export async function otherFiles(
  target: string,
  folder: string,
  written: readonly string[],
): Promise<readonly string[]> {
  const own = new Set(written);
  const entries = await readdir(path.join(target, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.(?:ya?ml|json)$/.test(entry.name))
    .map((entry) => path.relative(target, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .filter((file) => !own.has(file))
    .sort(compareText);
}

interface FolderSwap {
  readonly target: string;
  /** Where the new files wait. */
  readonly fresh: string;
  /** Where the replaced ones go. */
  readonly old: string;
}

async function exchangeAll(
  places: readonly string[],
  { target, fresh, old }: FolderSwap,
): Promise<readonly string[]> {
  const written: string[] = [];
  const replaced: string[] = [];
  try {
    for (const place of places) {
      if ((await lstat(path.join(target, place)).catch(whereMissing)) !== undefined) {
        await move(path.join(target, place), path.join(old, place));
        replaced.push(place);
      }
      await move(path.join(fresh, place), path.join(target, place));
      written.push(place);
    }
  } catch (error) {
    try {
      for (const place of written) await rm(path.join(target, place), { force: true });
      for (const place of replaced) await rename(path.join(old, place), path.join(target, place));
    } catch (cause) {
      throw new NotPutBack(old, cause);
    }
    throw error;
  }
  return replaced.sort(compareText);
}

/** Some of what was replaced is only in the side folder, which must stay. */
class NotPutBack extends UserError {
  override readonly name = 'NotPutBack';

  constructor(old: string, cause: unknown) {
    super('cannot write the folder, and restoring it failed', {
      hint: `The replaced files are in ${old}.`,
      cause,
    });
  }
}

async function move(from: string, to: string): Promise<void> {
  await mkdir(path.dirname(to), { recursive: true });
  await rename(from, to);
}

/** A link among the folders would lead what is written somewhere else. */
async function refuseOdd(target: string, place: string): Promise<void> {
  const parts = place.split('/');
  for (let depth = 1; depth <= parts.length; depth++) {
    const each = parts.slice(0, depth).join('/');
    const found = await lstat(path.join(target, each)).catch(whereMissing);
    if (found === undefined) return;
    if (depth < parts.length && !found.isDirectory()) {
      throw new UserError(`cannot create the folder ${each} in ${target}: a file or a link has this name`, {
        hint: 'Move it away, or export into a new folder.',
      });
    }
    if (depth === parts.length && found.isDirectory()) {
      throw new UserError(`cannot write the file ${each} in ${target}: a folder has this name`, {
        hint: 'Move it away, or export into a new folder.',
      });
    }
  }
}
