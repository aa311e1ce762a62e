import { spawnSync } from 'node:child_process';
import { globSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';

/* Builds dist/: the command and the library as JavaScript, and the types of the library, with the zod types that they use, in one file. */

const root = path.resolve(import.meta.dirname, '..');
const dist = path.join(root, 'dist');
const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const steps = [
  [path.join(root, 'scripts', 'bundle.ts'), dist],
  [tsc, '-p', 'tsconfig.build.json', '--checkers', '1'],
];
const isBuilt = steps.every((step) => spawnSync(process.execPath, step, { cwd: root, stdio: 'inherit' }).status === 0);
if (isBuilt) await bundleTypes('library.d.ts');
else process.exitCode = 1;

async function bundleTypes(name: string): Promise<void> {
  const types = await rolldown({
    cwd: root,
    input: path.join(dist, name),
    experimental: { attachDebugInfo: 'none' },
    plugins: [dts({ dtsInput: true, tsconfig: false })],
    // zod exports its translations too, in a form that cannot be bundled.
    external: [/^node:/, /\/locales\//],
    treeshake: { moduleSideEffects: false },
  });
  const [{ code }] = (await types.generate({ format: 'es' })).output;
  await types.close();
  for (const file of globSync('**/*.d.ts', { cwd: dist })) rmSync(path.join(dist, file));
  // zod suppresses errors with comments in front of single lines, which the bundler drops. The types were checked before.
  writeFileSync(path.join(dist, name), `// @ts-nocheck\n${code}`);
}
