import { chmodSync, cpSync } from 'node:fs';
import path from 'node:path';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { root } from './workflow.ts';

/** What a clone of the repository has that `ci/install-source.sh` needs. */
const parts = ['ci', 'scripts', 'src', 'package.json', 'package-lock.json', 'CHANGELOG.md', 'LICENSE', 'schemas'];

export interface SourceCopy extends Folder {
  /** Has an npm whose `ci` links the packages of this checkout, but no development dependencies with `--omit=dev`. */
  readonly bin: string;
}

/** A clone without installed packages. */
export async function copySources(): Promise<SourceCopy> {
  const modules = path.join(root, 'node_modules');
  const npm = `#!/bin/sh\necho "$@" >> npm-calls\ncase "$*" in *omit*) exit 0 ;; esac\nln -s '${modules}' node_modules\n`;
  const copy = await temporaryFolder({ 'bin/npm': npm });
  const bin = path.join(copy.root, 'bin');
  chmodSync(path.join(bin, 'npm'), 0o755);
  for (const part of parts) cpSync(path.join(root, part), path.join(copy.root, part), { recursive: true });
  return Object.assign(copy, { bin });
}
