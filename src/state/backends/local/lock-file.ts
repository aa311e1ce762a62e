import { constants } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type Files, hasNoLinks, unlinkIfThere } from '../../../files/files.ts';
import { replaceFile, writeBeside } from '../../../files/replace-file.ts';
import { attempt } from '../../../problems/attempt.ts';
import { errorCode } from '../../../problems/error-code.ts';
import { shellWord } from '../../../problems/shell-word.ts';
import { UserError } from '../../../problems/user-error.ts';
import { lazily } from '../../../values/lazily.ts';
import { lockInfo } from '../../lock-info.ts';
import { readIfThere } from './file-problem.ts';

const lockFile = lazily(() =>
  lockInfo().extend({
    process: z
      .object({
        boot: z.string().optional(),
        namespace: z.string().optional(),
        started: z.string().optional(),
      })
      .optional(),
  }),
);

export type HeldLock = z.infer<ReturnType<typeof lockFile>>;

/** How often a lock file that cannot be understood is looked at, in case that it is just being written. */
const attempts = 3;
const pauseMilliseconds = 25;

/** Makes the file with its whole content; false where there is one already. */
export async function createWhole(files: Files, path: string, lock: HeldLock): Promise<boolean> {
  const draft = temporaryName(path, lock.id);
  try {
    await writeBeside(path, [lockBytes(lock)], { files, draft });
    await linkOrCopy(files, draft, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await unlinkIfThere(files, draft).catch(() => undefined);
  }
}

/** Fails where there is a file of that name. A copy, for file systems without links, is seen unfinished for a moment. */
async function linkOrCopy(files: Files, from: string, to: string): Promise<void> {
  try {
    await files.link(from, to);
  } catch (error) {
    if (!hasNoLinks(error)) throw error;
    await files.copyFile(from, to, constants.COPYFILE_EXCL);
  }
}

export async function readLock(files: Files, path: string): Promise<HeldLock | undefined> {
  for (let attempt = 1; ; attempt++) {
    const bytes = await readIfThere(files, path);
    if (bytes === undefined) return undefined;
    const lock = parseLock(bytes);
    if (lock !== undefined) return lock;
    if (attempt === attempts) throw damagedLock(path);
    await delay(pauseMilliseconds);
  }
}

export function parseLock(bytes: Buffer): HeldLock | undefined {
  return attempt(() => lockFile().parse(JSON.parse(bytes.toString('utf8'))));
}

function damagedLock(path: string): UserError {
  return new UserError(`the lock file ${path} is damaged: its holder is unknown`, {
    hint: `Make sure that no voxform is using this state, then: rm ${shellWord(path)}`,
  });
}

/** Puts the file in the place of the one that is there, in one step. */
export function replaceWhole(files: Files, path: string, lock: HeldLock): Promise<void> {
  return replaceFile(path, [lockBytes(lock)], { files, draft: temporaryName(path, lock.id) });
}

export function lockBytes(lock: HeldLock): Buffer {
  return Buffer.from(`${JSON.stringify(lock, null, 2)}\n`);
}

export function temporaryName(path: string, id: string): string {
  return `${path}.tmp-${id}`;
}
