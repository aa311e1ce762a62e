import path from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { retries, SuiteNotes } from './suite-notes.ts';

/**
 * Tests that need minutes to build or start, which `npm test` omits: the extension in a real editor, and the
 * executable.
 */
export default defineConfig({
  test: {
    root: path.resolve(import.meta.dirname, '..'),
    include: ['test/vscode/*.browser.ts', 'test/*.built.ts'],
    setupFiles: ['test/own-git.ts'],
    globalSetup: ['test/temporary-files.ts', 'test/build-command.ts'],
    reporters: [...configDefaults.reporters, new SuiteNotes()],
    retry: retries,
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
  },
});
