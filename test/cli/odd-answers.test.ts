import { describe, expect, it } from 'vitest';
import { agentManifest, testWorkspace } from './workspace.ts';

const FILES = { 'manifests/agents.yaml': `${agentManifest('day')}---\n${agentManifest('night')}` };

interface Row {
  readonly address: string;
  readonly id: string | null;
  readonly status: string;
}

describe('an answer that cannot be believed', () => {
  it.each([' ', '../webhooks', 'a/b', '\u0000'])(
    'with the id %j leaves the create unanswered',
    async (id) => {
      await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
      workspace.emulator.faults.add({
        match: { method: 'POST' },
        fault: { status: 201, commit: true, body: { data: { id } } },
      });
      const { code, stdout } = await workspace.run('apply', '--auto-approve');
      expect(code).toBe(1);
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain('is no id');
      await workspace.run('apply', '--auto-approve');
      expect(workspace.emulator.world.agents.size).toBe(1);
      const rows = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as Row[];
      expect(rows).toMatchObject([{ address: 'Agent/day', id: null, status: 'unknown' }]);
    },
  );

  it('that names a record twice does not lose the second one', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve', '--target', 'Agent/day');
    const day = [...workspace.emulator.world.agents.values()][0]?.id ?? '';
    workspace.emulator.faults.add({
      match: { method: 'POST' },
      fault: { status: 201, commit: true, body: { data: { id: day } } },
    });
    const { code, stdout } = await workspace.run('apply', '--auto-approve');
    expect(code).toBe(1);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`${day} is the record of Agent/day`);
    const rows = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as Row[];
    expect(rows.map(({ id, status }) => [id, status])).toEqual([
      [day, 'managed'],
      [null, 'unknown'],
    ]);
  });

  it('about another record than the updated one changes no id', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const ids = [...workspace.emulator.world.agents.keys()];
    await workspace.folder.write(
      'manifests/agents.yaml',
      `${agentManifest('day', 'New.')}---\n${agentManifest('night')}`,
    );
    workspace.emulator.faults.add({
      match: { method: 'PUT' },
      fault: { status: 200, commit: true, body: { data: { id: ids[1] ?? '' } } },
    });
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(1);
    const rows = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as Row[];
    expect(rows.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
  });

  it('that is the 404 page of a gateway is asked for again, and creates nothing', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
    await workspace.run('apply', '--auto-approve');
    workspace.emulator.faults.add({
      match: { method: 'GET' },
      fault: { status: 404, body: '<html>no</html>' },
      times: 2,
    });
    const written = workspace.writes();
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    expect(workspace.emulator.faults.pending).toEqual([]);
    expect(workspace.writes()).toBe(written);
  });

  it('that a record is gone, given again and again, does not lose its id', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
    await workspace.run('apply', '--auto-approve');
    const [old] = workspace.emulator.world.agents.keys();
    workspace.emulator.faults.add({
      match: { method: 'GET', path: `/api/v1/agents/${old}` },
      times: 2,
      fault: { status: 404, body: {} },
    });
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    expect(workspace.emulator.world.agents.size).toBe(2);
    const { stdout } = await workspace.run('orphans', '--check', '--output', 'json');
    expect(JSON.parse(stdout)).toMatchObject([
      { kind: 'Agent', id: old, address: 'Agent/day', reason: 'gone', exists: true },
    ]);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
  });
});

describe('a first run', () => {
  it('writes nothing into a workspace that the key does not belong to', async () => {
    await using workspace = await testWorkspace(FILES);
    const { code, stderr } = await workspace.runWith(
      { VOXFORM_WORKSPACE_ID: '01ANOTHERW0RKSPACE00000001' },
      ...['apply', '--auto-approve'],
    );
    expect(code).toBe(1);
    expect(stderr).toContain('nothing was written');
    expect(workspace.writes()).toBe(0);
  });
});
