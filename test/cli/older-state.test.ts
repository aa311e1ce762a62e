import { execFileSync } from 'node:child_process';
import { cp, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { shellWord } from '../../src/problems/shell-word.ts';
import { agentManifest, type TestWorkspace, testWorkspace, webhookManifest } from './workspace.ts';

const STATE = '.voxform/test.state.json';
const APPLY = ['apply', '--auto-approve'];

interface Older extends AsyncDisposable {
  readonly workspace: TestWorkspace;
  readonly webhookId: string;
  run(...args: string[]): ReturnType<TestWorkspace['run']>;
}

/** Restores, with Git, the state from before a webhook was created. */
async function olderState({ backups }: { readonly backups: boolean }): Promise<Older> {
  const workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
  const { root } = workspace.folder;
  const git = (...args: string[]): void => {
    const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
    execFileSync('git', [...identity, ...args], { cwd: root, stdio: 'pipe' });
  };
  const run = (...args: string[]) => workspace.runWith({ XDG_STATE_HOME: path.join(root, 'state-home') }, ...args);
  await run(...APPLY);
  git('init', '-q');
  git('add', '-f', STATE);
  git('commit', '-q', '-m', 'state');
  await workspace.folder.write('manifests/b.yaml', webhookManifest('hook', 'https://example.com/hook'));
  expect((await run(...APPLY)).code).toBe(0);
  const [webhookId = ''] = workspace.emulator.world.webhooks.keys();
  await cp(path.join(root, STATE), path.join(root, 'newer.json'));
  git('checkout', '-q', STATE);
  for (const name of backups ? [] : await readdir(path.join(root, '.voxform'))) {
    if (name.includes('.backup-')) await rm(path.join(root, '.voxform', name));
  }
  return { workspace, webhookId, run, [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose]() };
}

const flat = (text: string): string => text.replace(/\s+/g, ' ');

describe.each([{ backups: true }, { backups: false }])('an older state, with backups: $backups', (given) => {
  it('causes a warning in commands that read, also with -q, and fails commands that write', {
    tags: ['long'],
  }, async () => {
    await using older = await olderState(given);
    const { workspace, run, webhookId } = older;
    const reading = ['plan', 'drift', 'status', 'state list', 'state pull', 'plan --no-refresh'];
    for (const args of reading.map((each) => each.split(' '))) {
      const { stderr } = await run('-q', ...args);
      expect(flat(stderr), args.join(' ')).toMatch(/^warning: the state \S+ \(serial 1\) is older than/);
      expect(flat(stderr).split('is older than')).toHaveLength(2);
    }
    for (const command of ['plan', 'drift']) {
      const { warnings } = JSON.parse((await run(command, '--output', 'json')).stdout);
      expect(warnings[0]).toEqual({ address: null, message: expect.stringContaining('is older than') });
    }
    const writes = workspace.writes();
    const before = await readFile(path.join(workspace.folder.root, STATE));
    for (const args of [
      APPLY,
      ['import', 'Agent/x', webhookId],
      ['recover', '--webhooks', webhookId, '--auto', '--auto-approve'],
      ['state', 'mv', 'Agent/day', 'Agent/dawn'],
      ['state', 'rm', 'Agent/day'],
      ['state', 'resolve', 'Agent/day', '--not-created'],
    ]) {
      const { code, stderr } = await run(...args);
      expect([args, code, flat(stderr)]).toEqual([args, 1, expect.stringContaining('is older than')]);
      expect(flat(stderr)).toContain('--allow-older-state');
      if (given.backups) {
        expect(flat(stderr)).toContain(`Missing records: Webhook/hook (${webhookId})`);
        expect(flat(stderr)).toMatch(/voxform state push .+\.backup-2/);
      }
    }
    expect(workspace.writes()).toBe(writes);
    expect(await readFile(path.join(workspace.folder.root, STATE))).toEqual(before);
  });

  it('is replaced by a push of the newer copy', { tags: ['long'] }, async () => {
    await using older = await olderState(given);
    const { workspace, run } = older;
    expect((await run('state', 'push', STATE)).stderr).toContain('older than the state');
    const copy = given.backups ? `${STATE}.backup-2` : 'newer.json';
    expect(await run('state', 'push', copy)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('serial 3'),
    });
    const plan = await run('plan');
    expect([plan.code, plan.stderr.includes('older')]).toEqual([0, false]);
    expect(workspace.emulator.world.webhooks.size).toBe(1);
  });

  it('is written with --allow-older-state, and is current afterwards', { tags: ['long'] }, async () => {
    await using older = await olderState(given);
    const { run, webhookId } = older;
    const imported = await run('import', 'Webhook/hook', webhookId, '--allow-older-state');
    expect(flat(imported.stderr)).toContain('warning: the state');
    expect(imported.code).toBe(0);
    const applied = await run(...APPLY);
    expect([applied.code, applied.stderr.includes('older')]).toEqual([0, false]);
    const { serial } = JSON.parse((await run('state', 'pull')).stdout) as { serial: number };
    expect(serial).toBeGreaterThanOrEqual(3);
  });
});

describe('a state in two checkouts of one machine', () => {
  it('is reported in the older checkout, with its missing records and the newer location', {
    tags: ['long'],
  }, async () => {
    await using older = await olderState({ backups: false });
    const { workspace, run, webhookId } = older;
    const { root } = workspace.folder;
    // In another checkout with the same state, another command writes the same serial.
    const other = path.join(root, 'other');
    for (const name of ['voxform.yaml', 'manifests', '.voxform']) {
      await cp(path.join(root, name), path.join(other, name), { recursive: true });
    }
    const there = await run('-C', other, 'state', 'mv', 'Agent/day', 'Agent/dawn', '--allow-older-state');
    expect(there.code).toBe(0);
    await cp(path.join(root, 'newer.json'), path.join(root, STATE));
    const behind = await run('-q', 'plan');
    const named = shellWord(path.join(other, STATE));
    expect(flat(behind.stderr)).toContain(`is older than ${named} (serial 3)`);
    expect(behind.stderr).not.toContain(webhookId);
    expect((await run(...APPLY)).code).toBe(1);
    await rm(other, { recursive: true });
    expect(flat((await run(...APPLY)).stderr)).toContain('the last state written on this machine');
  });

  it('is reported if both checkouts wrote the same serial', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
    const { root } = workspace.folder;
    const other = path.join(root, 'other');
    const run = (...args: string[]) => workspace.runWith({ XDG_STATE_HOME: path.join(root, 'state-home') }, ...args);
    await run(...APPLY);
    for (const name of ['voxform.yaml', 'manifests', '.voxform']) {
      await cp(path.join(root, name), path.join(other, name), { recursive: true });
    }
    // The write in one of them happens on another machine.
    const elsewhere = { XDG_STATE_HOME: path.join(root, 'elsewhere') };
    await workspace.runWith(elsewhere, 'state', 'mv', 'Agent/day', 'Agent/dusk');
    expect((await run('-C', other, 'state', 'mv', 'Agent/day', 'Agent/dawn')).code).toBe(0);
    const plan = await run('plan');
    expect(flat(plan.stderr)).toContain('(serial 2) differs from');
    expect(flat(plan.stderr)).toContain('which has the same serial');
  });
});
