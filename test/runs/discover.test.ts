import { describe, expect, it } from 'vitest';
import { ForeignRecord } from '../../src/platform/workspace-check.ts';
import type { Discovery } from '../../src/runs/discover.ts';
import { known, unmanagedWorkspace } from './unmanaged-workspace.ts';

function agents({ records }: Discovery): Record<string, readonly string[]> {
  return Object.fromEntries(
    (records.get('Agent') ?? []).map(({ record, mentions }) => [String(record.name), mentions]),
  );
}

describe('discover', () => {
  it('finds agents through numbers, users, calls and names, and lists their sources', async () => {
    await using workspace = await unmanagedWorkspace();
    const { dashboard } = workspace.emulator;
    const [number, user, call, named, hidden] = await Promise.all(
      ['number', 'user', 'call', 'named', 'hidden'].map((name) => workspace.agent({ name })),
    );
    await workspace.number('+12025550120', { inbound_agent_id: number ?? '' });
    const { id } = dashboard.inviteUser({ email: 'ann@example.com' });
    dashboard.edit('users', id, { agent_ids: [user ?? '', number ?? ''] });
    for (let index = 0; index < 250; index++) dashboard.recordCall({ agent_id: call ?? '' });
    const discovery = await workspace.discover(known('Agent', named ?? ''));
    const found = agents(discovery);
    expect(Object.keys(found).sort()).toEqual(['call', 'named', 'number', 'user']);
    expect(new Set(found.number)).toEqual(
      new Set(['number +12025550120 is linked to it', 'ann@example.com has access to it']),
    );
    expect(found.call).toHaveLength(3);
    expect(found.named).toEqual(['it was named']);
    expect(discovery.records.get('PhoneNumber')).toHaveLength(1);
    expect(discovery.records.get('WorkspaceUser')).toHaveLength(1);
    expect(hidden).toBeDefined();
    expect(discovery.missed.map(({ kind, id: which }) => [kind, which])).toEqual([
      ['Agent', undefined],
      ['Webhook', undefined],
    ]);
  });

  it('reports ids that do not exist, and continues', async () => {
    await using workspace = await unmanagedWorkspace();
    workspace.emulator.dashboard.recordCall({ agent_id: '01GONE' });
    const hook = await workspace.webhook({ url: 'https://example.com' });
    const { records, missed } = await workspace.discover([
      ...known('Webhook', hook, '01NONE'),
      ...known('PhoneNumber', '01NOSUCH'),
    ]);
    expect(records.get('Webhook')).toHaveLength(1);
    expect(
      missed.filter(({ id }) => id !== undefined).map(({ kind, id, because }) => `${kind} ${id}: ${because}`),
    ).toEqual([
      expect.stringMatching(/^Agent 01GONE: not found on the platform \(it had a call at /),
      'PhoneNumber 01NOSUCH: not found on the platform (it was named)',
      'Webhook 01NONE: not found on the platform (it was named)',
    ]);
  });

  it('continues without a source that refuses to respond, and reports it', async () => {
    await using workspace = await unmanagedWorkspace();
    const id = await workspace.agent({ name: 'a' });
    await workspace.number('+12025550120', { inbound_agent_id: id });
    workspace.emulator.faults.add({ match: { path: '/api/v1/call-histories' }, times: 50, fault: { status: 403 } });
    const discovery = await workspace.discover();
    expect(Object.keys(agents(discovery))).toEqual(['a']);
    expect(discovery.missed[0]?.because).toContain('GET /api/v1/call-histories');
  });

  it('reads calls from the given day on', async () => {
    await using workspace = await unmanagedWorkspace();
    const [early, late] = [await workspace.agent({ name: 'early' }), await workspace.agent({ name: 'late' })];
    const { dashboard } = workspace.emulator;
    dashboard.recordCall({
      agent_id: early,
      start_time: '2020-01-01T00:00:00.000000Z',
      created_at: '2020-01-01T00:00:00.000000Z',
    });
    dashboard.recordCall({ agent_id: late });
    expect(Object.keys(agents(await workspace.discover([], new Date('2021-01-01'))))).toEqual(['late']);
    expect(Object.keys(agents(await workspace.discover())).sort()).toEqual(['early', 'late']);
  });

  it('stops if all records belong to another workspace, and skips a few such records', async () => {
    await using workspace = await unmanagedWorkspace();
    const id = await workspace.agent({ name: 'a' });
    workspace.emulator.dashboard.edit('agents', id, { workspace_id: '01ANOTHER' });
    await expect(workspace.discover(known('Agent', id))).rejects.toThrow(ForeignRecord);
    const own = await workspace.agent({ name: 'b' });
    const found = await workspace.discover([...known('Agent', id), ...known('Agent', own)]);
    expect(found.records.get('Agent')?.map(({ record }) => record.id)).toEqual([own]);
    expect(found.missed).toContainEqual({
      kind: 'Agent',
      id,
      because: expect.stringMatching(/^belongs to workspace 01ANOTHER/),
    });
  });

  it('reads a published version only for fields that a record hides', async () => {
    await using all = await unmanagedWorkspace({
      shows: { read: ['call_config', 'llm_config', 'prompt_config', 'stt_config', 'tts_config'] },
    });
    const whole = await all.agent({ name: 'a' }, { publish: true });
    expect((await all.discover(known('Agent', whole))).records.get('Agent')?.[0]?.published).toBeUndefined();
    await using some = await unmanagedWorkspace({ shows: { read: ['llm_config'] } });
    const id = await some.agent({ name: 'a', tts_config: { voice_id: 'v' } }, { publish: true });
    const [found] = (await some.discover(known('Agent', id))).records.get('Agent') ?? [];
    expect(found?.published?.record.tts_config).toEqual({ voice_id: 'v' });
  });
});
