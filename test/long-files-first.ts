import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * What comes first. To start a process takes the longer the more memory the starting one has, ten times as long at the end of a run as
 * at its beginning: files that start hundreds come before all others, and so does the one that counts all objects.
 */
const FIRST = [
  'torture/campaign',
  'state/backends/git/git-store',
  'page/memory',
  'ci-kit/github',
  'cli/accept-request',
  'state/backends/git/git-remote',
  'state/backends/contract',
  'fleet/sources',
  'cli/git-state',
  'ci-kit/drift',
  'cli/state-move',
  'cli/shared-git-state',
  'operator/git-paths',
  'operator/git-source',
  'ci-kit/init-workflow',
  'ci-kit/gitlab',
  'fleet/drift-request',
];

/** Short to read, long to run; the longest first. */
const LONG = [
  ...FIRST,
  'demo',
  'package',
  'page/browser',
  'new-members/new-members',
  'docs/moving-a-workspace',
  'fleet/fencing',
  'output/html/browser',
  'operator/scripted-day',
  'docs/fleet',
  'fleet/embedded',
  'page/fleet-command',
  'cli/fleet',
  'cli/completion/shells',
  'ci-kit/hooks',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const place = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place === -1 ? LONG.length : place;
};

/** Begins with the files that take long or start many processes: where no earlier run has told, the order is by size, and a core would wait for these at the end. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
