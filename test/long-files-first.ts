import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The first files. Starting a process takes longer the more memory its parent uses, so files that start hundreds come
 * first, with the one that counts all objects. In between are files that mostly wait, so that the cores are always
 * busy.
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
  'fleet/current-rules',
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

/**
 * Starts with the files that take long or start many processes. Without an earlier run the order would be by size, and
 * a core would wait for these at the end.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
