import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the command as it is shipped. */
    readonly built: string;
  }
}

/** Builds the command once, before all tests, for those that start it. Types are checked elsewhere. */
export default function provideCommand({ provide }: TestProject): void {
  const { folder, remove } = buildCommand();
  // Tests leave nothing in the home of whoever runs them.
  process.env.XDG_STATE_HOME = path.join(folder, 'states');
  // What one process compiles, another need not.
  process.env.NODE_COMPILE_CACHE = path.join(folder, 'compiled');
  provide('built', folder);
  // Later than a teardown: a worker writes what it compiled when it ends.
  process.once('exit', remove);
}

/** What the fault campaign starts by itself, in a process where it can die at a given place. */
const PARTS = ['cli/run', 'cli/interrupts', 'values/redactor'];

/** Builds the command into a folder of this process's own. */
export function buildCommand(): { readonly folder: string; readonly remove: () => void } {
  const root = path.resolve(import.meta.dirname, '..');
  // Beside `dist`, because the command looks for the package's files from there.
  const folder = path.join(root, `.test-build-${process.pid}`);
  const args = [path.join(root, 'scripts', 'bundle.ts'), folder, ...PARTS];
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
