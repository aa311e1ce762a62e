import { describe, expect, it } from 'vitest';
import type { PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { stepTexts } from '../step-texts.ts';
import { agentManifest, projectFile, testWorkspace } from './workspace.ts';

const FILES = { 'manifests/a.yaml': agentManifest('day') };

interface Row {
  readonly address: string;
  readonly id: string | null;
  readonly status: string;
}

describe('import', () => {
  it('manages a record, which the next plan compares', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const rows = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as Row[];
    const id = rows[0]?.id ?? '';
    await using other = await testWorkspace(FILES);
    await other.folder.write(
      'voxform.yaml',
      `version: 1\nworkspaces: { test: { base_url: "${workspace.emulator.url}", workspace_id: ${workspace.emulator.workspaceId}, api_key: { $secret: VOXFORM_API_KEY } } }\n`,
    );
    expect((await other.run('import', 'Agent/day', id)).code).toBe(0);
    expect((await other.run('import', 'Agent/day', id)).stdout).toContain('already');
    expect((await other.run('plan', '--detailed-exitcode')).code).toBe(0);
    const taken = await other.run('import', 'Agent/night', id);
    expect(taken.code).toBe(1);
    expect(taken.stderr).toContain('already managed as Agent/day');
  });

  it('refuses an unknown id', async () => {
    await using workspace = await testWorkspace(FILES);
    const { code, stderr } = await workspace.run('import', 'Agent/day', '01NOTHERE0000000000000000A');
    expect(code).toBe(1);
    expect(stderr).toContain('no Agent with the id 01NOTHERE0000000000000000A');
  });

  it('warns of a record without a manifest, and refuses an address that no manifest can have', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const refused = await workspace.run('import', 'WorkspaceUser/Ann', '01ANY');
    expect(refused.code).toBe(64);
    expect(refused.stderr).toContain('no manifest can have this name');
    workspace.emulator.dashboard.inviteUser({ email: 'a@example.com' });
    const user = [...workspace.emulator.world.users.values()][0];
    const { code, stderr } = await workspace.run('import', 'WorkspaceUser/ann', user?.id ?? '');
    expect(code).toBe(0);
    expect(stderr).toContain('releases the record');
  });
});

describe('a create without a response', () => {
  it('is unknown until a person resolves it', async () => {
    await using workspace = await testWorkspace(FILES);
    workspace.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
    const lost = await workspace.run('apply', '--auto-approve');
    expect(lost.code).toBe(1);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
    const strict = await workspace.run('plan', '--strict');
    expect(strict.code).toBe(1);
    expect(strict.stdout).toContain('voxform state resolve Agent/day --not-created');
    const project = projectFile(workspace.emulator);
    await workspace.folder.write(
      'voxform.yaml',
      `${project}${project.slice(project.indexOf('  test:')).replace('test', 'other')}`,
    );
    const ofTwo = await workspace.run('plan', '-w', 'test');
    expect(ofTwo.stdout.replace(/\s+/g, ' '), 'a copied command must select the same workspace').toContain(
      'voxform state resolve Agent/day --not-created -w test',
    );
    await workspace.folder.write('voxform.yaml', project);
    await workspace.run('apply', '--auto-approve');
    expect(workspace.writes()).toBe(1);

    const wrong = await workspace.run('state', 'resolve', 'Agent/dya', '--not-created');
    expect(wrong.code).toBe(64);
    expect(wrong.stderr).toContain('did you mean "Agent/day"?');
    const agent = [...workspace.emulator.world.agents.values()][0];
    expect((await workspace.run('import', 'Agent/day', agent?.id ?? '')).code).toBe(0);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    expect(workspace.writes()).toBe(1);
  });

  it('has no versions yet, which the commands for them say', async () => {
    await using workspace = await testWorkspace(FILES);
    workspace.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
    await workspace.run('apply', '--auto-approve');
    const lines = [
      ['versions', 'Agent/day'],
      ['rollback', 'Agent/day', '--to', '1'],
      ['impact', 'Agent/day'],
      ['get', 'versions', 'Agent/day'],
    ];
    for (const words of lines) {
      const { code, stderr } = await workspace.run(...words);
      expect([code, stderr], words.join(' ')).toEqual([1, expect.stringContaining('has an unknown create')]);
    }
  });

  it('of a number is not resolved by a record of another number', async () => {
    const number = (name: string, digits: string): string =>
      `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: ${name} }\nspec: { number: "${digits}" }\n`;
    await using workspace = await testWorkspace({ 'manifests/a.yaml': number('main', '+12025550120') });
    await workspace.run('apply', '--auto-approve');
    const id = [...workspace.emulator.world.numbers.keys()][0] ?? '';
    await workspace.run('state', 'rm', 'PhoneNumber/main');
    await workspace.folder.write('manifests/a.yaml', number('other', '+12025550177'));
    workspace.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'before' } });
    await workspace.run('apply', '--auto-approve');
    await workspace.folder.write('ids.csv', `address,id\nPhoneNumber/other,${id}\n`);
    for (const words of [
      ['import', 'PhoneNumber/other', id],
      ['import', '--from', 'ids.csv'],
    ]) {
      const { code, stderr } = await workspace.run(...words);
      expect([code, stderr], words.join(' ')).toEqual([1, expect.stringContaining('12025550177')]);
    }
    expect(JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout)).toMatchObject([
      { address: 'PhoneNumber/other', status: 'unknown' },
    ]);
  });

  it('is created after it was resolved as not created', async () => {
    await using workspace = await testWorkspace(FILES);
    workspace.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'before' } });
    await workspace.run('apply', '--auto-approve');
    expect((await workspace.run('state', 'resolve', 'Agent/day', '--not-created')).code).toBe(0);
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    expect(workspace.emulator.world.agents.size).toBe(1);
  });
});

describe('a create without a response, of a resource that was renamed since', () => {
  const renamed = agentManifest('day').replace('name: day\n', 'name: early\n  previous_names: [day]\n');

  it.each(['after', 'before'] as const)('is resolved by the command in the plan: cut %s the commit', async (cut) => {
    await using workspace = await testWorkspace(FILES);
    workspace.emulator.faults.add({ match: { method: 'POST' }, fault: { cut } });
    await workspace.run('apply', '--auto-approve');
    await workspace.folder.write('manifests/a.yaml', renamed);
    const { stdout } = await workspace.run('plan', '--output', 'json');
    const { resources } = JSON.parse(stdout) as {
      resources: readonly PlannedResource[];
    };
    expect(resources).toMatchObject([{ address: 'Agent/early', action: 'unknown' }]);
    const id = [...workspace.emulator.world.agents.keys()][0];
    const command = id === undefined ? /state resolve \S+ --not-created/ : /import \S+ ID/;
    const commandLine = command.exec(stepTexts(resources[0] ?? {})?.join('\n') ?? '')?.[0] ?? '';
    const words = commandLine.split(' ').map((word) => (word === 'ID' ? (id ?? '') : word));
    expect((await workspace.run(...words)).code).toBe(0);

    expect((await workspace.run('apply', '--auto-approve', '--strict')).code).toBe(0);
    const rows = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as Row[];
    expect(rows.map(({ address, status }) => [address, status])).toEqual([
      ['Agent/early', id === undefined ? 'managed' : 'adopted'],
    ]);
    expect(workspace.emulator.world.agents.size).toBe(1);
    expect((await workspace.run('plan', '--strict', '--detailed-exitcode')).code).toBe(0);
  });
});

describe('state', () => {
  it('shows one resource as JSON, and suggests state list for an unknown address', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const shown = JSON.parse((await workspace.run('state', 'show', 'Agent/day')).stdout) as Record<string, unknown>;
    expect(shown).toMatchObject({ address: 'Agent/day', recorded: { 'prompt_config.prompt': 'Be kind.' } });
    const other = await workspace.run('state', 'show', 'Agent/night');
    expect(other.code).toBe(64);
    expect(other.stderr).toContain('voxform state list');
  });

  it('has no lock to release if it is not locked', async () => {
    await using workspace = await testWorkspace(FILES);
    const { code, stderr } = await workspace.run('state', 'unlock', 'abc');
    expect(code).toBe(1);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
