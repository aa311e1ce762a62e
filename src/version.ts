import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The embedded files of the single-file executable; undefined in other installations. */
const assets = embeddedAssets();

/** True if this is the single-file executable. */
export const isExecutable = assets !== undefined;

const packageFolder = assets === undefined ? findPackageFolder() : '';

const packageFile = JSON.parse(packageText('package.json')) as {
  readonly version: string;
};

export const VERSION = packageFile.version;

export function packageText(file: string): string {
  return assets === undefined ? readFileSync(path.join(packageFolder, file), 'utf8') : assets.getAsset(file, 'utf8');
}

/** Returns the paths of the files in a folder of the package and in its subfolders, relative to the folder. */
export function packageFiles(folder: string): string[] {
  if (assets !== undefined) {
    const files = assets.getAssetKeys().filter((file) => file.startsWith(`${folder}/`));
    return files.map((file) => file.slice(folder.length + 1));
  }
  const root = path.join(packageFolder, folder);
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'));
}

function embeddedAssets(): Pick<typeof import('node:sea'), 'getAsset' | 'getAssetKeys'> | undefined {
  // Electron, which runs the VS Code extension, may lack `node:sea`.
  const sea = process.getBuiltinModule('node:sea') as typeof import('node:sea') | undefined;
  return sea?.isSea() ? sea : undefined;
}

/** Searches upward for the package folder, because sources and built chunks are at different depths. */
function findPackageFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(path.join(folder, 'package.json'))) {
    const parent = path.dirname(folder);
    if (parent === folder) throw new Error(`no package.json above ${import.meta.dirname}`);
    folder = parent;
  }
  return folder;
}
