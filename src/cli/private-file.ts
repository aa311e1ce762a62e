import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '../files/replace-file.ts';
import { reasonOf } from '../manifests/read-file.ts';
import { UserError } from '../problems/user-error.ts';
import type { Context } from './context.ts';

/** Writes a file that only its owner may read, whole or not at all. A device or a pipe of that name is written to. */
export async function writePrivateFile({ cwd }: Context, file: string, text: string): Promise<void> {
  const target = path.resolve(cwd, file);
  try {
    if (await isStream(target)) return await writeFile(target, text);
    await replaceFile(target, text);
  } catch (cause) {
    const isWithoutFolder = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const reason = isWithoutFolder ? 'no such folder' : reasonOf(cause);
    throw new UserError(`cannot write ${file}: ${reason}`, {
      hint: 'Choose an existing, writable folder.',
      cause,
    });
  }
}

/** Devices and pipes are there to be written to: a file in their place would take them away from everyone else. */
async function isStream(file: string): Promise<boolean> {
  try {
    const found = await stat(file);
    return !found.isFile() && !found.isDirectory();
  } catch {
    return false;
  }
}
