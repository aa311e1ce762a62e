import path from 'node:path';
import { defineConfig } from 'vitest/config';

/** Tests in a real editor, which `npm test` leaves out. */
export default defineConfig({
  test: {
    root: path.resolve(import.meta.dirname, '../..'),
    include: ['test/vscode/*.browser.ts'],
    globalSetup: ['test/temporary-files.ts', 'test/build-command.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
