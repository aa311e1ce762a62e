import type { Reporter, TestModule } from 'vitest/node';

/** Given to a test of which the suite has others of the same sort: `npm test` leaves it out, CI does not. */
const LONG = 'long';

export const longTag = {
  name: LONG,
  description: 'One of many of its sort, or of minutes: runs in CI, and with `npm run test:long`.',
};

/** Says at the end how many long tests were left out. */
export class LongTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap(({ children }) => [...children.allTests('skipped')]);
    const left = tests.filter(({ tags }) => tags.includes(LONG)).length;
    if (left > 0) process.stdout.write(`${left} long tests not run: npm run test:long\n`);
  }
}
