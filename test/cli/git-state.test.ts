import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { beginRepository } from '../hosting/bare-repository.ts';
import { temporaryFolder } from './voxform-process.ts';
import { agentManifest, projectFile, type TestWorkspace, testWorkspace } from './workspace.ts';

const STATE = '.voxform/test.state.json';
const FILES = { 'manifests/a.yaml': agentManifest('day') };

function git({ folder }: TestWorkspace, ...args: string[]): void {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
  execFileSync('git', [...identity, ...args], { cwd: folder.root, stdio: 'pipe' });
}

async function appliedInGit(files: Readonly<Record<string, string>> = FILES): Promise<TestWorkspace> {
  const workspace = await testWorkspace(files);
  await workspace.run('apply', '--auto-approve');
  beginRepository(path.join(workspace.folder.root, '.git'), '[core]\n\tbare = false\n');
  git(workspace, 'add', '-f', STATE);
  git(workspace, 'commit', '-q', '-m', 'state');
  return workspace;
}

describe('a state in Git', () => {
  it('causes a warning in CI until it is moved to a ref with the printed command', {
    tags: ['long'],
  }, async () => {
    await using workspace = await appliedInGit();
    await using remote = await temporaryFolder();
    beginRepository(remote.root, '[core]\n\tbare = true\n');
    git(workspace, 'remote', 'add', 'origin', remote.root);
    const apply = ['apply', '--auto-approve'];
    const warning = `the state ${STATE} is in Git, and other jobs do not see its lock`;
    const inCi = await workspace.runWith({ CI: 'true' }, ...apply);
    expect(inCi.code).toBe(0);
    const stderr = inCi.stderr.replace(/\s+/g, ' ');
    expect(stderr).toContain(warning);
    expect((await workspace.run(...apply)).stderr.replace(/\s+/g, ' ')).not.toContain(warning);

    const [, setting = '', command = ''] =
      /Set (state: .*) in voxform\.yaml, then run: voxform (.*)$/.exec(stderr.trim()) ?? [];
    await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator, `${setting}\n`));
    expect(await workspace.run(...command.split(' '))).toMatchObject({ code: 0 });
    const writes = workspace.writes();
    const moved = await workspace.runWith({ CI: 'true' }, ...apply);
    expect(moved).toMatchObject({ code: 0 });
    expect(moved.stderr).not.toContain('is in Git');
    expect(workspace.writes()).toBe(writes);
  });

  it('is not created in a checkout of CI, where it would be lost after the job', async () => {
    await using workspace = await testWorkspace(FILES);
    beginRepository(path.join(workspace.folder.root, '.git'), '[core]\n\tbare = false\n');
    await workspace.folder.write(
      'voxform.yaml',
      projectFile({ ...workspace.emulator, url: 'https://voice.example.com' }),
    );
    const apply = ['apply', '--auto-approve'];
    const refused = await workspace.runWith({ CI: 'true' }, ...apply);
    expect(refused.code).toBe(1);
    expect(refused.stderr.replace(/\s+/g, ' ')).toContain(
      `no state at ${STATE} yet, and other jobs would not see the state that this job creates hint: Set state: { backend: git } in voxform.yaml.`,
    );
  });

  it('is not created in a ref if another ref has a state of this workspace', {
    tags: ['long'],
  }, async () => {
    await using workspace = await testWorkspace(FILES);
    await using remote = await temporaryFolder();
    beginRepository(remote.root, '[core]\n\tbare = true\n');
    beginRepository(path.join(workspace.folder.root, '.git'), '[core]\n\tbare = false\n');
    git(workspace, 'remote', 'add', 'origin', remote.root);
    const configure = (name: string, url = workspace.emulator.url) => {
      const project = projectFile({ ...workspace.emulator, url }, 'state: { backend: git }\n');
      return workspace.folder.write('voxform.yaml', project.replace('  test:', `  ${name}:`));
    };
    await configure('test');
    expect(await workspace.run('apply', '--auto-approve')).toMatchObject({ code: 0 });
    // Like a fresh clone, this machine has written no state for that address.
    await configure('prod', 'https://voice.example.com');
    const refused = await workspace.run('plan');
    expect(refused.code).toBe(1);
    const stderr = refused.stderr.replace(/\s+/g, ' ');
    expect(stderr).toContain(
      'no state at refs/voxform/prod of origin yet, but refs/voxform/test of origin, with 1 record, belongs to the same workspace',
    );
    expect(stderr).toContain("voxform state move --from '{ backend: git, ref: refs/voxform/test }'.");

    await configure('prod');
    const moved = await workspace.run('state', 'move', '--from', '{ backend: git, ref: refs/voxform/test }');
    expect(moved).toMatchObject({ code: 0 });
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
  });

  it.each([
    { reason: 'the same resource', names: ['night', 'night'] },
    { reason: 'resources far apart', names: ['after', 'zero'] },
    { reason: 'the same', names: [undefined, undefined] },
  ])(
    'is refused after two jobs wrote $reason, until a person resolves the conflict',
    { tags: ['long'] },
    async ({ names }) => {
      const many = Array.from({ length: 9 }, (_, index) => agentManifest(`m${index}`)).join('---\n');
      await using workspace = await appliedInGit({ ...FILES, 'manifests/many.yaml': many });
      const job = async (name: string | undefined): Promise<void> => {
        // A job only has the files that are in Git.
        git(workspace, 'clean', '-q', '-f', '-x', '.voxform');
        if (name !== undefined) await workspace.folder.write('manifests/b.yaml', agentManifest(name));
        const args = name === undefined ? ['state', 'mv', 'Agent/day', 'Agent/noon'] : ['apply', '--auto-approve'];
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
    },
  );

  it.each([
    { reason: 'in one place', names: ['night', 'noon'], style: 'merge' },
    { reason: 'far apart', names: ['after', 'zero'], style: 'merge' },
    { reason: 'in one place, with the base in the conflict', names: ['night', 'noon'], style: 'diff3' },
  ])('has every record once after the printed resolution of a conflict: $reason', { tags: ['long'] }, async (case_) => {
    const [theirs = '', ours = ''] = case_.names;
    const many = Array.from({ length: 9 }, (_, index) => agentManifest(`m${index}`)).join('---\n');
    await using workspace = await appliedInGit({ ...FILES, 'manifests/many.yaml': many });
    const job = async (name: string): Promise<void> => {
      await workspace.folder.write(`manifests/${name}.yaml`, agentManifest(name));
      expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
      await rm(`${workspace.folder.root}/manifests/${name}.yaml`);
      git(workspace, 'commit', '-q', '-a', '-m', name);
      git(workspace, 'clean', '-q', '-f', '-x', '.voxform');
    };
    git(workspace, 'checkout', '-q', '-b', 'job');
    await job(theirs);
    git(workspace, 'checkout', '-q', 'main');
    await job(ours);
    expect(() => git(workspace, '-c', `merge.conflictStyle=${case_.style}`, 'merge', 'job')).toThrow();
    for (const name of [theirs, ours]) await workspace.folder.write(`manifests/${name}.yaml`, agentManifest(name));

    const { stdout } = await workspace.run('plan', '--output', 'json');
    const { hint } = JSON.parse(stdout).error as { hint: string };
    expect(hint).not.toContain('.backup-');
    expect(hint.includes(`  voxform import Agent/${theirs} `)).toBe(case_.reason !== 'far apart');
    for (const command of hint.split('\n').filter((line) => line.startsWith('  '))) {
      const [first, ...args] = command.trim().split(' ');
      if (first === 'voxform') expect(await workspace.run(...args)).toMatchObject({ code: 0 });
      else execFileSync('sh', ['-c', command], { cwd: workspace.folder.root, stdio: 'pipe' });
    }
    const plan = await workspace.run('plan', '--detailed-exitcode');
    expect(plan, hint).toMatchObject({ code: 0 });
    expect(workspace.emulator.world.agents.size).toBe(12);
  });
});
