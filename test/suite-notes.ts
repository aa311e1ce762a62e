import type { Reporter, TestModule } from 'vitest/node';

/** The tag of a test that is one of many similar ones: `npm test` omits it, CI does not. */
const LONG = 'long';

export const longTag = {
  name: LONG,
  description: 'One of many of its sort, or of minutes: runs in CI, and with `npm run test:long`.',
};

/**
 * How often a failed test is repeated. Set only in CI. A test that passes only when repeated is a defect, of the test
 * or of the code.
 */
export const retries = Number(process.env.TEST_RETRIES ?? 0);

/** Reports at the end which tests passed only when repeated, and how many long tests were omitted. */
export class SuiteNotes implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap(({ children }) => [...children.allTests()]);
    for (const test of tests.filter((each) => each.diagnostic()?.flaky === true)) {
      const { errors = [] } = test.result();
      const reason = errors[0]?.message.split('\n')[0] ?? '';
      process.stdout.write(
        `WARNING: passed only when repeated: ${test.module.relativeModuleId} > ${test.fullName}: ${reason}\n`,
      );
    }
    const left = tests.filter((test) => test.result().state === 'skipped' && test.tags.includes(LONG)).length;
    if (left > 0) process.stdout.write(`${left} long tests not run: npm run test:long\n`);
  }
}
