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
export default function buildCommand({ provide }: TestProject): () => void {
  const root = path.resolve(import.meta.dirname, '..');
  // Beside `dist`, because the command looks for the package's files from there; a folder for each run of the tests.
  const folder = path.join(root, `.test-build-${process.pid}`);
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', folder];
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  provide('built', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
