import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { failureOf } from '../state/temporary-state.ts';
import { agent, number, ref, user, webhook } from './resources.ts';
import { actionsIn, at, outcomes, Workspace } from './workspace.ts';

const post = (path: string) => ({ method: 'POST', path });

describe('a run whose lock is taken away', () => {
  it('sends nothing more, and says why', async () => {
    const w = await Workspace.open();
    const session = await w.session();
    const planned = await w.reconcile([agent('a'), agent('b')], {}, session.state);
    const { halted } = await w.carryOut(planned, session, {
      concurrency: 1,
      verifyWorkspace: async () => void (await w.store.unlock((await w.store.holder())?.id ?? '')),
    });
    await session.close();
    expect(halted).toBe('another run or `voxform state unlock` took the state lock');
    expect(w.writes).toEqual([]);
  });
});

describe('a create whose answer was lost', () => {
  it('is unknown for an agent until a person settles it, and is not sent again', async () => {
    const w = await Workspace.open();
    w.emulator.faults.add({ match: post('/api/v1/agents'), fault: { cut: 'after' } });
    const desired = [agent('a')];
    const report = await w.apply(desired);
    expect(outcomes(report)['Agent/a']).toContain('it may have succeeded');
    expect(w.emulator.world.agents.size).toBe(1);
    const planned = at(await w.plan(desired), 'Agent/a');
    expect(planned.action).toBe('unknown');
    expect(planned.steps?.join('\n')).toContain('voxform state resolve Agent/a --not-created');
    expect(actionsIn(await w.plan([])), 'also when its manifest is gone').toEqual(['unknown Agent/a']);
    await w.apply(desired);
    expect(w.writes).toEqual(['POST /api/v1/agents']);

    const [id = ''] = w.emulator.world.agents.keys();
    await w.import('Agent/a', id);
    await w.apply(desired);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect((await w.state()).pending.size).toBe(0);
  });

  it('keeps what refers to it waiting, with the reason', async () => {
    const w = await Workspace.open();
    w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    w.emulator.faults.add({ match: post('/api/v1/agents'), fault: { cut: 'after' } });
    const desired = [agent('a'), user('ada', { role: 'member', agent_ids: [ref('Agent/a')] })];
    expect(outcomes(await w.apply(desired))['WorkspaceUser/ada']).toBe('skipped: Agent/a failed');
    expect(actionsIn(await w.plan(desired))).toEqual(['unknown Agent/a', 'manual WorkspaceUser/ada']);
  });

  it.each([
    ['a gateway gives up', { status: 504, commit: true }],
    ['the request timed out on the way', { status: 408, commit: true }],
    ['it is answered with 409', { status: 409, commit: true }],
    ['the answer has no body', { emptyBody: true }],
    ['the answer is cut short', { truncate: 20 }],
  ] as const)('is unknown when %s', async (_, fault) => {
    const w = await Workspace.open();
    w.emulator.faults.add({ match: post('/api/v1/webhooks'), fault });
    await w.apply([webhook('h')]);
    expect(at(await w.plan([webhook('h')]), 'Webhook/h')).toMatchObject({
      action: 'unknown',
      reason: expect.stringMatching(
        /^the create sent at \S+ was not confirmed: the record may or may not exist$/,
      ),
    });
  });

  it('finds a number by its digits, and adopts it', async () => {
    const w = await Workspace.open({ numericNumbers: true });
    w.emulator.faults.add({ match: post('/api/v1/numbers'), fault: { cut: 'after' } });
    const desired = [number('n', { number: '+49 301', nickname: 'Desk' })];
    await w.apply(desired);
    const plan = await w.plan(desired);
    expect(at(plan, 'PhoneNumber/n')).toMatchObject({ action: 'adopt', adopted: true });
    expect(outcomes(await w.applySaved(plan))).toEqual({ 'PhoneNumber/n': 'done' });
    expect(w.writes).toEqual(['POST /api/v1/numbers']);
    const state = await w.state();
    expect([state.pending.size, state.resources.get('PhoneNumber/n')?.adopted]).toEqual([0, undefined]);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('stays unknown for a number that the list does not show', async () => {
    const w = await Workspace.open();
    w.emulator.faults.add({ match: post('/api/v1/numbers'), fault: { status: 502 } });
    const desired = [number('n', { number: '+49301' })];
    await w.apply(desired);
    expect(at(await w.plan(desired), 'PhoneNumber/n').action).toBe('unknown');
    await w.apply(desired);
    expect(w.writes).toEqual(['POST /api/v1/numbers']);
    const session = await w.session();
    await session.record({ type: 'resolved', address: 'PhoneNumber/n' });
    await session.close();
    expect(outcomes(await w.apply(desired))).toEqual({ 'PhoneNumber/n': 'done' });
  });

  it('is not forgotten when the manifest turns to another number meanwhile', async () => {
    const w = await Workspace.open();
    w.emulator.faults.add({ match: post('/api/v1/numbers'), fault: { cut: 'after' } });
    await w.apply([number('n', { number: '+49301' })]);
    const [id = ''] = w.emulator.world.numbers.keys();
    await w.client.numbers.create({ number: '+49302' });
    const desired = [number('n', { number: '+49302' })];
    const planned = at(await w.plan(desired), 'PhoneNumber/n');
    expect(planned.action).toBe('unknown');
    expect(planned.steps).toEqual([`Import the record, then plan again: voxform import PhoneNumber/n ${id}`]);
    await w.apply(desired);
    expect((await w.state()).pending.has('PhoneNumber/n')).toBe(true);
  });

  it.each(['an agent', 'a number'])(
    'in place of %s that was missing can be settled, and leaves no orphan',
    async (what) => {
      const w = await Workspace.open();
      const desired = what === 'an agent' ? [agent('x')] : [number('x', { number: '+49301' })];
      const [address = ''] = desired.map((each) => each.address);
      const records = what === 'an agent' ? w.emulator.world.agents : w.emulator.world.numbers;
      await w.apply(desired);
      const old = (await w.state()).resources.get(address)?.id;
      records.clear();
      w.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
      await w.apply(desired, { allowRecreate: [address] });
      const [id = ''] = records.keys();
      if (what === 'an agent') expect(await w.import(address, id)).toBe('taken');
      await w.apply(desired);
      const state = await w.state();
      expect([state.resources.get(address)?.id, state.pending.size]).toEqual([id, 0]);
      expect(state.orphans).toMatchObject([{ id: old, address, reason: 'gone' }]);
      expect(actionsIn(await w.plan(desired))).toEqual([]);
    },
  );

  it('keeps another manifest from creating the same number', async () => {
    const w = await Workspace.open();
    w.emulator.faults.add({ match: post('/api/v1/numbers'), fault: { status: 502 } });
    await w.apply([number('n', { number: '+49301' })]);
    const desired = [number('m', { number: '0049 301' })];
    const plan = await w.plan(desired);
    expect(actionsIn(plan)).toEqual(['unknown PhoneNumber/m', 'unknown PhoneNumber/n']);
    expect(at(plan, 'PhoneNumber/m').steps).toEqual(['Resolve PhoneNumber/n first, then plan again.']);
    w.emulator.clearRequests();
    await w.apply(desired);
    expect(w.writes).toEqual([]);
  });

  it('of a replacement loses neither the new record nor the old one', async () => {
    const w = await Workspace.open();
    await w.apply([number('n', { number: '+49301' })]);
    const old = (await w.state()).resources.get('PhoneNumber/n')?.id;
    w.emulator.faults.add({ match: post('/api/v1/numbers'), fault: { cut: 'after' } });
    const desired = [number('n', { number: '+49302' }, { mayReplace: true })];
    await w.apply(desired);
    expect((await w.state()).resources.get('PhoneNumber/n')?.id).toBe(old);
    expect(actionsIn(await w.plan(desired))).toEqual(['adopt PhoneNumber/n']);
    expect(outcomes(await w.apply(desired))).toEqual({ 'PhoneNumber/n': 'done' });
    const state = await w.state();
    expect(state.orphans).toMatchObject([{ id: old, reason: 'replaced' }]);
    expect(state.pending.size).toBe(0);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('of a webhook that replaces another keeps the old one, and importing the new one releases it', async () => {
    const w = await Workspace.open();
    await w.apply([webhook('h', { timeout: 5 })]);
    const old = (await w.state()).resources.get('Webhook/h')?.id;
    w.emulator.faults.add({ match: post('/api/v1/webhooks'), fault: { cut: 'after' } });
    const desired = [webhook('h', { timeout: 6 }, { mayReplace: true })];
    await w.apply(desired);
    expect(at(await w.plan(desired), 'Webhook/h')).toMatchObject({ action: 'unknown', id: old });
    expect(actionsIn(await w.plan([]))).toEqual(['unknown Webhook/h']);
    const fresh = [...w.emulator.world.webhooks.keys()].find((id) => id !== old) ?? '';
    await w.import('Webhook/h', fresh);
    expect((await w.state()).orphans).toMatchObject([{ id: old, reason: 'replaced' }]);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });
});

describe('an update whose answer was lost', () => {
  it('is looked at again, and ends as declared', async () => {
    const w = await Workspace.open({ shows: { read: ['llm_config'], update: ['llm_config'] } });
    await w.apply([agent('a', { llm_config: { model: 'm' }, tts_config: { speed: 'slow' } })]);
    const desired = [agent('a', { llm_config: { model: 'n' }, tts_config: { speed: 'fast' } })];
    w.emulator.faults.add({ match: { method: 'PUT' }, times: 5, fault: { cut: 'after' } });
    await w.apply(desired);
    expect(at(await w.plan(desired), 'Agent/a').changes.map(({ path }) => path)).toEqual([
      'tts_config.speed',
    ]);
    await w.apply(desired);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });
});

describe('a failure', () => {
  const chain = () => [
    agent('a', { llm_config: { model: 'bad' } }),
    agent('b'),
    user('ada', { role: 'member', agent_ids: [ref('Agent/a')] }),
    user('bob', { role: 'member', agent_ids: [ref('Agent/b')] }),
  ];

  async function withUsers(): Promise<Workspace> {
    const w = await Workspace.open();
    for (const name of ['ada', 'bob'])
      w.emulator.dashboard.inviteUser({ email: `${name}@example.com`, role: 'admin' });
    return w;
  }

  it('stops what depends on it, and nothing else', async () => {
    const w = await withUsers();
    w.emulator.faults.add({
      match: post('/api/v1/agents'),
      fault: { status: 422, body: { message: 'no such model' } },
    });
    const result = outcomes(await w.apply(chain(), { concurrency: 1 }));
    expect(result['Agent/a']).toContain('no such model');
    expect({ ...result, 'Agent/a': '' }).toEqual({
      'Agent/a': '',
      'Agent/b': 'done',
      'WorkspaceUser/ada': 'skipped: Agent/a failed',
      'WorkspaceUser/bob': 'done',
    });
    expect((await w.state()).pending.size, 'a refusal is no unknown').toBe(0);
    expect(Object.values(outcomes(await w.apply(chain())))).toEqual(['done', 'done']);
    expect(actionsIn(await w.plan(chain()))).toEqual([]);
  });

  it('stops everything that was not begun, where the first is to stop all', async () => {
    const w = await withUsers();
    w.emulator.faults.add({ match: post('/api/v1/agents'), fault: { status: 422 } });
    const result = outcomes(await w.apply(chain(), { concurrency: 1, onError: 'stop' }));
    expect({ ...result, 'Agent/a': '' }).toEqual({
      'Agent/a': '',
      'Agent/b': 'skipped: another resource failed',
      'WorkspaceUser/ada': 'skipped: Agent/a failed',
      'WorkspaceUser/bob': 'skipped: another resource failed',
    });
  });

  it.each([401, 403])('of the key (%i) halts the run', async (status) => {
    const w = await withUsers();
    w.emulator.faults.add({ match: post('/api/v1/agents'), times: 9, fault: { status } });
    const result = outcomes(await w.apply(chain(), { concurrency: 1 }));
    expect(result['Agent/b']).toBe('skipped: the platform refuses the API key');
    expect(w.writes).toHaveLength(1);
  });

  it('of a key that is wrong from the start is told before anything is written', async () => {
    const w = await Workspace.open();
    await w.apply([agent('a')]);
    const client = w.connect('another-key');
    const error = await failureOf(w.plan([agent('a')], { client }));
    expect(error.message).toContain('401');
    await client.close();
  });

  it('leaves what an interruption did not reach, and says so', async () => {
    const w = await Workspace.open();
    const stop = new AbortController();
    w.emulator.world.onWrite = () => stop.abort('SIGTERM');
    const report = await w.apply([agent('a'), agent('b')], { concurrency: 1, stop: stop.signal });
    expect(outcomes(report)).toEqual({ 'Agent/a': 'done', 'Agent/b': 'skipped: the run was interrupted' });
    expect(report.interrupted).toBe('SIGTERM');
    expect([...(await w.state()).resources.keys()]).toEqual(['Agent/a']);
  });
});

describe('a workspace that is not the configured one', () => {
  it('stops the run before the first write', async () => {
    const w = await Workspace.open();
    await w.apply([agent('a')]);
    const id = (await w.state()).resources.get('Agent/a')?.id ?? '';
    w.emulator.dashboard.edit('agents', id, { workspace_id: 'ANOTHER' });
    w.emulator.clearRequests();
    const error = await failureOf(w.apply([agent('a'), agent('b')]));
    expect(error).toBeInstanceOf(UserError);
    expect(error.message).toContain(
      `${id} belongs to workspace ANOTHER, but this run is for ${w.emulator.workspaceId}; nothing was written`,
    );
    expect(w.writes).toEqual([]);
  });

  it('stops the run at the first answer that shows it, and keeps the id', async () => {
    const w = await Workspace.open();
    const workspace = { name: 'test', id: 'ANOTHER', baseUrl: w.emulator.url };
    const report = await w.apply([agent('a'), agent('b'), agent('c')], { workspace, concurrency: 1 });
    const result = outcomes(report);
    expect(result['Agent/a']).toContain(`in workspace ${w.emulator.workspaceId}`);
    expect(result['Agent/a']).not.toContain('nothing was written');
    expect(result['Agent/b']).toMatch(/^skipped: /);
    expect(w.emulator.world.agents.size).toBe(1);
    expect([...(await w.state()).resources.keys()]).toEqual(['Agent/a']);
  });
});

describe('records that are missing', () => {
  it('and named by metadata.id are not created again by guess', async () => {
    const w = await Workspace.open();
    for (const named of [
      agent('a', {}, { id: 'GONE' }),
      number('n', { number: '+49301' }, { id: 'GONE' }),
      user('ada', { role: 'member' }, { id: 'GONE' }),
      webhook('h', {}, { id: 'GONE' }),
    ]) {
      const planned = at(await w.plan([named]), named.address);
      expect(planned.action, named.address).toBe('blocked');
      expect(planned.reason).toContain('GONE');
    }
  });
});
