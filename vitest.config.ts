import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongFilesFirst } from './test/long-files-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/property-seed.ts', 'test/own-git.ts'],
    globalSetup: ['test/build-command.ts'],
    // Files leave nothing behind in their process: they can share what it has loaded, which takes longer than most of them do.
    isolate: false,
    // One more than there are cores: much of what is tested waits for a process or a pause.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongFilesFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
