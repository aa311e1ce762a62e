import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Short to read, long to run; the longest first. */
const LONG = [
  'torture/campaign',
  'state/backends/git/git-store',
  'ci-kit/github',
  'demo',
  'package',
  'output/html/browser',
  'page/browser',
  'fleet/fencing',
  'new-members/new-members',
  'cli/moving-a-workspace',
  'fleet/embedded',
  'page/fleet-command',
  'cli/fleet',
  'cli/completion/shells',
  'ci-kit/hooks',
  'ci-kit/init-workflow',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const place = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place === -1 ? LONG.length : place;
};

/** Begins with the files that take long: where no earlier run has told, the order is by size, and a core would wait for these at the end. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
