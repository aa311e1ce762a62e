import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { failureOf } from '../state/temporary-state.ts';
import { actionsIn, at, Bench, besidesResends, outcomes } from './bench.ts';
import { agent, number, ref, secret, user, webhook } from './resources.ts';

const hiding = { shows: { read: ['llm_config'], update: ['llm_config'] }, put: 'replace' } as const;
const config = { llm_config: { model: 'm' }, stt_config: { model: 's', provider: 'p' } };

const stt = (model: string) => ({ stt_config: { model } });
const unverified = ['stt_config.model'];
const differing = { path: 'stt_config.model', before: 's', after: 'ours', verified: false };

describe('a record with metadata.id', () => {
  it.each([
    ['all fields are returned and equal', {}, 'never', { action: 'adopt' }],
    ['a returned field differs', { name: 'b' }, 'never', { action: 'update' }],
    ['a hidden field was never published', stt('s'), 'never', { action: 'update' }],
    ['the published version has the same value', stt('s'), 'as it is', { action: 'adopt', unverified }],
    ['the published version differs', stt('ours'), 'as it is', { action: 'update', changes: [differing] }],
    ['the draft is newer', stt('s'), 'and edited since', { action: 'adopt', unverified }],
  ])('is compared with the returned and the published fields: %s', async (_, spec, published, expected) => {
    const bench = await Bench.open(hiding);
    const { id } = await bench.client.agents.create({ name: 'a', ...config });
    if (published !== 'never') bench.emulator.dashboard.publishAgent(id);
    if (published === 'and edited since') bench.emulator.dashboard.edit('agents', id, { name: 'a' });

    const desired = [agent('a', spec, { id })];
    bench.requests();
    const plan = await bench.plan(desired);
    expect(bench.requests()).toHaveLength(published === 'never' ? 1 : 2);
    expect(at(plan, 'Agent/a')).toMatchObject({ ...expected, id, adopted: true });
    const ahead = { address: 'Agent/a', message: expect.stringContaining('the draft is newer') };
    expect(besidesResends(plan)).toEqual(published === 'and edited since' ? [ahead] : []);
    expect(outcomes(await bench.apply(desired))).toEqual({ 'Agent/a': 'done' });
    expect(bench.writes).toEqual(expected.action === 'adopt' ? [] : [`PUT /api/v1/agents/${id}`]);
    bench.requests();
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    expect(bench.emulator.requests, 'the version is read for an adoption only').toHaveLength(1);
    const stored = bench.emulator.world.agents.get(id);
    expect(stored?.llm_config).toEqual({ model: 'm' });
    // The update also resends the fields that the published version has in the same object.
    if (published === 'as it is') expect(stored?.stt_config.provider).toBe('p');
  });

  it('is ignored with a warning if the state has another record', async () => {
    const bench = await Bench.applied([agent('a')]);
    const { id } = await bench.client.agents.create({ name: 'a' });
    const plan = await bench.plan([agent('a', {}, { id })]);
    const managedId = await bench.idOf('Agent/a');
    expect(at(plan, 'Agent/a').id).toBe(managedId);
    expect(plan.warnings).toEqual([
      {
        address: 'Agent/a',
        message: `metadata.id is ${id}, but the state manages ${managedId}.`,
        next: [{ action: 'release', address: 'Agent/a', id: managedId, or: 'remove_id' }],
      },
    ]);
  });

  it('continues the state entry of an address that no manifest declares', async () => {
    const bench = await Bench.applied([agent('a', { llm_config: { api_key: secret() } })]);
    const id = await bench.idOf('Agent/a');
    const desired = [agent('b', { name: 'a', llm_config: { api_key: secret() } }, { id })];
    expect(at(await bench.plan(desired), 'Agent/b')).toMatchObject({ action: 'noop', previous_address: 'Agent/a' });
    await bench.apply(desired);
    expect([...(await bench.state()).resources.keys()]).toEqual(['Agent/b']);
  });
});

describe('a rename', () => {
  const declared = () => [
    agent('a', { llm_config: { api_key: secret() } }),
    user('ada', { role: 'member', agent_ids: [ref('Agent/a')] }),
  ];
  const renamed = () => [
    agent('b', { name: 'a', llm_config: { api_key: secret() } }, { previousNames: ['x', 'a'] }),
    user('ada', { role: 'member', agent_ids: [ref('Agent/b')] }),
  ];

  it('keeps the record, its state entry and its references', async () => {
    const bench = await Bench.open({ shows: { read: [], update: [] } });
    bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    await bench.apply(declared());
    const id = await bench.idOf('Agent/a');
    bench.requests();
    const plan = await bench.plan(renamed());
    expect(actionsIn(plan)).toEqual([]);
    expect(at(plan, 'Agent/b')).toMatchObject({ id, previous_address: 'Agent/a' });
    await bench.apply(renamed());
    expect(bench.writes).toEqual([]);
    const { resources, orphans } = await bench.state();
    expect([resources.get('Agent/b')?.id, resources.has('Agent/a'), orphans]).toEqual([id, false, []]);
    expect(at(await bench.plan(renamed()), 'Agent/b').previous_address).toBeUndefined();
    expect(actionsIn(await bench.plan(renamed().map((each) => ({ ...each, previousNames: [] }))))).toEqual([]);
  });

  it.each([true, false])('recognizes a number by its digits (numeric: %s)', async (numericNumbers) => {
    const bench = await Bench.applied([number('n', { number: '(49)30-12345' })], {
      numericNumbers,
      uniqueNumbers: true,
    });
    const renamed = { action: 'noop', previous_address: 'PhoneNumber/n' };
    expect(at(await bench.plan([number('m', { number: '+49 30 12345' })]), 'PhoneNumber/m')).toMatchObject(renamed);
    const desired = [number('m', { number: '+49 30 12345', nickname: 'Front desk' })];
    expect(at(await bench.plan(desired), 'PhoneNumber/m')).toMatchObject({
      ...renamed,
      action: 'manual',
      steps: [{ action: 'dashboard', instruction: expect.stringContaining('"Front desk"') }],
    });
    expect(await bench.writesOf(desired)).toEqual([]);
    expect([...(await bench.state()).resources.keys()]).toEqual(['PhoneNumber/m']);
    expect((await bench.state()).orphans).toEqual([]);
  });

  it('to an address with an unknown create first releases the record', async () => {
    const w = await Bench.open();
    w.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
    const desired = [number('b', { number: '+49301' })];
    await w.apply(desired);
    const [id = ''] = w.emulator.world.numbers.keys();
    await w.import('PhoneNumber/a', id);
    expect(actionsIn(await w.plan(desired))).toEqual(['forget PhoneNumber/a', 'blocked PhoneNumber/b']);
    for (let count = 0; count < 2; count++) await w.apply(desired);
    const { resources, pending, orphans } = await w.state();
    expect([...resources].map(([address, entry]) => [address, entry.id])).toEqual([['PhoneNumber/b', id]]);
    expect([pending.size, orphans, w.emulator.world.numbers.size]).toEqual([0, [], 1]);
  });

  it('finds the record again if an apply in between released it', async () => {
    const bench = await Bench.open();
    const unchanged = agent('s');
    await bench.apply([unchanged, agent('a'), webhook('h', { url: 'https://example.com/h' })]);
    const { resources } = await bench.state();
    await bench.apply([unchanged]);
    bench.requests();
    const desired = [
      unchanged,
      agent('b', { name: 'a' }, { previousNames: ['x', 'a'] }),
      webhook('i', { url: 'https://example.com/h' }, { previousNames: ['h'] }),
    ];
    const plan = await bench.plan(desired);
    expect(actionsIn(plan)).toEqual(['adopt Agent/b', 'adopt Webhook/i']);
    expect([at(plan, 'Agent/b').id, at(plan, 'Webhook/i').id]).toEqual([
      resources.get('Agent/a')?.id,
      resources.get('Webhook/h')?.id,
    ]);
    await bench.apply(desired);
    expect(bench.writes).toEqual([]);
    expect((await bench.state()).orphans).toEqual([]);
    bench.emulator.dashboard.remove('agents', resources.get('Agent/a')?.id ?? '');
    await bench.apply([unchanged, desired[2] ?? unchanged]);
    expect(actionsIn(await bench.plan(desired))).toEqual(['blocked Agent/b']);
    const earlier = [agent('c', { name: 'a' }, { previousNames: ['b'] }), ...desired.slice(2)];
    const allowed = await bench.plan([unchanged, ...earlier], { allowRecreate: ['Agent/c'] });
    expect(at(allowed, 'Agent/c')).toMatchObject({ action: 'create', recreates: expect.any(String) });
    expect(outcomes(await bench.applySaved(allowed))).toEqual({ 'Agent/c': 'done' });
  });

  it('moves an unknown create to the new address', async () => {
    const bench = await Bench.open();
    bench.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
    await bench.apply([agent('a')]);
    const desired = [agent('b', {}, { previousNames: ['a'] })];
    expect(actionsIn(await bench.plan(desired))).toEqual(['unknown Agent/b']);
    await bench.apply(desired);
    expect([...(await bench.state()).pending.keys()]).toEqual(['Agent/b']);
  });
});

describe('an undeclared rename', () => {
  const hint = { address: 'Agent/new', next: [{ action: 'keep_record', previous_name: 'old' }] };

  it.each([
    { reason: 'the create succeeds', fails: false, left: [] },
    { reason: 'the create fails', fails: true, left: [hint] },
  ])('causes a warning until the new record exists: $reason', async ({ fails, left }) => {
    const bench = await Bench.applied([agent('old', { name: 'Desk' })]);
    const renamed = [agent('new', { name: 'Desk' })];
    expect((await bench.plan(renamed)).warnings).toMatchObject([hint]);
    if (fails) bench.emulator.faults.add({ match: { method: 'POST' }, fault: { status: 422 } });
    expect((await bench.apply(renamed)).warnings).toMatchObject(left);
  });
});

describe('an import', () => {
  const everyKind = [agent('a'), number('n', { number: '+49301' }), webhook('h'), user('ada', { role: 'member' })];

  async function everyKindApplied(): Promise<Bench> {
    const bench = await Bench.open();
    bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    await bench.apply(everyKind);
    return bench;
  }

  it('adds a record to the state, and the next apply updates it', async () => {
    const bench = await Bench.open();
    const { id } = await bench.client.agents.create({ name: 'other', llm_config: { model: 'm' } });
    expect(await bench.import('Agent/a', id)).toBe('imported');
    expect(await bench.import('Agent/a', id)).toBe('already');
    const desired = [agent('a', { llm_config: { model: 'm' } })];
    expect(at(await bench.plan(desired), 'Agent/a')).toMatchObject({
      action: 'update',
      changes: [{ path: 'name', before: 'other', after: 'a' }],
    });
    await bench.apply(desired);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    expect(bench.emulator.world.agents.size).toBe(1);
  });

  it.each(everyKind)('needs no write for $address if it is as declared', async ({ address }) => {
    const bench = await everyKindApplied();
    const id = await bench.idOf(address);
    expect(await bench.import(address, id)).toBe('already');
    await bench.record({ type: 'forgotten', address });
    bench.requests();
    expect(await bench.import(address, id)).toBe('imported');
    expect(actionsIn(await bench.plan(everyKind))).toEqual([]);
    await bench.apply(everyKind);
    expect(bench.writes).toEqual([]);
    const { recorded } = (await bench.state()).resources.get(address) ?? {};
    if (address === 'Agent/a') expect(recorded).toMatchObject({ name: 'a' });
    if (address === 'Webhook/h') expect(recorded).toEqual({ url: 'https://example.com/h' });
  });

  it.each<[string, string, string, RegExp]>([
    ['no agent has the id', 'Agent/x', 'NONE', /has no Agent with the id NONE/],
    ['no number has the id', 'PhoneNumber/x', 'NONE', /has no PhoneNumber with the id NONE/],
    ['no user has the id', 'WorkspaceUser/x', 'NONE', /no WorkspaceUser/],
    ['the address has a record', 'Agent/a', 'OTHER', /Agent\/a is already managed as /],
    ['another address has the record', 'PhoneNumber/x', 'PhoneNumber/n', /^\S+ is already managed as PhoneNumber\/n$/],
    ['the record has another kind', 'Webhook/x', 'Agent/a', /no Webhook with the id/],
  ])('is refused when %s', async (_, address, from, message) => {
    const bench = await everyKindApplied();
    const before = await bench.store.read();
    const error = await failureOf(bench.import(address, (await bench.idOf(from)) || from));
    expect(error).toBeInstanceOf(UserError);
    expect(error.message).toMatch(message);
    expect((await bench.store.read()).document).toEqual(before.document);
  });
});

describe('a resource outside the scope of a run', () => {
  it('is not read, written or forgotten', async () => {
    const bench = await Bench.applied([agent('a'), agent('b'), webhook('h')]);
    const next = [agent('a', { llm_config: { model: 'm' } }), agent('b', { llm_config: { model: 'm' } })];
    const selection = { targets: ['Agent/a'], labels: {} };
    expect(actionsIn(await bench.plan(next, { selection }))).toEqual(['update Agent/a']);
    expect(bench.emulator.requests).toHaveLength(1);
    await bench.apply(next, { selection });
    expect(bench.writes).toHaveLength(1);
    expect(actionsIn(await bench.plan(next))).toEqual(['update Agent/b', 'forget Webhook/h']);
  });
});
