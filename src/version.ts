import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** Absolute path of the folder that voxform is installed in. */
const PACKAGE_FOLDER = packageFolder();

const packageFile = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as {
  readonly version: string;
};

export const VERSION = packageFile.version;

/** Absolute path of a file or folder of the package. */
export function packagePath(relative: string): string {
  return path.join(PACKAGE_FOLDER, relative);
}

/** Sources and built chunks are at different depths. */
function packageFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(path.join(folder, 'package.json'))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error(`no package.json above ${import.meta.dirname}`);
    folder = parent;
  }
  return folder;
}
