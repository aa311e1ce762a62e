import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { git, newRepository } from '../state/backends/git/git-server.ts';
import { agentManifest, projectFile, type TestWorkspace, testWorkspace } from './workspace.ts';

const FILES = { 'manifests/a.yaml': agentManifest('day'), 'manifests/b.yaml': agentManifest('night') };
const OLD = '.voxform/test.state.json';
const NEW = '.voxform/live.state.json';

/** A workspace that was applied and then renamed in its project file. */
async function renamed(): Promise<TestWorkspace & { at(file: string): string }> {
  const workspace = await testWorkspace(FILES);
  await workspace.run('apply', '--auto-approve');
  await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator).replace('  test:', '  live:'));
  return Object.assign(workspace, { at: (file: string) => path.join(workspace.folder.root, file) });
}

describe('a workspace with a new name', () => {
  it('creates no duplicates, and keeps its state with the command that is printed', {
    tags: ['long'],
  }, async () => {
    await using workspace = await renamed();
    const writes = workspace.writes();
    for (const args of [
      ['plan'],
      ['apply', '--auto-approve'],
      ['status'],
      ['drift'],
      ['import', 'Agent/x', '01J'],
      ['recover', '--auto-approve'],
      ['state', 'list'],
      ['state', 'pull'],
    ]) {
      const { code, stderr } = await workspace.run(...args);
      expect([args[0], code]).toEqual([args[0], 1]);
      expect(stderr.replace(/\s+/g, ' ')).toContain(`but ${OLD}, with 2 records, belongs to the same workspace`);
      expect(stderr.replace(/\s+/g, ' ')).toContain(`voxform state move --from ${OLD}`);
    }
    expect(workspace.writes()).toBe(writes);
    const moved = await workspace.run('state', 'move', '--from', OLD);
    expect([moved.code, moved.stdout]).toEqual([
      0,
      `Moved the state from ${OLD} to ${NEW}: 2 resources, serial 2.\nThe history of the earlier runs stays at ${OLD}.\n`,
    ]);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
    const here = await workspace.run('history');
    expect(here.stdout).toContain(`moved from ${OLD}, which keeps the earlier runs`);
    const none = await workspace.run('history', 'Agent/day');
    expect(none.stderr).toContain(`No run matches. ${OLD} keeps the earlier runs.`);
    expect((await workspace.run('state', 'move', '--from', OLD)).stdout).toContain('already');

    await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator));
    const there = await workspace.run('history');
    expect(there.stdout).toContain(`moved to ${NEW}`);
    expect(there.stdout).toContain('2 created');
    const refused = await workspace.run('apply', '--auto-approve');
    expect(refused.code).toBe(1);
    expect(refused.stderr.replace(/\s+/g, ' ')).toContain(`was moved to ${NEW}`);
    const back = await workspace.run('state', 'move', '--from', "{ backend: local, path: '.voxform/live.state.json' }");
    expect(back.code).toBe(0);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
    expect(workspace.writes()).toBe(writes);
  });

  it.each<[what: string, broken: (at: (file: string) => string) => void, says: string]>([
    ['of which only backups remain', (at) => rmSync(at(OLD)), 'with 2 records'],
    ['that is damaged', (at) => writeFileSync(at(OLD), '{'), 'with 2 records'],
    [
      'that is damaged and has the default name of this workspace',
      (at) => {
        for (const name of readdirSync(at('.voxform'))) if (name.startsWith('test.')) rmSync(at(`.voxform/${name}`));
        writeFileSync(at(NEW), '{');
        const project = readFileSync(at('voxform.yaml'), 'utf8');
        writeFileSync(at('voxform.yaml'), `${project}    state: { path: elsewhere/state.json }\n`);
      },
      'which cannot be read',
    ],
    [
      'in the default folder if the settings name another one',
      (at) => {
        const project = readFileSync(at('voxform.yaml'), 'utf8');
        writeFileSync(at('voxform.yaml'), `${project}    state: { path: elsewhere/state.json }\n`);
      },
      'with 2 records',
    ],
    [
      'that another workspace of the project names',
      (at) => {
        mkdirSync(at('kept'));
        renameSync(at(OLD), at('kept/memory'));
        for (const name of readdirSync(at('.voxform'))) if (name.startsWith('test.')) rmSync(at(`.voxform/${name}`));
        const project = readFileSync(at('voxform.yaml'), 'utf8');
        const other = project.slice(project.indexOf('  live:')).replace('live:', 'other:');
        writeFileSync(
          at('voxform.yaml'),
          `${project.replace('workspaces:', 'default_workspace: live\nworkspaces:')}${other}    state: { path: kept/memory }\n`,
        );
      },
      '--from kept/memory -w live',
    ],
  ])('finds a state %s', { tags: ['long'] }, async (_, broken, says) => {
    await using workspace = await renamed();
    broken(workspace.at);
    const writes = workspace.writes();
    const { code, stderr } = await workspace.run('apply', '--auto-approve');
    expect([code, workspace.writes()]).toEqual([1, writes]);
    expect(stderr.replace(/\s+/g, ' ')).toContain(says);
  });

  it('ignores states of other workspaces, empty states and other files', async () => {
    await using workspace = await renamed();
    const state = readFileSync(workspace.at(OLD), 'utf8');
    for (const name of readdirSync(workspace.at('.voxform'))) {
      if (name.startsWith('test.')) rmSync(workspace.at(`.voxform/${name}`));
    }
    await workspace.folder.write(OLD, state.replace(/"workspace_id": "[^"]*"/, '"workspace_id": "another"'));
    await workspace.folder.write('.voxform/odd.state.json', '{');
    mkdirSync(workspace.at('.voxform/folder.state.json'));
    expect((await workspace.run('plan')).code).toBe(0);
  });

  it('finds the last state of this machine after `state.path` changes', async () => {
    await using workspace = await testWorkspace(FILES);
    const project = projectFile(workspace.emulator);
    const apply = () =>
      workspace.runWith({ XDG_STATE_HOME: path.join(workspace.folder.root, 'marks') }, 'apply', '--auto-approve');
    await workspace.folder.write('voxform.yaml', `${project}    state: { path: infra/memory.json }\n`);
    expect((await apply()).code).toBe(0);
    const writes = workspace.writes();
    for (const settings of [project, `${project}    state: { path: states/memory.json }\n`]) {
      await workspace.folder.write('voxform.yaml', settings);
      const { code, stderr } = await apply();
      expect([code, workspace.writes()]).toEqual([1, writes]);
      expect(stderr.replace(/\s+/g, ' ')).toContain('voxform state move --from infra/memory.json');
    }
  });

  it('starts with a new state after state init', async () => {
    await using workspace = await renamed();
    expect((await workspace.run('state', 'init')).code).toBe(0);
    expect((await workspace.run('plan')).stdout).toContain('2 to create');
    expect((await workspace.run('state', 'init', '--sql')).stdout).toContain('needs no SQL');
    const again = await workspace.run('state', 'init');
    expect([again.code, again.stderr.includes('already')]).toEqual([1, true]);
  });

  it('refuses invalid settings, and the current location', async () => {
    await using workspace = await renamed();
    const odd = await workspace.run('state', 'move', '--from', '{ backend: cloud }');
    expect(odd.code).toBe(64);
    const unnamed = await workspace.run('state', 'move', '--from', 'postgres');
    expect([unnamed.code, unnamed.stderr.includes('--from: ')]).toEqual([64, true]);
    const url = '{ $secret: OLD_URL }';
    const unset = await workspace.run('state', 'move', '--from', `{ backend: postgres, url: ${url} }`);
    expect(unset.stderr).toContain('state.url needs OLD_URL, which is not set');
    const same = await workspace.run('state', 'move', '--from', 'local');
    expect([same.code, same.stderr.includes('already')]).toEqual([1, true]);
  });
});

describe('a shared state', () => {
  const inGit = (workspace: TestWorkspace, settings = '{ backend: git }') =>
    workspace.folder.write('voxform.yaml', projectFile(workspace.emulator, `    state: ${settings}\n`));
  const oneLine = (text: string) => text.replace(/\s+/g, ' ');

  it('leaves nothing in a mistyped location to move from', async () => {
    await using workspace = await testWorkspace(FILES);
    const { root } = workspace.folder;
    newRepository(root);
    for (const from of ['nowhere/test.state.json', '{ backend: git, ref: refs/voxform/tset }']) {
      const { code, stderr } = await workspace.run('state', 'move', '--from', from);
      expect([code, stderr]).toEqual([1, expect.stringContaining('there is no state at')]);
    }
    expect(existsSync(path.join(root, 'nowhere'))).toBe(false);
    expect(git(root, 'ls-remote', 'origin', 'refs/voxform/*')).toBe('');
  });

  it('is not created while a local one exists, and replaces it with the printed command', {
    tags: ['long'],
  }, async () => {
    await using workspace = await testWorkspace(FILES);
    newRepository(workspace.folder.root);
    await workspace.run('apply', '--auto-approve');
    await inGit(workspace);
    const writes = workspace.writes();
    for (const args of [['plan'], ['apply', '--auto-approve'], ['state', 'list']]) {
      const { code, stderr } = await workspace.run(...args);
      expect([code, oneLine(stderr)]).toEqual([1, expect.stringContaining(`but ${OLD}, with 2 records, belongs`)]);
      expect(oneLine(stderr)).toContain(`voxform state move --from ${OLD}`);
    }
    const moved = await workspace.run('state', 'move', '--from', 'local');
    expect([moved.code, moved.stdout]).toEqual([
      0,
      `Moved the state from ${OLD} to refs/voxform/test of origin: 2 resources, serial 2.\nThe history of the earlier runs stays at ${OLD}.\n`,
    ]);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
    expect((await workspace.run('state', 'move', '--from', 'local')).stdout).toContain('already moved');

    await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator));
    for (const args of [['plan'], ['apply', '--auto-approve']]) {
      const { code, stderr } = await workspace.run(...args);
      expect([code, oneLine(stderr)]).toEqual([1, expect.stringContaining('moved to refs/voxform/test of origin')]);
      expect(oneLine(stderr)).toContain("voxform state move --from '{ backend: BACKEND, … }'");
    }
    expect((await workspace.run('state', 'move', '--from', '{ backend: git }')).code).toBe(0);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
    await inGit(workspace);
    expect(oneLine((await workspace.run('apply', '--auto-approve')).stderr)).toContain(`was moved to ${OLD}`);
    expect(workspace.writes()).toBe(writes);
    const { stdout } = await workspace.run('history', '--output', 'jsonl');
    expect(stdout).toContain('"command":"state move"');
  });

  it('moves between two repositories, and prints no address from a secret', {
    tags: ['long'],
  }, async () => {
    await using workspace = await testWorkspace(FILES);
    newRepository(workspace.folder.root);
    const other = path.join(workspace.folder.root, 'other-with-token.git');
    newRepository(path.join(workspace.folder.root, 'clone'), other);
    const secret = { STATE_REPOSITORY: `file://${other}` };
    await inGit(workspace, '{ backend: git, remote: { $secret: STATE_REPOSITORY } }');
    expect((await workspace.runWith(secret, 'apply', '--auto-approve')).code).toBe(0);
    await inGit(workspace);
    const from = '{ backend: git, remote: { $secret: STATE_REPOSITORY } }';
    const moved = await workspace.runWith(secret, 'state', 'move', '--from', from);
    expect(moved.code, moved.stderr).toBe(0);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
    await inGit(workspace, from);
    const refused = await workspace.runWith(secret, 'apply', '--auto-approve');
    expect(refused.code).toBe(1);
    const output = [moved, refused].map(({ stdout, stderr }) => stdout + stderr).join('');
    expect(output).not.toContain('other-with-token');
  });

  it.each([
    ['postgres', 'url'],
    ['{ backend: http }', 'address'],
    ['{ backend: git, ref: 7 }', 'ref'],
    ['{ backend: git, remote: { $secret: 7 } }', '$secret'],
  ])('is refused if the settings are invalid: %s', async (from, what) => {
    await using workspace = await testWorkspace(FILES);
    const { code, stderr } = await workspace.run('state', 'move', '--from', from);
    expect([code, oneLine(stderr)]).toEqual([64, expect.stringContaining(what)]);
  });
});
