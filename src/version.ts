import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The files in the one-file executable; undefined otherwise. Electron, which runs the extension for VS Code, may lack `node:sea`. */
const inside = executable();

/** True in the one-file executable. */
export const isExecutable = inside !== undefined;

const packageFolder = inside === undefined ? folderOfPackage() : '';

const packageFile = JSON.parse(packageText('package.json')) as {
  readonly version: string;
};

export const VERSION = packageFile.version;

/** The content of a file of the package. */
export function packageText(file: string): string {
  return inside === undefined ? readFileSync(path.join(packageFolder, file), 'utf8') : inside.getAsset(file, 'utf8');
}

/** The files in a folder of the package and in its subfolders, relative to the folder. */
export function packageFiles(folder: string): string[] {
  if (inside !== undefined) {
    const files = inside.getAssetKeys().filter((file) => file.startsWith(`${folder}/`));
    return files.map((file) => file.slice(folder.length + 1));
  }
  const root = path.join(packageFolder, folder);
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'));
}

function executable(): Pick<typeof import('node:sea'), 'getAsset' | 'getAssetKeys'> | undefined {
  const sea = process.getBuiltinModule('node:sea') as typeof import('node:sea') | undefined;
  return sea?.isSea() ? sea : undefined;
}

/** Sources and built chunks are at different depths. */
function folderOfPackage(): string {
  let folder = import.meta.dirname;
  while (!existsSync(path.join(folder, 'package.json'))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error(`no package.json above ${import.meta.dirname}`);
    folder = parent;
  }
  return folder;
}
