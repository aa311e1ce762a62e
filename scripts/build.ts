import { spawnSync } from 'node:child_process';
import path from 'node:path';

/* Builds dist/: the command and the library as JavaScript, and the types of the library. */

const root = path.resolve(import.meta.dirname, '..');
const steps = [
  [path.join(root, 'scripts', 'bundle.ts'), path.join(root, 'dist')],
  [
    path.join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
    '-p',
    'tsconfig.build.json',
    '--checkers',
    '1',
  ],
];
for (const step of steps) {
  const { status } = spawnSync(process.execPath, step, { cwd: root, stdio: 'inherit' });
  if (status !== 0) {
    process.exitCode = 1;
    break;
  }
}
