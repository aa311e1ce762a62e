import { describe, expect, it } from 'vitest';
import type { Resource } from '../../src/manifests/resource.ts';
import { remarkText } from '../../src/output/next-steps.ts';
import { stepTexts } from '../step-texts.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, ref, user, webhook } from './resources.ts';

const desired = [agent('a'), agent('b'), agent('c')];

/** Applies resources and deletes one of their records. */
async function without(address: string, resources: readonly Resource[] = desired) {
  const bench = await Bench.applied(resources);
  const id = await bench.idOf(address);
  const collection = address.startsWith('Webhook') ? 'webhooks' : address.startsWith('Phone') ? 'numbers' : 'agents';
  bench.emulator.dashboard.remove(collection, id);
  bench.requests();
  return { bench, id };
}

/** Restores Agent/b on the platform with its former id. */
function showAgain(bench: Bench, id: string): void {
  const [another] = bench.emulator.world.agents.values();
  if (another === undefined) throw new Error('no agent');
  bench.emulator.world.agents.set(id, { ...another, id, name: 'b' });
}

describe('a missing record', () => {
  it.each([
    { address: 'Agent/b', resources: desired },
    { address: 'Webhook/h', resources: [webhook('h'), agent('a')] },
    { address: 'PhoneNumber/n', resources: [number('n', { number: '+49301' }), agent('a')] },
  ])('blocks $address in each apply, and records since when', async ({ address, resources }) => {
    const { bench, id } = await without(address, resources);
    expect(at(await bench.plan(resources), address)).toMatchObject({
      action: 'blocked',
      id,
      missing: true,
      reason: `its record ${id} is missing from the platform (since this run)`,
    });
    await bench.apply(resources);
    bench.time += 60_000;
    await bench.apply(resources);
    expect(bench.writes).toEqual([]);
    const since = '2030-01-01T00:00:00.000Z';
    const planned = at(await bench.plan(resources), address);
    expect(planned).toMatchObject({ missing_since: since, reason: expect.stringContaining(`since ${since}`) });
    expect(stepTexts(planned)?.join(' ')).toContain(`voxform apply --allow-recreate ${address}`);
    expect(actionsIn(await bench.drift(resources))).toEqual([`blocked ${address}`]);
  });

  it('is in sync and no longer missing once it is returned again', async () => {
    const { bench, id } = await without('Agent/b');
    await bench.apply(desired);
    expect((await bench.state()).resources.get('Agent/b')?.missing_since).toBeDefined();
    showAgain(bench, id);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    await bench.apply(desired);
    expect((await bench.state()).resources.get('Agent/b')).not.toHaveProperty('missing_since');
    expect(bench.writes).toEqual([]);
  });

  it.each([1, 3, 7])('is not created twice if the platform returns it after %i reads', async (reads) => {
    const bench = await Bench.open({ showsNewAfterReads: reads });
    const resources = [agent('a'), webhook('h'), number('n', { number: '+49301' })];
    const unchanged = [agent('s1')];
    await bench.apply(unchanged);
    for (let run = 0; run < reads; run += 1) await bench.plan(unchanged, { evenIfAll: true });
    for (let run = 0; run < reads + 2; run += 1) await bench.apply([...unchanged, ...resources]);
    const { agents, webhooks, numbers } = bench.emulator.world;
    expect([agents.size, webhooks.size, numbers.size]).toEqual([2, 1, 1]);
    expect(actionsIn(await bench.plan([...unchanged, ...resources]))).toEqual([]);
  });

  it.each([404, 410])('is recognized by the response %i, and the others are applied', async (status) => {
    const bench = await Bench.applied(desired);
    const id = await bench.idOf('Agent/b');
    const fault = { status, body: { message: 'gone' } };
    bench.emulator.faults.add({ match: { method: 'GET', path: `/api/v1/agents/${id}` }, times: 1000, fault });
    expect(actionsIn(await bench.plan([...desired, agent('d')]))).toEqual(['blocked Agent/b', 'create Agent/d']);
  });

  it.each([
    { reason: 'late', how: { showsNewAfterReads: 3 }, allowRecreate: [], at: 'blocked', made: 1 },
    { reason: 'deleted', how: {}, allowRecreate: ['PhoneNumber/m'], at: 'create', made: 2 },
  ])('of a number is recognized after a rename, and not created twice: $reason', async (each) => {
    const bench = await Bench.open(each.how);
    const unchanged = agent('s');
    await bench.apply([unchanged, number('n', { number: '+49 301' })]);
    const id = await bench.idOf('PhoneNumber/n');
    if (each.reason === 'deleted') bench.emulator.dashboard.remove('numbers', id);
    for (let run = 0; run < 3; run += 1) await bench.plan([unchanged], { evenIfAll: true });
    const renamed = [unchanged, number('m', { number: '0049 301' })];
    if (each.reason === 'late') bench.emulator.world.showLater(id, 3);
    const plan = await bench.plan(renamed, { allowRecreate: each.allowRecreate });
    expect(at(plan, 'PhoneNumber/m')).toMatchObject({ action: each.at, id, previous_address: 'PhoneNumber/n' });
    expect(plan.summary.forget).toBe(0);
    await bench.apply(renamed, { allowRecreate: each.allowRecreate });
    for (let run = 0; run < 3; run += 1) await bench.apply(renamed);
    expect(bench.writes.filter((write) => write.endsWith('/numbers'))).toHaveLength(each.made);
    expect(actionsIn(await bench.plan(renamed))).toEqual([]);
  });

  it.each([
    { type: 'text/plain', body: 'default backend - 404' },
    { type: 'text/html', body: '<html><title>404</title></html>' },
  ])('is not assumed after a 404 of a gateway ($type)', async ({ type, body }) => {
    const bench = await Bench.applied(desired);
    const fault = { status: 404, body, headers: { 'content-type': type } };
    bench.emulator.faults.add({ match: {}, times: 1000, fault });
    await expect(bench.apply(desired, { allowRecreate: ['all'], evenIfAll: true })).rejects.toMatchObject({
      reason: 'gateway',
    });
    bench.emulator.faults.clear();
    expect(bench.writes).toEqual([]);
    bench.emulator.faults.add({ match: {}, times: 4, fault });
    await bench.apply(desired);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    expect(bench.writes).toEqual([]);
  });

  it('is recreated only if it is named', async () => {
    const { bench, id } = await without('Agent/b');
    bench.emulator.dashboard.remove('agents', await bench.idOf('Agent/c'));
    const plan = await bench.plan(desired, { allowRecreate: ['Agent/b'] });
    expect(actionsIn(plan)).toEqual(['create Agent/b', 'blocked Agent/c']);
    expect(at(plan, 'Agent/b')).toMatchObject({ id, recreates: id });
    expect(outcomes(await bench.applySaved(plan))).toEqual({ 'Agent/b': 'done' });
    expect(actionsIn(await bench.plan(desired))).toEqual(['blocked Agent/c']);
    expect((await bench.state()).orphans).toMatchObject([{ id, address: 'Agent/b', reason: 'gone' }]);
  });

  it('is recreated if it is the only record that was read', async () => {
    const { bench } = await without('Agent/b');
    const options = { selection: { targets: ['Agent/b'], labels: {} } };
    expect(actionsIn(await bench.plan(desired, options))).toEqual(['blocked Agent/b']);
    const report = await bench.apply(desired, { ...options, allowRecreate: ['Agent/b'] });
    expect(outcomes(report)).toEqual({ 'Agent/b': 'done' });
    expect(bench.writes).toEqual(['POST /api/v1/agents']);
  });

  it('stops the run if three records were read and none exists', async () => {
    const { bench } = await without('Agent/b');
    for (const name of ['a', 'c']) bench.emulator.dashboard.remove('agents', await bench.idOf(`Agent/${name}`));
    const targets = desired.map(({ address }) => address);
    const none = 'none of the 3 managed records exists';
    await expect(bench.plan(desired, { selection: { targets, labels: {} } })).rejects.toThrow(none);
    await expect(bench.apply(desired)).rejects.toThrow(none);
    await expect(bench.apply(desired, { allowRecreate: ['all'] })).rejects.toThrow(none);
    expect(bench.writes).toEqual([]);
    const two = await bench.plan(desired, { selection: { targets: targets.slice(1), labels: {} } });
    expect(actionsIn(two)).toEqual(['blocked Agent/b', 'blocked Agent/c']);
    await bench.apply(desired, { allowRecreate: ['all'], evenIfAll: true });
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('is read again before another one is created', async () => {
    const { bench, id } = await without('Agent/b');
    const plan = await bench.plan(desired, { allowRecreate: ['all'] });
    const report = await bench.apply(desired, { allowRecreate: ['all'], between: () => showAgain(bench, id) });
    expect(outcomes(report)['Agent/b']).toContain(`${id}, the record of Agent/b, is back on the platform`);
    await expect(bench.applySaved(plan)).rejects.toThrow('the plan is stale');
    expect(bench.writes).toEqual([]);
  });

  describe.each([
    { reason: 'forgotten', replace: false },
    { reason: 'replaced', replace: true },
  ])('of a number that was $reason', ({ reason, replace }) => {
    const unchanged = agent('s');
    const other = number('m', { number: '0049 301' });

    async function released(): Promise<{ bench: Bench; id: string }> {
      const bench = await Bench.open();
      const mine = (digits: string) => number('n', { number: digits }, { mayReplace: replace });
      await bench.apply([unchanged, mine('+49 301')]);
      const id = await bench.idOf('PhoneNumber/n');
      await bench.apply(replace ? [unchanged, mine('+49 302')] : [unchanged]);
      expect((await bench.state()).orphans).toMatchObject([{ id, reason, natural_key: '49301' }]);
      bench.requests();
      return { bench, id };
    }

    const resources = replace ? [unchanged, number('n', { number: '+49 302' }), other] : [unchanged, other];

    it('is recognized under another name, and not created twice while lists do not contain it', async () => {
      const { bench, id } = await released();
      bench.emulator.world.showLater(id, 2);
      const plan = await bench.plan(resources);
      expect(at(plan, 'PhoneNumber/m')).toMatchObject({
        action: 'blocked',
        reason: `${id}, a former record of PhoneNumber/n, is missing from the platform`,
      });
      for (let run = 0; run < 3; run += 1) await bench.apply(resources);
      expect(await bench.idOf('PhoneNumber/m')).toBe(id);
      expect(bench.writes).toEqual([]);
    });

    it('is recreated under another name if this is allowed', async () => {
      const { bench, id } = await released();
      bench.emulator.dashboard.remove('numbers', id);
      const plan = await bench.plan(resources, { allowRecreate: ['PhoneNumber/m'] });
      expect(at(plan, 'PhoneNumber/m')).toMatchObject({ action: 'create', recreates: id });
      expect(outcomes(await bench.applySaved(plan))).toEqual({ 'PhoneNumber/m': 'done' });
      expect(actionsIn(await bench.plan(resources))).toEqual([]);
    });
  });

  it('of a released number does not block another number with its name', async () => {
    const bench = await Bench.applied([agent('s'), number('n', { number: '+49301' })]);
    await bench.apply([agent('s')]);
    const plan = await bench.plan([agent('s'), number('n', { number: '+49302' })]);
    expect(at(plan, 'PhoneNumber/n')).toMatchObject({ action: 'create' });
  });

  it('keeps references to it in sync, and blocks writes that need it', async () => {
    const ann = (role: string) => user('ann', { role, agent_ids: [ref('Agent/b')] });
    const bench = await Bench.open();
    bench.emulator.dashboard.inviteUser({ email: 'ann@example.com' });
    await bench.apply([...desired, ann('member')]);
    // The user still has its id, as with a delayed list.
    bench.emulator.world.agents.delete(await bench.idOf('Agent/b'));
    bench.requests();
    expect(actionsIn(await bench.plan([...desired, ann('member')]))).toEqual(['blocked Agent/b']);
    const plan = await bench.plan([...desired, ann('admin')]);
    expect(at(plan, 'WorkspaceUser/ann')).toMatchObject({
      action: 'manual',
      steps: [{ action: 'wait_for', address: 'Agent/b', because: 'missing' }],
    });
    await bench.apply([...desired, ann('admin')]);
    expect(bench.writes).toEqual([]);
    await bench.apply([...desired, ann('admin')], { allowRecreate: ['Agent/b'] });
    expect(actionsIn(await bench.plan([...desired, ann('admin')]))).toEqual([]);
  });

  it('makes the link of a number wait, without a step that contains its id', async () => {
    const bench = await Bench.applied(desired);
    const id = await bench.idOf('Agent/b');
    bench.emulator.dashboard.remove('agents', id);
    const linked = [...desired, number('n', { number: '+49301', inbound_agent_id: ref('Agent/b') })];
    const waits = { action: 'wait_for', address: 'Agent/b', because: 'missing', path: 'inbound_agent_id' };
    expect(at(await bench.plan(linked), 'PhoneNumber/n')).toMatchObject({ action: 'create', steps: [waits] });
    await bench.apply(linked);
    expect(at(await bench.plan(linked), 'PhoneNumber/n')).toMatchObject({ action: 'manual', steps: [waits] });
    await bench.apply(linked, { allowRecreate: ['Agent/b'] });
    const steps = stepTexts(at(await bench.plan(linked), 'PhoneNumber/n'))?.join() ?? '';
    expect(steps).toContain(`to Agent/b (${await bench.idOf('Agent/b')})`);
    expect(steps).not.toContain(id);
  });

  it('is not recreated while an earlier record is back, which can be imported', async () => {
    const { bench, id: old } = await without('Agent/b');
    await bench.apply(desired, { allowRecreate: ['Agent/b'] });
    const id = await bench.idOf('Agent/b');
    bench.emulator.dashboard.remove('agents', id);
    showAgain(bench, old);
    bench.requests();
    const plan = await bench.plan(desired, { allowRecreate: ['all'] });
    expect(at(plan, 'Agent/b').action).toBe('blocked');
    expect(plan.warnings.map((each) => remarkText(each, undefined)).join()).toContain(`voxform import Agent/b ${old}`);
    expect(await bench.import('Agent/b', old)).toBe('imported');
    await bench.apply(desired);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    expect((await bench.state()).orphans).toMatchObject([{ id, reason: 'gone' }]);
    expect(bench.writes.filter((line) => line.startsWith('POST'))).toEqual([]);
  });

  it('does not resolve an unknown create', async () => {
    const { bench } = await without('Agent/b');
    bench.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'before' } });
    await bench.apply(desired, { allowRecreate: ['Agent/b'] });
    expect((await bench.state()).pending.size).toBe(1);
    await bench.apply(desired, { allowRecreate: ['all'] });
    await bench.apply(desired, { allowRecreate: ['all'] });
    expect((await bench.state()).pending.size).toBe(1);
    expect(bench.emulator.world.agents.size).toBe(2);
  });
});
