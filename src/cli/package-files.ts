import { fileURLToPath } from 'node:url';

/** Absolute path of a file or folder that comes with voxform, seen from its own folder. */
export function packagePath(relative: string): string {
  return fileURLToPath(new URL(`../../${relative}`, import.meta.url));
}
