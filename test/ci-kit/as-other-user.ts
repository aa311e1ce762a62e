import { statSync } from 'node:fs';
import path from 'node:path';

/** User and group of the image, where this process may become them and they could reach that folder; else none: stay as you are. */
export function asImageUser(folder: string): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0 || !isOpenToAll(folder) || !isOpenToAll(process.execPath)) return {};
  return { uid: 1000, gid: 1000 };
}

function isOpenToAll(file: string): boolean {
  const parent = path.dirname(file);
  return (statSync(file).mode & 0o005) === 0o005 && (parent === file || isOpenToAll(parent));
}
