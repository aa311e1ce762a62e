import { readFileSync } from 'node:fs';

interface PackageFile {
  readonly version: string;
}

const packageFile = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as PackageFile;

export const VERSION = packageFile.version;
