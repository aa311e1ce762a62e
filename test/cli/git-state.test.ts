import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { agentManifest, type TestWorkspace, testWorkspace } from './workspace.ts';

const STATE = '.voxform/test.state.json';
const FILES = { 'manifests/a.yaml': agentManifest('day') };

function git({ folder }: TestWorkspace, ...args: string[]): void {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  execFileSync('git', [...who, ...args], { cwd: folder.root, stdio: 'pipe' });
}

async function appliedInGit(files: Readonly<Record<string, string>> = FILES): Promise<TestWorkspace> {
  const workspace = await testWorkspace(files);
  await workspace.run('apply', '--auto-approve');
  git(workspace, 'init', '-q', '-b', 'main');
  git(workspace, 'add', '-f', STATE);
  git(workspace, 'commit', '-q', '-m', 'state');
  return workspace;
}

describe('a state that Git keeps', () => {
  it('is warned of in CI, where other jobs do not see the lock, and only there', async () => {
    await using workspace = await appliedInGit();
    const apply = ['apply', '--auto-approve'];
    const inCi = await workspace.runWith({ CI: 'true' }, ...apply);
    expect(inCi.code).toBe(0);
    expect(inCi.stderr.replace(/\s+/g, ' ')).toContain('test.state.json is tracked by Git');
    expect((await workspace.run(...apply)).stderr).not.toContain('tracked by Git');
    git(workspace, 'rm', '-q', '--cached', STATE);
    const untracked = await workspace.runWith({ CI: 'true' }, ...apply);
    expect(untracked.stderr).not.toContain('tracked by Git');
  });

  it.each([
    { reason: 'the same resource', names: ['night', 'night'] },
    { reason: 'resources far apart', names: ['after', 'zero'] },
    { reason: 'the same', names: [undefined, undefined] },
  ])('conflicts where two jobs wrote $reason, and is refused until somebody decides', async ({ names }) => {
    const many = Array.from({ length: 9 }, (_, index) => agentManifest(`m${index}`)).join('---\n');
    await using workspace = await appliedInGit({ ...FILES, 'manifests/many.yaml': many });
    const job = async (name: string | undefined): Promise<void> => {
      // A job has what Git has.
      git(workspace, 'clean', '-q', '-f', '-x', '.voxform');
      if (name !== undefined) await workspace.folder.write('manifests/b.yaml', agentManifest(name));
      const args =
        name === undefined ? ['state', 'mv', 'Agent/day', 'Agent/noon'] : ['apply', '--auto-approve'];
      expect((await workspace.run(...args)).code).toBe(0);
      git(workspace, 'commit', '-q', '-a', '-m', 'state');
    };
    git(workspace, 'checkout', '-q', '-b', 'job');
    await job(names[0]);
    git(workspace, 'checkout', '-q', 'main');
    await job(names[1]);
    expect(() => git(workspace, 'merge', 'job')).toThrow(expect.objectContaining({ status: 1 }));
    git(workspace, 'clean', '-q', '-f', '-x', '.voxform');

    const writes = workspace.writes();
    const { code, stderr } = await workspace.run('apply', '--auto-approve');
    expect(code).toBe(1);
    expect(stderr).toContain('unresolved merge conflict');
    expect(workspace.writes()).toBe(writes);
  });
});
