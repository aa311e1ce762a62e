import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';

/* Builds dist/: the command and the library as JavaScript, and the types of the library. */

const root = path.resolve(import.meta.dirname, '..');
const dist = path.join(root, 'dist');
const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const steps = [
  [path.join(root, 'scripts', 'bundle.ts'), dist],
  [tsc, '-p', 'tsconfig.build.json', '--checkers', '1'],
];
const isBuilt = steps.every((step) => spawnSync(process.execPath, step, { cwd: root, stdio: 'inherit' }).status === 0);
if (isBuilt) removeOtherTypes();
else process.exitCode = 1;

/** The compiler also writes the types of files that only the code of the library uses. */
function removeOtherTypes(): void {
  const used = new Set([path.join(dist, 'library.d.ts')]);
  for (const file of used) {
    for (const [, imported = ''] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"](\.[^'"]+)\.ts['"]/g))
      used.add(path.join(path.dirname(file), `${imported}.d.ts`));
  }
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(dist, name);
    if (name.endsWith('.d.ts') && !used.has(file)) rmSync(file);
  }
}
