import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { failureOf } from '../state/temporary-state.ts';
import { agent, number, ref, secret, user, webhook } from './resources.ts';
import { actionsIn, at, outcomes, Workspace } from './workspace.ts';

const hiding = { shows: { read: ['llm_config'], update: ['llm_config'] } } as const;
const config = { llm_config: { model: 'm' }, tts_config: { speed: 'slow' }, stt_config: { model: 's' } };

describe('a record that metadata.id names', () => {
  it('is adopted without a write where it was published as the manifest has it', async () => {
    const w = await Workspace.open(hiding);
    const { id } = await w.client.agents.create({ name: 'a', ...config });
    w.emulator.dashboard.publishAgent(id);
    w.emulator.clearRequests();
    const desired = [agent('a', config, { id })];
    expect(at(await w.plan(desired), 'Agent/a')).toMatchObject({
      action: 'adopt',
      id,
      adopted: true,
      unverified: ['stt_config.model', 'tts_config.speed'],
    });
    expect(outcomes(await w.apply(desired))).toEqual({ 'Agent/a': 'done' });
    expect(w.writes).toEqual([]);
    w.emulator.clearRequests();
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect(w.emulator.requests, 'the version is read for an adoption only').toHaveLength(1);
  });

  it('is compared with its version, with a warning, where the draft is newer', async () => {
    const w = await Workspace.open(hiding);
    const { id } = await w.client.agents.create({ name: 'a', ...config });
    w.emulator.dashboard.publishAgent(id);
    await w.client.agents.update(id, { tts_config: { speed: 'fast' } });
    const plan = await w.plan([agent('a', config, { id })]);
    expect(at(plan, 'Agent/a').action).toBe('adopt');
    expect(plan.warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('the draft is newer'),
    ]);
  });

  it('keeps what its version shows and the manifest does not name, when it is brought in line', async () => {
    for (const put of ['merge', 'replace'] as const) {
      const w = await Workspace.open({ ...hiding, put });
      const { id } = await w.client.agents.create({ name: 'a', ...config });
      await w.client.agents.update(id, { tts_config: { speed: 'slow', voice_id: 'v' } });
      w.emulator.dashboard.publishAgent(id);
      const desired = [agent('a', { tts_config: { speed: 'fast' } }, { id })];
      expect(at(await w.plan(desired), 'Agent/a')).toMatchObject({
        action: 'update',
        adopted: true,
        changes: [{ path: 'tts_config.speed', before: 'slow', after: 'fast', verified: false }],
      });
      await w.apply(desired);
      expect(w.emulator.world.agents.get(id)?.tts_config).toEqual({ speed: 'fast', voice_id: 'v' });
      expect(actionsIn(await w.plan(desired))).toEqual([]);
    }
  });

  it('is updated where what it hides was never published', async () => {
    const w = await Workspace.open(hiding);
    const { id } = await w.client.agents.create({ name: 'a', ...config });
    const desired = [agent('a', { ...config, llm_config: { model: 'm', api_key: secret() } }, { id })];
    const planned = at(await w.plan(desired), 'Agent/a');
    expect(planned).toMatchObject({ action: 'update', adopted: true });
    expect(planned.changes.map(({ path }) => path)).toEqual([
      'llm_config.api_key',
      'stt_config.model',
      'tts_config.speed',
    ]);
    await w.apply(desired);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect(w.emulator.world.agents.size).toBe(1);
  });

  it('leaves alone what others may move', async () => {
    const w = await Workspace.open();
    const { id } = await w.client.agents.create({ name: 'a', llm_config: { model: 'x' } });
    w.emulator.clearRequests();
    await w.apply([agent('a', { llm_config: { model: 'm' } }, { id, ignoreDrift: ['llm_config'] })]);
    expect(w.writes).toEqual([]);
  });

  it('is blocked where another manifest has it, and both are named', async () => {
    const w = await Workspace.open();
    await w.apply([agent('a')]);
    const id = (await w.state()).resources.get('Agent/a')?.id ?? '';
    const planned = at(await w.plan([agent('a'), agent('b', {}, { id })]), 'Agent/b');
    expect(planned).toMatchObject({
      action: 'blocked',
      reason: `the record ${id} is already managed as Agent/a`,
    });
  });

  it('is not taken over silently where the state has another record', async () => {
    const w = await Workspace.open();
    await w.apply([agent('a')]);
    const { id } = await w.client.agents.create({ name: 'a' });
    const plan = await w.plan([agent('a', {}, { id })]);
    expect(at(plan, 'Agent/a').id).toBe((await w.state()).resources.get('Agent/a')?.id);
    expect(plan.warnings).toEqual([
      { address: 'Agent/a', message: expect.stringContaining(`metadata.id names ${id}`) },
    ]);
  });

  it('is renamed by it, where no manifest has its old address', async () => {
    const w = await Workspace.open();
    await w.apply([agent('a', { llm_config: { api_key: secret() } })]);
    const id = (await w.state()).resources.get('Agent/a')?.id ?? '';
    const desired = [agent('b', { name: 'a', llm_config: { api_key: secret() } }, { id })];
    expect(at(await w.plan(desired), 'Agent/b')).toMatchObject({
      action: 'noop',
      previous_address: 'Agent/a',
    });
    await w.apply(desired);
    expect([...(await w.state()).resources.keys()]).toEqual(['Agent/b']);
  });
});

describe('a rename', () => {
  const declared = () => [
    agent('a', { llm_config: { api_key: secret() } }),
    user('ada', { role: 'member', agent_ids: [ref('Agent/a')] }),
  ];
  const renamed = (model?: string) => [
    agent(
      'b',
      { name: 'a', llm_config: { api_key: secret(), ...(model && { model }) } },
      { previousNames: ['x', 'a'] },
    ),
    user('ada', { role: 'member', agent_ids: [ref('Agent/b')] }),
  ];

  it('keeps the record, its memory and what refers to it', async () => {
    const w = await Workspace.open();
    w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    await w.apply(declared());
    const id = (await w.state()).resources.get('Agent/a')?.id;
    w.emulator.clearRequests();
    const plan = await w.plan(renamed());
    expect(actionsIn(plan)).toEqual([]);
    expect(at(plan, 'Agent/b')).toMatchObject({ id, previous_address: 'Agent/a' });
    await w.apply(renamed());
    expect(w.writes).toEqual([]);
    const { resources, orphans } = await w.state();
    expect([resources.get('Agent/b')?.id, resources.has('Agent/a'), orphans]).toEqual([id, false, []]);
    expect(at(await w.plan(renamed()), 'Agent/b').previous_address).toBeUndefined();
  });

  it('comes with an update', async () => {
    const w = await Workspace.open();
    w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    await w.apply(declared());
    expect(actionsIn(await w.plan(renamed('n')))).toEqual(['update Agent/b']);
    await w.apply(renamed('n'));
    expect(w.emulator.world.agents.size).toBe(1);
    expect(actionsIn(await w.plan(renamed('n')))).toEqual([]);
  });

  it('of a number is seen by its digits, whatever its names', async () => {
    const w = await Workspace.open();
    await w.apply([number('n', { number: '+49301' })]);
    const desired = [number('m', { number: '+49301' })];
    expect(at(await w.plan(desired), 'PhoneNumber/m')).toMatchObject({
      action: 'noop',
      previous_address: 'PhoneNumber/n',
    });
    await w.apply(desired);
    expect([...(await w.state()).resources.keys()]).toEqual(['PhoneNumber/m']);
    expect((await w.state()).orphans).toEqual([]);
  });

  it('keeps the record also where an apply between the two commits released it', async () => {
    const w = await Workspace.open();
    const stood = agent('s');
    await w.apply([stood, agent('a'), webhook('h', { url: 'https://example.com/h' })]);
    const { resources } = await w.state();
    await w.apply([stood]);
    w.emulator.clearRequests();
    const desired = [
      stood,
      agent('b', { name: 'a' }, { previousNames: ['x', 'a'] }),
      webhook('i', { url: 'https://example.com/h' }, { previousNames: ['h'] }),
    ];
    const plan = await w.plan(desired);
    expect(actionsIn(plan)).toEqual(['adopt Agent/b', 'adopt Webhook/i']);
    expect([at(plan, 'Agent/b').id, at(plan, 'Webhook/i').id]).toEqual([
      resources.get('Agent/a')?.id,
      resources.get('Webhook/h')?.id,
    ]);
    await w.apply(desired);
    expect(w.writes).toEqual([]);
    expect((await w.state()).orphans).toEqual([]);
    w.emulator.dashboard.remove('agents', resources.get('Agent/a')?.id ?? '');
    await w.apply([stood, desired[2] ?? stood]);
    expect(actionsIn(await w.plan(desired))).toEqual(['blocked Agent/b']);
    const earlier = [agent('c', { name: 'a' }, { previousNames: ['b'] }), ...desired.slice(2)];
    const allowed = await w.plan([stood, ...earlier], { allowRecreate: ['Agent/c'] });
    expect(at(allowed, 'Agent/c')).toMatchObject({ action: 'create', recreates: expect.any(String) });
    expect(outcomes(await w.applySaved(allowed))).toEqual({ 'Agent/c': 'done' });
  });

  it('takes an unknown create along', async () => {
    const w = await Workspace.open();
    w.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
    await w.apply([agent('a')]);
    const desired = [agent('b', {}, { previousNames: ['a'] })];
    expect(actionsIn(await w.plan(desired))).toEqual(['unknown Agent/b']);
    await w.apply(desired);
    expect([...(await w.state()).pending.keys()]).toEqual(['Agent/b']);
  });
});

describe('an import', () => {
  it('takes a record in, and the next apply brings it in line', async () => {
    const w = await Workspace.open();
    const { id } = await w.client.agents.create({ name: 'other', llm_config: { model: 'm' } });
    expect(await w.import('Agent/a', id)).toBe('taken');
    expect(await w.import('Agent/a', id)).toBe('already');
    const desired = [agent('a', { llm_config: { model: 'm' } })];
    expect(at(await w.plan(desired), 'Agent/a')).toMatchObject({
      action: 'update',
      changes: [{ path: 'name', before: 'other', after: 'a' }],
    });
    await w.apply(desired);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect(w.emulator.world.agents.size).toBe(1);
  });

  it('of a webhook that is as declared needs no write, and is remembered', async () => {
    const w = await Workspace.open();
    const { id } = await w.client.webhooks.create({ url: 'https://example.com/h' });
    await w.import('Webhook/h', id);
    w.emulator.clearRequests();
    expect(actionsIn(await w.plan([webhook('h')]))).toEqual([]);
    await w.apply([webhook('h')]);
    expect(w.writes).toEqual([]);
    expect((await w.state()).resources.get('Webhook/h')?.recorded).toEqual({ url: 'https://example.com/h' });
  });

  it.each([
    ['PhoneNumber/n', 'NONE', /has no PhoneNumber with the id NONE/],
    ['Agent/b', 'NONE', /has no Agent with the id NONE/],
    ['Agent/a', 'NONE', /Agent\/a is already managed as /],
  ])('of %s from %s is refused', async (address, id, message) => {
    const w = await Workspace.open();
    await w.apply([agent('a')]);
    const error = await failureOf(w.import(address, id));
    expect(error).toBeInstanceOf(UserError);
    expect(error.message).toMatch(message);
  });

  it('of a record that another address has is refused, and so is one of another workspace', async () => {
    const w = await Workspace.open();
    await w.apply([agent('a')]);
    const id = (await w.state()).resources.get('Agent/a')?.id ?? '';
    expect((await failureOf(w.import('Agent/b', id))).message).toBe(`${id} is already managed as Agent/a`);
    const other = await w.client.agents.create({ name: 'x' });
    w.emulator.dashboard.edit('agents', other.id, { workspace_id: 'ANOTHER' });
    expect((await failureOf(w.import('Agent/b', other.id))).message).toContain(
      'belongs to workspace ANOTHER',
    );
    expect([...(await w.state()).resources.keys()]).toEqual(['Agent/a']);
  });
});

describe('what is left out of a run', () => {
  it('is neither read, written nor forgotten', async () => {
    const w = await Workspace.open();
    await w.apply([agent('a'), agent('b'), webhook('h')]);
    w.emulator.clearRequests();
    const next = [agent('a', { llm_config: { model: 'm' } }), agent('b', { llm_config: { model: 'm' } })];
    const selection = { targets: ['Agent/a'], labels: {} };
    expect(actionsIn(await w.plan(next, { selection }))).toEqual(['update Agent/a']);
    expect(w.emulator.requests).toHaveLength(1);
    await w.apply(next, { selection });
    expect(w.writes).toHaveLength(1);
    expect(actionsIn(await w.plan(next))).toEqual(['update Agent/b', 'forget Webhook/h']);
  });

  it('is not what a target refers to', async () => {
    const w = await Workspace.open();
    w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    const desired = [agent('a'), agent('b'), user('ada', { role: 'member', agent_ids: [ref('Agent/a')] })];
    const selection = { targets: ['WorkspaceUser/ada'], labels: {} };
    expect(outcomes(await w.apply(desired, { selection }))).toEqual({
      'Agent/a': 'done',
      'WorkspaceUser/ada': 'done',
    });
  });

  it('can be named by labels, and a name that nothing has is refused with the nearest', async () => {
    const w = await Workspace.open();
    const desired = [
      agent('a', {}, { labels: { team: 'x', tier: '1' } }),
      agent('b', {}, { labels: { team: 'x' } }),
    ];
    const plan = await w.plan(desired, { selection: { targets: [], labels: { team: 'x', tier: '1' } } });
    expect(actionsIn(plan)).toEqual(['create Agent/a']);
    const wrong = await failureOf(w.plan(desired, { selection: { targets: ['Agent/aa'], labels: {} } }));
    expect(wrong.message).toContain('did you mean "Agent/a"?');
    const none = await failureOf(w.plan(desired, { selection: { targets: [], labels: { team: 'y' } } }));
    expect(none.message).toContain('team=y');
  });
});
