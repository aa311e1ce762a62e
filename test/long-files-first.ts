import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Short to read, long to run. */
const LONG = [
  'torture/campaign',
  'state/backends/git/git-store',
  'cli/moving-a-workspace',
  'package',
  'new-members/new-members',
  'demo',
  'ci-kit/github',
  'cli/completion/shells',
  'ci-kit/hooks',
  'ci-kit/init-workflow',
];

/** Begins with the files that take long: where no earlier run has told, the order is by size, and a core would wait for these at the end. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      LONG.some((name) => moduleId.endsWith(`/test/${name}.test.ts`));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
