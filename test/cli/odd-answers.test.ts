import { describe, expect, it } from 'vitest';
import { agentNamed } from '../emulator/agent-named.ts';
import { call } from '../emulator/call.ts';
import { agentManifest, testWorkspace } from './workspace.ts';

const FILES = { 'manifests/agents.yaml': `${agentManifest('day')}---\n${agentManifest('night')}` };

const NAMED = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: line }
spec: { number: "+4930123456" }
---
apiVersion: voxform/v1
kind: WorkspaceUser
metadata: { name: jo }
spec: { email: jo@example.com, role: member }
---
apiVersion: voxform/v1
kind: Agent
metadata: { name: day }
spec: { llm_config: { knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ }] } }
`;

interface Row {
  readonly address: string;
  readonly id: string | null;
  readonly status: string;
}

describe('an implausible response', () => {
  it.each([' ', '../webhooks', 'a/b', '\u0000'])('with the id %j leaves the create unknown', async (id) => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
    workspace.emulator.faults.add({
      match: { method: 'POST' },
      fault: { status: 201, commit: true, body: { data: { id } } },
    });
    const { code, stdout } = await workspace.run('apply', '--auto-approve');
    expect(code).toBe(1);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('is not an id');
    await workspace.run('apply', '--auto-approve');
    expect(workspace.emulator.world.agents.size).toBe(1);
    const rows = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as Row[];
    expect(rows).toMatchObject([{ address: 'Agent/day', id: null, status: 'unknown' }]);
  });

  it('with the id of another address does not hide the new record', async () => {
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

  it.each([
    { reason: 'open', closed: undefined },
    { reason: 'closed as deleted', closed: 'deleted' },
    { reason: 'closed as kept', closed: 'kept' },
  ])('with the id of an orphan, $reason, does not hide the new record', async ({ closed }) => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const { resources } = JSON.parse((await workspace.run('plan', '--output', 'json')).stdout);
    const { id } = resources.find((each: Row) => each.address === 'Agent/day');
    const agents = (name: string) =>
      workspace.folder.write('manifests/agents.yaml', `${agentManifest(name)}---\n${agentManifest('night')}`);
    await agents('evening');
    workspace.emulator.faults.add({
      match: { method: 'POST' },
      fault: { status: 201, commit: true, body: { data: { id } } },
    });
    await workspace.run('apply', '--auto-approve', '--target', 'Agent/day');
    if (closed !== undefined) {
      const { code } = await workspace.run('orphans', 'close', id, '--because', closed);
      expect(code).toBe(0);
    }
    const { code, stdout } = await workspace.run('apply', '--auto-approve');
    expect(code).toBe(1);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`${id} is an orphan, a former record of Agent/day`);
    const rows = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as Row[];
    expect(rows).toContainEqual(expect.objectContaining({ address: 'Agent/evening', id: null, status: 'unknown' }));
    expect(workspace.emulator.world.agents.size).toBe(3);
  });

  it('with the id of a foreign record is ignored, and the new record is found', async () => {
    const line = (name: string, number: string) =>
      `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: ${name} }\nspec: { number: "${number}" }\n`;
    await using workspace = await testWorkspace({ 'manifests/n.yaml': line('main', '+12025550120') });
    const { emulator } = workspace;
    await call(emulator, ['POST', '/api/v1/numbers', { number: '+12025550199', nickname: 'Theirs' }]);
    const [theirs = ''] = emulator.world.numbers.keys();
    emulator.faults.add({
      match: { method: 'POST' },
      fault: { status: 201, commit: true, body: { data: { id: theirs, number: '+12025550199' } } },
    });
    const { code, stdout } = await workspace.run('apply', '--auto-approve');
    expect([code, stdout.replaceAll(/\s+/g, ' ')]).toEqual([
      1,
      expect.stringContaining(`${theirs} existed before the create`),
    ]);
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    const rows = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as Row[];
    const ours = [...emulator.world.numbers.keys()].filter((id) => id !== theirs);
    expect(rows.map(({ id }) => id)).toEqual(ours);
    expect(ours).toHaveLength(1);
  });

  it('about another record does not change the id of the updated one', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const ids = [...workspace.emulator.world.agents.keys()];
    await workspace.folder.write(
      'manifests/agents.yaml',
      `${agentManifest('day', 'New.')}---\n${agentManifest('night')}`,
    );
    workspace.emulator.faults.add({
      match: { method: 'PUT' },
      fault: { status: 200, commit: true, body: { data: { id: agentNamed(workspace.emulator, 'night') } } },
    });
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(1);
    const rows = JSON.parse((await workspace.run('state', 'list', '--output', 'json')).stdout) as Row[];
    expect(rows.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect((await workspace.run('apply', '--auto-approve')).code).toBe(0);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
  });

  it('that is the 404 page of a gateway is retried and creates nothing', async () => {
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

  it('with a 404 leads to a new record only with --allow-recreate, and keeps the old id', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
    await workspace.run('apply', '--auto-approve');
    const [old] = workspace.emulator.world.agents.keys();
    const says404 = (times: number) =>
      workspace.emulator.faults.add({
        match: { method: 'GET', path: `/api/v1/agents/${old}` },
        times,
        fault: { status: 404, body: {} },
      });
    says404(1);
    const blocked = await workspace.run('apply', '--auto-approve');
    expect(blocked.code).toBe(0);
    expect(blocked.stdout.replaceAll(/\s+/g, ' ')).toContain('voxform apply --allow-recreate Agent/day');
    says404(1);
    const late = await workspace.run('apply', '--auto-approve', '--allow-recreate', 'Agent/day');
    expect(late.stdout.replaceAll(/\s+/g, ' ')).toContain('the record of Agent/day, is back on the platform');
    expect([late.code, workspace.emulator.world.agents.size]).toEqual([1, 1]);
    says404(2);
    const again = await workspace.run('apply', '--auto-approve', '--allow-recreate', 'Agent/day');
    expect([again.code, workspace.emulator.world.agents.size]).toEqual([0, 2]);
    const { stdout } = await workspace.run('orphans', '--check', '--output', 'json');
    expect(JSON.parse(stdout)).toMatchObject([
      { kind: 'Agent', id: old, address: 'Agent/day', reason: 'gone', exists: true },
    ]);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
  });

  it('about another record does not cause a write', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const stranger = agentNamed(workspace.emulator, 'day');
    await workspace.folder.write('manifests/agents.yaml', agentManifest('night', 'New.'));
    const written = workspace.writes();
    for (const id of workspace.emulator.world.agents.keys()) {
      if (id === stranger) continue;
      workspace.emulator.faults.add({
        match: { method: 'GET', path: `/api/v1/agents/${id}` },
        times: 4,
        fault: { status: 200, body: { data: { id: stranger, name: 'day' } } },
      });
    }
    const { code, stderr } = await workspace.run('apply', '--auto-approve', '--target', 'Agent/night');
    workspace.emulator.faults.clear();
    expect(code).toBe(1);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('the response has another record');
    expect(workspace.writes()).toBe(written);
  });

  it('with a nameless record in a list is kept and matches nothing', async () => {
    await using workspace = await testWorkspace(
      { 'manifests/all.yaml': NAMED },
      { behaviour: { listsNameless: true } },
    );
    workspace.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    workspace.emulator.dashboard.inviteUser({ email: 'jo@example.com' });
    expect(await workspace.run('apply', '--auto-approve')).toMatchObject({ code: 0 });
    const plan = await workspace.run('plan', '--output', 'json');
    expect(JSON.parse(plan.stdout).summary).toMatchObject({ noop: 3 });
    for (const type of ['numbers', 'users', 'knowledge-bases']) {
      const { code, stdout } = await workspace.run('get', type, '--output', 'json');
      expect({ type, code, count: JSON.parse(stdout).length }).toEqual({ type, code: 0, count: 2 });
    }
    const exported = await workspace.run('export', '--out', 'out');
    expect(exported).toMatchObject({ code: 0 });
    expect(`${exported.stdout}${exported.stderr}`).toContain('manifests require number');
    expect(await workspace.run('recover', '--output', 'json')).toMatchObject({ code: 0 });
  });

  it.each([
    [['plan', '--even-if-all'], 64],
    [['plan', '--allow-recreate', 'Agent/day', '--even-if-all'], 64],
    [['plan', '--allow-recreate', 'day'], 64],
    [['plan', '--allow-recreate', 'Agent/dya'], 64],
    [['watch', '--allow-recreate', 'all'], 64],
  ])('refuses invalid flags to recreate records: %j', async (args, code) => {
    await using workspace = await testWorkspace(FILES);
    expect((await workspace.run(...args)).code).toBe(code);
  });
});

describe('a first run', () => {
  it('writes nothing into a workspace to which the key does not belong', async () => {
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
