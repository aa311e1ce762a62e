import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * What comes first. To start a process takes the longer the more memory the starting one has: files that start hundreds come before all
 * others, and so does the one that counts all objects. Between them stand those that wait most of the time, so that the cores always have
 * something to do.
 */
const LONG = [
  'torture/campaign',
  'demo',
  'fleet/fencing',
  'state/backends/git/git-store',
  'page/memory',
  'ci-kit/github',
  'operator/scripted-day',
  'cli/accept-request',
  'state/backends/git/git-remote',
  'fleet/serving',
  'state/backends/contract',
  'fleet/sources',
  'cli/git-state',
  'docs/fleet',
  'ci-kit/drift',
  'cli/state-move',
  'fleet/control',
  'cli/shared-git-state',
  'operator/git-paths',
  'operator/git-source',
  'page/attacks',
  'ci-kit/init-workflow',
  'ci-kit/gitlab',
  'fleet/drift-request',
  'fleet/rules-in-force',
  'package',
  'page/browser',
  'page/fleet-command',
  'new-members/new-members',
  'docs/moving-a-workspace',
  'fleet/embedded',
  'output/html/browser',
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
