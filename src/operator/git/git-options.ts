import path from 'node:path';
import { isRefName } from '../../git/git-address.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';

/** Throws `UserError` unless git can take it for nothing but the name of a branch, a tag or a commit. */
export function checkRef(ref: string): void {
  if (isRefName(ref)) return;
  throw new UserError(`--ref: ${JSON.stringify(ref)} is not a valid branch or tag name`, {
    exitCode: ExitCode.usage,
  });
}

/** The folder of the project inside a checkout, as a relative path. Throws `UserError` for one that leads out of it. */
export function checkSubfolder(folder: string): string {
  const normal = path.posix.normalize(folder.replaceAll('\\', '/'));
  const leadsOut = path.posix.isAbsolute(normal) || normal === '..' || normal.startsWith('../');
  if (!leadsOut && !normal.split('/').includes('.git')) return normal;
  throw new UserError('--path must be a folder inside the repository', { exitCode: ExitCode.usage });
}
