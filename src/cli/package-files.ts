import path from 'node:path';
import { PACKAGE_FOLDER } from '../version.ts';

/** Absolute path of a file or folder of the voxform package. */
export function packagePath(relative: string): string {
  return path.join(PACKAGE_FOLDER, relative);
}
