import path from 'node:path';
import { statusOf } from '../files/input-files.ts';
import { realPath } from '../manifests/read-file.ts';
import { UserError } from '../problems/user-error.ts';

export const PROJECT_FILE = 'voxform.yaml';

export const PROJECT_FILES: readonly string[] = [PROJECT_FILE, 'voxform.yml'];

interface SearchOptions {
  /** Absolute path of the folder where the search starts. */
  readonly from: string;
  /** The user's home folder. Folders above it are not searched. */
  readonly home: string | undefined;
  /** The user's id; undefined on systems without one. */
  readonly user: number | undefined;
}

/**
 * Returns the nearest folder with a project file: the start folder or one of its parents. The search stops at the home folder and at the
 * boundary of the file system.
 * @throws UserError if a project file in a parent belongs to another user, because its base_url would receive the user's key.
 */
export function findProjectFolder({ from, home, user }: SearchOptions): string | undefined {
  const top = home === undefined || home === '' ? undefined : realPath(home);
  const start = realPath(from);
  const device = statusOf(start)?.dev;
  for (let folder = start; ; folder = path.dirname(folder)) {
    const status = statusOf(folder);
    if (status === undefined || status.dev !== device) return undefined;
    const name = projectFileIn(folder);
    if (name !== undefined) {
      // Keep the path as the user wrote it.
      if (folder === start) return from;
      refuseForeign(path.join(folder, name), user);
      return folder;
    }
    if (folder === top || path.dirname(folder) === folder) return undefined;
  }
}

/** Returns the name of the project file in a folder; undefined if there is none. @throws UserError if there are two. */
export function projectFileIn(folder: string): string | undefined {
  const [name, other] = PROJECT_FILES.filter((each) => statusOf(path.join(folder, each)) !== undefined);
  if (other === undefined) return name;
  throw new UserError(`${folder} has two project files, ${name} and ${other}`, {
    hint: 'Delete one of them.',
  });
}

function refuseForeign(file: string, user: number | undefined): void {
  const owner = statusOf(file)?.uid;
  if (user === undefined || owner === undefined || owner === BigInt(user) || owner === 0n) return;
  const folder = path.dirname(file);
  throw new UserError(`${file} belongs to another user`, {
    hint: `If you trust the file, pass its folder: voxform -C ${folder}`,
  });
}
