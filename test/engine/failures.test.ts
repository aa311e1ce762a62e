import { describe, expect, it } from 'vitest';
import { failureOf } from '../state/temporary-state.ts';
import { stepTexts } from '../step-texts.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, ref, user, webhook } from './resources.ts';

const post = (path: string) => ({ method: 'POST', path });

describe('a run that loses its lock', () => {
  it('sends no further requests, and reports the reason', async () => {
    const bench = await Bench.open();
    const report = await bench.apply([agent('a'), agent('b')], {
      concurrency: 1,
      verifyWorkspace: async () => void (await bench.store.unlock((await bench.store.holder())?.id ?? '')),
    });
    const because = 'another run or a forced unlock took the state lock';
    expect(report.halted).toBe(because);
    expect(report.stateError).toContain('this run lost the lock of');
    expect(outcomes(report)).toEqual({ 'Agent/a': `skipped: ${because}`, 'Agent/b': `skipped: ${because}` });
    expect(bench.writes).toEqual([]);
  });
});

describe('a create without a response', () => {
  it('is unknown for an agent until a person resolves it, and is not resent', async () => {
    const bench = await Bench.open();
    bench.emulator.faults.add({ match: post('/api/v1/agents'), fault: { cut: 'after' } });
    const desired = [agent('a')];
    const report = await bench.apply(desired);
    expect(outcomes(report)['Agent/a']).toContain('it may have succeeded');
    expect(bench.emulator.world.agents.size).toBe(1);
    const planned = at(await bench.plan(desired), 'Agent/a');
    expect(planned.action).toBe('unknown');
    expect(stepTexts(planned)?.join('\n')).toContain('voxform state resolve Agent/a --not-created');
    expect(actionsIn(await bench.plan([])), 'also without its manifest').toEqual(['unknown Agent/a']);
    await bench.apply(desired);
    expect(bench.writes).toEqual(['POST /api/v1/agents']);

    const [id = ''] = bench.emulator.world.agents.keys();
    await bench.import('Agent/a', id);
    await bench.apply(desired);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    expect((await bench.state()).pending.size).toBe(0);
    expect([...bench.emulator.world.agents.keys()]).toEqual([id]);
  });

  it.each([{ cut: 'before' }, { status: 502 }] as const)(
    'is unknown for every kind with %o, until a person resolves it as not created',
    async (fault) => {
      const bench = await Bench.open();
      const desired = [agent('a'), number('n', { number: '+49301' }), webhook('h')];
      bench.emulator.faults.add({ match: { method: 'POST' }, times: 3, fault });
      const lost = Object.values(outcomes(await bench.apply(desired)));
      expect(lost.filter((each) => each.startsWith('failed: '))).toHaveLength(3);
      const unknown = ['unknown Agent/a', 'unknown PhoneNumber/n', 'unknown Webhook/h'];
      expect(actionsIn(await bench.plan(desired))).toEqual(unknown);
      await bench.apply(desired);
      expect(bench.writes).toHaveLength(3);
      expect(actionsIn(await bench.plan(desired))).toEqual(unknown);
      for (const { address } of desired) await bench.record({ type: 'resolved', address });
      expect(new Set(Object.values(outcomes(await bench.apply(desired))))).toEqual(new Set(['done']));
      expect(actionsIn(await bench.plan(desired))).toEqual([]);
      expect(bench.emulator.world.agents.size).toBe(1);
    },
  );

  it('keeps dependents waiting, with the reason', async () => {
    const bench = await Bench.open();
    bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    bench.emulator.faults.add({ match: post('/api/v1/agents'), fault: { cut: 'after' } });
    const desired = [agent('a'), user('ada', { role: 'member', agent_ids: [ref('Agent/a')] })];
    expect(outcomes(await bench.apply(desired))['WorkspaceUser/ada']).toBe('skipped: Agent/a failed');
    expect(actionsIn(await bench.plan(desired))).toEqual(['unknown Agent/a', 'manual WorkspaceUser/ada']);
  });

  it.each([
    ['a gateway times out', { status: 504, commit: true }],
    ['the request times out', { status: 408, commit: true }],
    ['the response has no body', { emptyBody: true }],
    ['the response is truncated', { truncate: 20 }],
  ] as const)('is unknown when %s', async (_, fault) => {
    const bench = await Bench.open();
    bench.emulator.faults.add({ match: post('/api/v1/webhooks'), fault });
    await bench.apply([webhook('h')]);
    expect(at(await bench.plan([webhook('h')]), 'Webhook/h')).toMatchObject({
      action: 'unknown',
      reason: expect.stringMatching(/^the create sent at \S+ was not confirmed: the record may or may not exist$/),
    });
  });

  it('is found and imported by the digits of a number', async () => {
    const bench = await Bench.open({ numericNumbers: true });
    bench.emulator.faults.add({ match: post('/api/v1/numbers'), fault: { cut: 'after' } });
    const desired = [number('n', { number: '+49 301', nickname: 'Desk' })];
    await bench.apply(desired);
    const plan = await bench.plan(desired);
    expect(at(plan, 'PhoneNumber/n')).toMatchObject({ action: 'adopt', adopted: true });
    expect(outcomes(await bench.applySaved(plan))).toEqual({ 'PhoneNumber/n': 'done' });
    expect(bench.writes).toEqual(['POST /api/v1/numbers']);
    const state = await bench.state();
    expect([state.pending.size, state.resources.get('PhoneNumber/n')?.adopted]).toEqual([0, undefined]);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('is not forgotten if the manifest changes to another number', async () => {
    const bench = await Bench.open();
    bench.emulator.faults.add({ match: post('/api/v1/numbers'), fault: { cut: 'after' } });
    await bench.apply([number('n', { number: '+49301' })]);
    const [id = ''] = bench.emulator.world.numbers.keys();
    await bench.client.numbers.create({ number: '+49302' });
    const desired = [number('n', { number: '+49302' })];
    const planned = at(await bench.plan(desired), 'PhoneNumber/n');
    expect(planned.action).toBe('unknown');
    expect(stepTexts(planned)).toEqual([`Import the record, then plan again: voxform import PhoneNumber/n ${id}`]);
    await bench.apply(desired);
    expect((await bench.state()).pending.has('PhoneNumber/n')).toBe(true);
  });

  it.each(['an agent', 'a number'])(
    'in place of %s that was missing can be resolved, and keeps no second orphan',
    async (what) => {
      const bench = await Bench.open();
      const desired = what === 'an agent' ? [agent('x')] : [number('x', { number: '+49301' })];
      const [address = ''] = desired.map((each) => each.address);
      const records = what === 'an agent' ? bench.emulator.world.agents : bench.emulator.world.numbers;
      await bench.apply(desired);
      const old = (await bench.state()).resources.get(address)?.id;
      records.clear();
      bench.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
      await bench.apply(desired, { allowRecreate: [address] });
      const [id = ''] = records.keys();
      if (what === 'an agent') expect(await bench.import(address, id)).toBe('imported');
      await bench.apply(desired);
      const state = await bench.state();
      expect([state.resources.get(address)?.id, state.pending.size]).toEqual([id, 0]);
      expect(state.orphans).toMatchObject([{ id: old, address, reason: 'gone' }]);
      expect(actionsIn(await bench.plan(desired))).toEqual([]);
    },
  );

  it('keeps the new and the old record of a replacement', async () => {
    const bench = await Bench.applied([number('n', { number: '+49301' })]);
    const old = await bench.idOf('PhoneNumber/n');
    bench.emulator.faults.add({ match: post('/api/v1/numbers'), fault: { cut: 'after' } });
    const desired = [number('n', { number: '+49302' }, { mayReplace: true })];
    await bench.apply(desired);
    expect(await bench.idOf('PhoneNumber/n')).toBe(old);
    expect(actionsIn(await bench.plan(desired))).toEqual(['adopt PhoneNumber/n']);
    expect(outcomes(await bench.apply(desired))).toEqual({ 'PhoneNumber/n': 'done' });
    const state = await bench.state();
    expect(state.orphans).toMatchObject([{ id: old, reason: 'replaced' }]);
    expect(state.pending.size).toBe(0);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('keeps the old record of a replaced webhook until the new one is imported', async () => {
    const bench = await Bench.applied([webhook('h', { timeout: 5 })]);
    const old = await bench.idOf('Webhook/h');
    bench.emulator.faults.add({ match: post('/api/v1/webhooks'), fault: { cut: 'after' } });
    const desired = [webhook('h', { timeout: 6 }, { mayReplace: true })];
    await bench.apply(desired);
    expect(at(await bench.plan(desired), 'Webhook/h')).toMatchObject({ action: 'unknown', id: old });
    expect(actionsIn(await bench.plan([]))).toEqual(['unknown Webhook/h']);
    const fresh = [...bench.emulator.world.webhooks.keys()].find((id) => id !== old) ?? '';
    expect(await bench.import('Webhook/h', fresh)).toBe('imported');
    expect((await bench.state()).orphans).toMatchObject([{ id: old, reason: 'replaced' }]);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });
});

describe('an update without a response', () => {
  it.each([
    { cut: 'after', read: ['llm_config', 'tts_config'], left: [] },
    { cut: 'after', read: ['llm_config'], left: ['tts_config.speed'] },
    { cut: 'after', read: [], left: ['llm_config.model', 'tts_config.speed'] },
    { cut: 'before', read: ['llm_config'], left: ['llm_config.model', 'tts_config.speed'] },
    { cut: 'before', read: [], left: ['llm_config.model', 'tts_config.speed'] },
  ] as const)('is compared again: cut $cut, returned $read', async ({ cut, read, left }) => {
    const bench = await Bench.applied([agent('a', { llm_config: { model: 'm' }, tts_config: { speed: 'slow' } })], {
      shows: { read: [...read], update: [] },
    });
    const desired = [agent('a', { llm_config: { model: 'n' }, tts_config: { speed: 'fast' } })];
    bench.emulator.faults.add({ match: { method: 'PUT' }, times: 9, fault: { cut } });
    expect(outcomes(await bench.apply(desired))['Agent/a']).toMatch(/^failed: /);
    bench.emulator.faults.clear();
    expect(at(await bench.plan(desired), 'Agent/a').changes.map(({ path }) => path)).toEqual(left);
    await bench.apply(desired);
    const [stored] = bench.emulator.world.agents.values();
    expect(stored).toMatchObject({ llm_config: { model: 'n' }, tts_config: { speed: 'fast' } });
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });
});

describe('a failure', () => {
  const chain = () => [
    agent('a', { llm_config: { model: 'bad' } }),
    agent('b'),
    user('ada', { role: 'member', agent_ids: [ref('Agent/a')] }),
    user('bob', { role: 'member', agent_ids: [ref('Agent/b')] }),
  ];

  async function withUsers(): Promise<Bench> {
    const bench = await Bench.open();
    for (const name of ['ada', 'bob'])
      bench.emulator.dashboard.inviteUser({ email: `${name}@example.com`, role: 'admin' });
    return bench;
  }

  it('stops only its dependents', async () => {
    const bench = await withUsers();
    bench.emulator.faults.add({
      match: post('/api/v1/agents'),
      fault: { status: 422, body: { message: 'no such model' } },
    });
    const result = outcomes(await bench.apply(chain(), { concurrency: 1 }));
    expect(result['Agent/a']).toContain('no such model');
    expect({ ...result, 'Agent/a': '' }).toEqual({
      'Agent/a': '',
      'Agent/b': 'done',
      'WorkspaceUser/ada': 'skipped: Agent/a failed',
      'WorkspaceUser/bob': 'done',
    });
    expect((await bench.state()).pending.size, 'a rejected create is not unknown').toBe(0);
    expect(Object.values(outcomes(await bench.apply(chain())))).toEqual(['done', 'done']);
    expect(actionsIn(await bench.plan(chain()))).toEqual([]);
  });

  it('skips resources that have not started with onError: stop', async () => {
    const bench = await withUsers();
    bench.emulator.faults.add({ match: post('/api/v1/agents'), fault: { status: 422 } });
    const result = outcomes(await bench.apply(chain(), { concurrency: 1, onError: 'stop' }));
    expect({ ...result, 'Agent/a': '' }).toEqual({
      'Agent/a': '',
      'Agent/b': 'skipped: another resource failed',
      'WorkspaceUser/ada': 'skipped: Agent/a failed',
      'WorkspaceUser/bob': 'skipped: another resource failed',
    });
  });

  it.each([401, 403])('halts the run if the key is rejected (%i)', async (status) => {
    const bench = await withUsers();
    bench.emulator.faults.add({ match: post('/api/v1/agents'), fault: { delayMs: 0 } });
    bench.emulator.faults.add({ match: post('/api/v1/agents'), times: 9, fault: { status } });
    const result = outcomes(await bench.apply([agent('0'), ...chain()], { concurrency: 1 }));
    expect(result).toMatchObject({
      'Agent/0': 'done',
      'Agent/a': expect.stringMatching(/^failed: /),
      'Agent/b': 'skipped: the platform refuses the API key',
    });
    expect(bench.writes).toHaveLength(2);
    expect(actionsIn(await bench.plan([agent('0'), ...chain()])).slice(0, 2)).toEqual([
      'create Agent/a',
      'create Agent/b',
    ]);
  });

  it('does not affect other requests if a gateway blocked one', async () => {
    const bench = await withUsers();
    const fault = { status: 403, body: '<h1>Blocked</h1>' };
    bench.emulator.faults.add({ match: post('/api/v1/agents'), fault });
    const result = outcomes(await bench.apply([agent('a'), agent('b')], { concurrency: 1 }));
    expect(result).toEqual({ 'Agent/a': expect.stringMatching(/gateway/), 'Agent/b': 'done' });
  });

  it('is reported before the first write if the API key is wrong', async () => {
    const bench = await Bench.applied([agent('a')]);
    const client = bench.connect({ apiKey: 'another-key' });
    const error = await failureOf(bench.plan([agent('a')], { client }));
    expect(error.message).toContain('401');
    await client.close();
  });

  it('is different from an interruption, after which remaining resources are skipped', async () => {
    const bench = await Bench.open();
    const stop = new AbortController();
    bench.emulator.world.onWrite = () => stop.abort('SIGTERM');
    const report = await bench.apply([agent('a'), agent('b')], { concurrency: 1, stop: stop.signal });
    expect(outcomes(report)).toEqual({ 'Agent/a': 'done', 'Agent/b': 'skipped: the run was interrupted' });
    expect(report.interrupted).toBe('SIGTERM');
    expect([...(await bench.state()).resources.keys()]).toEqual(['Agent/a']);
    expect(actionsIn(await bench.plan([agent('a'), agent('b')]))).toEqual(['create Agent/b']);
  });
});

describe('missing records', () => {
  it('block their resources if metadata.id names them', async () => {
    const bench = await Bench.open();
    for (const named of [
      agent('a', {}, { id: 'GONE' }),
      number('n', { number: '+49301' }, { id: 'GONE' }),
      user('ada', { role: 'member' }, { id: 'GONE' }),
      webhook('h', {}, { id: 'GONE' }),
    ]) {
      const planned = at(await bench.plan([named]), named.address);
      expect(planned.action, named.address).toBe('blocked');
      expect(planned.reason).toContain('GONE');
    }
  });
});
