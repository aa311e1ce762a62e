import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { LongFilesFirst } from './test/long-files-first.ts';
import { longTag, retries, SuiteNotes } from './test/suite-notes.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/property-seed.ts', 'test/own-git.ts', 'test/slow-hashes.ts'],
    globalSetup: ['test/temporary-files.ts', 'test/build-command.ts'],
    tags: [longTag],
    reporters: [...configDefaults.reporters, new SuiteNotes()],
    // Large blocks go back to the system at once: to start a process takes the longer the more memory a worker has.
    env: {
      MALLOC_ARENA_MAX: '2',
      MALLOC_MMAP_THRESHOLD_: '262144',
      // Compilers that tests start end before it pays to collect their garbage.
      GOGC: 'off',
    },
    // Collecting young objects less often takes less time than it takes memory.
    execArgv: ['--max-semi-space-size=64'],
    // Files leave nothing behind in their process: they can share what it has loaded, which takes longer than most of them do.
    isolate: false,
    // Three more than there are cores: half of the time of what is tested is waiting for a process or a pause.
    maxWorkers: availableParallelism() + 3,
    sequence: { sequencer: LongFilesFirst },
    // Only for a test that hangs: a slow machine takes several times as long as a quick one.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    retry: retries,
    expect: { poll: { timeout: 300_000 } },
  },
});
