import { access, constants, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { removeDrafts, replaceFile, writeDraftFor } from '../../files/replace-file.ts';
import { isInside, reasonOf } from '../../manifests/read-file.ts';
import { UserError } from '../../problems/user-error.ts';
import type { FileEdit } from './edit-plan.ts';

/**
 * Writes all or none of these files, as far as the file system allows. All texts are stored in temporary files before the first file is
 * replaced. After a failure, the replaced files are restored. Files keep their modes. If a file is a symbolic link, its target is written,
 * but only inside the project.
 * @param root a real path.
 * @throws UserError if a file cannot be written, or has changed since it was read.
 */
export async function writeFiles(root: string, edits: readonly FileEdit[]): Promise<void> {
  const drafts: FileDraft[] = [];
  try {
    for (const edit of edits) drafts.push(await writeDraft(root, edit));
    for (const each of drafts) await refuseChanged(each);
    await removeDrafts(drafts.map(({ target }) => target));
    const replaced: FileDraft[] = [];
    for (const each of drafts) {
      try {
        await rename(each.draft, each.target);
        replaced.push(each);
      } catch (error) {
        throw writeError(each.edit.file, error, await restore(replaced));
      }
    }
  } finally {
    await Promise.all(drafts.map((each) => rm(each.draft, { force: true })));
  }
}

interface FileDraft {
  readonly edit: FileEdit;
  /** Real path of the file. */
  readonly target: string;
  readonly draft: string;
  readonly mode: number;
}

async function writeDraft(root: string, edit: FileEdit): Promise<FileDraft> {
  let target: string;
  try {
    target = await realpath(path.join(root, edit.file));
    if (!isInside(target, root)) {
      throw new UserError(`${edit.file} is outside the project folder, and is not written`);
    }
    await access(target, constants.W_OK);
    const { mode } = await stat(target);
    const name = await writeDraftFor(target, edit.after, { mode });
    return { edit, target, draft: name, mode };
  } catch (error) {
    throw error instanceof UserError ? error : writeError(edit.file, error);
  }
}

/** Refuses a file that changed since it was read, for example while the user was prompted. */
async function refuseChanged({ edit, target }: FileDraft): Promise<void> {
  const now = await readFile(target, 'utf8').catch((error: unknown) => {
    throw writeError(edit.file, error);
  });
  if (now === edit.before) return;
  throw new UserError(`${edit.file} changed during the run; nothing was written`, {
    hint: 'Run the command again.',
  });
}

/** Returns the files that could not be restored. */
async function restore(replaced: readonly FileDraft[]): Promise<string[]> {
  const results = await Promise.allSettled(
    replaced.map(({ edit, target, mode }) => replaceFile(target, edit.before, { mode })),
  );
  return replaced.filter((_, index) => results[index]?.status === 'rejected').map(({ edit }) => edit.file);
}

function writeError(file: string, cause: unknown, notRestored: readonly string[] = []): UserError {
  const written =
    notRestored.length === 0 ? 'nothing was written' : `written and not restored: ${notRestored.join(', ')}`;
  return new UserError(`cannot write ${file}: ${reasonOf(cause)}; ${written}`, {
    hint: 'Check the permissions of the file and its folder, and the free disk space.',
    cause,
  });
}
