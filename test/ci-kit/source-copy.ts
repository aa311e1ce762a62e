import { chmodSync, cpSync } from 'node:fs';
import path from 'node:path';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { root } from './workflow.ts';

/** The parts of the repository that `ci/install-source.sh` needs. */
const parts = ['ci', 'scripts', 'src', 'package.json', 'package-lock.json', 'CHANGELOG.md', 'LICENSE', 'schemas'];

export interface SourceCopy extends Folder {
  /** A folder with an npm whose `ci` links the packages of this checkout, or none with `--omit=dev`. */
  readonly bin: string;
}

/** Returns a clone without installed packages. */
export async function copySources(): Promise<SourceCopy> {
  const modules = path.join(root, 'node_modules');
  const npm = `#!/bin/sh\necho "$@" >> npm-calls\ncase "$*" in *omit*) exit 0 ;; esac\nln -s '${modules}' node_modules\n`;
  const copy = await temporaryFolder({ 'bin/npm': npm });
  const bin = path.join(copy.root, 'bin');
  chmodSync(path.join(bin, 'npm'), 0o755);
  for (const part of parts) cpSync(path.join(root, part), path.join(copy.root, part), { recursive: true });
  return Object.assign(copy, { bin });
}
