import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/* Makes dist/: the sources as JavaScript, and the bin executable. */

const root = path.resolve(import.meta.dirname, '..');
const bin = path.join(root, 'dist', 'main.js');
const shebang = '#!/usr/bin/env node\n';

rmSync(path.join(root, 'dist'), { recursive: true, force: true });
const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });

const text = readFileSync(bin, 'utf8');
if (!text.startsWith('#!')) writeFileSync(bin, shebang + text);
chmodSync(bin, 0o755);
