import path from 'node:path';
import { statusOf } from '../files/input-files.ts';
import { realPath } from '../manifests/read-file.ts';
import { UserError } from '../problems/user-error.ts';

export const PROJECT_FILE = 'voxform.yaml';

export const PROJECT_FILES: readonly string[] = [PROJECT_FILE, 'voxform.yml'];

interface Searching {
  /** Absolute path of the folder where the search begins. */
  readonly from: string;
  /** The person's own folder: nothing above it is looked at. */
  readonly home: string | undefined;
  /** The number of the user; undefined where the system has none. */
  readonly user: number | undefined;
}

/**
 * The nearest folder with a project file, from a folder upwards; undefined where there is none. The search ends at the person's own folder
 * and where another file system begins.
 * @throws UserError where the file that is found above belongs to somebody else: its base_url would be sent the person's key.
 */
export function findProjectFolder({ from, home, user }: Searching): string | undefined {
  const top = home === undefined || home === '' ? undefined : realPath(home);
  const start = realPath(from);
  const device = statusOf(start)?.dev;
  for (let folder = start; ; folder = path.dirname(folder)) {
    const status = statusOf(folder);
    if (status === undefined || status.dev !== device) return undefined;
    const name = projectFileIn(folder);
    if (name !== undefined) {
      // Where nothing else is said, the folder stays as the person wrote it.
      if (folder === start) return from;
      refuseForeign(path.join(folder, name), user);
      return folder;
    }
    if (folder === top || path.dirname(folder) === folder) return undefined;
  }
}

/** The name of a folder's project file; undefined where it has none. @throws UserError where it has two. */
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
    hint: `If you trust it, name its folder: voxform -C ${folder}`,
  });
}
