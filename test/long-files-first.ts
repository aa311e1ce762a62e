import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * What comes first. To start a process takes the longer the more memory the starting one has: files that start hundreds come before all
 * others, and so does the one that counts all objects. Between them stand those that wait most of the time, so that the cores always have
 * something to do.
 */
const LONG = [
  'torture/campaign',
  'engine/properties/workspaces',
  'engine/properties/faults',
  'cli/accept-request',
  'fleet/fencing',
  'state/backends/git/git-store',
  'ci-kit/github',
  'state/backends/contract',
  'fleet/sources',
  'fleet/rules-in-force',
  'cli/shared-git-state',
  'page/attacks',
  'demo',
  'package',
  'docs/pull-requests',
  'fleet/serving',
  'operator/scripted-day',
  'fleet/control',
  'state/backends/git/git-remote',
  'ci-kit/drift',
  'operator/git-paths',
  'cli/git-state',
  'fleet/pulls-approval',
  'fleet/pulls-faults',
  'operator/git-source',
  'cli/state-move',
  'page/memory',
  'ci-kit/init-workflow',
  'ci-kit/gitlab',
  'page/browser',
  'page/fleet-command',
  'new-members/new-members',
  'fleet/drift-request',
  'fleet/pulls',
  'trust/secrets',
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
