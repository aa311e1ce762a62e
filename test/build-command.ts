import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the packaged command. */
    readonly built: string;
  }
}

/** Builds the command once, before all tests that start it. Types are checked elsewhere. */
export default function provideCommand({ provide }: TestProject): void {
  const { folder, remove } = buildCommand();
  // Tests leave nothing in the user's home folder.
  process.env.XDG_STATE_HOME = path.join(folder, 'states');
  // Processes share compiled code.
  process.env.NODE_COMPILE_CACHE = path.join(folder, 'compiled');
  provide('built', folder);
  // After the teardown, because a worker writes its compiled code when it ends.
  process.once('exit', remove);
}

/** Modules that the fault campaign starts in a process that can die at a given point. */
const PARTS = ['cli/run', 'cli/interrupts', 'values/redactor'];

/** Builds the command into a folder of this process. */
export function buildCommand(): { readonly folder: string; readonly remove: () => void } {
  const root = path.resolve(import.meta.dirname, '..');
  // Beside `dist`, because the command searches the package's files from there.
  const folder = path.join(root, `.test-build-${process.pid}`);
  const args = [path.join(root, 'scripts', 'bundle.ts'), folder, ...PARTS];
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
