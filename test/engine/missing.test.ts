import { describe, expect, it } from 'vitest';
import type { Resource } from '../../src/manifests/resource.ts';
import { remarkText } from '../../src/output/next-steps.ts';
import { stepTexts } from '../step-texts.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, ref, user, webhook } from './resources.ts';

const desired = [agent('a'), agent('b'), agent('c')];

/** Applies resources and deletes one of their records. */
async function without(address: string, resources: readonly Resource[] = desired) {
  const w = await Bench.applied(resources);
  const id = await w.idOf(address);
  const collection = address.startsWith('Webhook') ? 'webhooks' : address.startsWith('Phone') ? 'numbers' : 'agents';
  w.emulator.dashboard.remove(collection, id);
  w.requests();
  return { w, id };
}

/** Restores Agent/b on the platform with its former id. */
function showAgain(w: Bench, id: string): void {
  const [another] = w.emulator.world.agents.values();
  if (another === undefined) throw new Error('no agent');
  w.emulator.world.agents.set(id, { ...another, id, name: 'b' });
}

describe('a missing record', () => {
  it.each([
    { address: 'Agent/b', resources: desired },
    { address: 'Webhook/h', resources: [webhook('h'), agent('a')] },
    { address: 'PhoneNumber/n', resources: [number('n', { number: '+49301' }), agent('a')] },
  ])('blocks $address in each apply, and records since when', async ({ address, resources }) => {
    const { w, id } = await without(address, resources);
    expect(at(await w.plan(resources), address)).toMatchObject({
      action: 'blocked',
      id,
      missing: true,
      reason: `its record ${id} is missing from the platform (since this run)`,
    });
    await w.apply(resources);
    w.time += 60_000;
    await w.apply(resources);
    expect(w.writes).toEqual([]);
    const since = '2030-01-01T00:00:00.000Z';
    const planned = at(await w.plan(resources), address);
    expect(planned).toMatchObject({ missing_since: since, reason: expect.stringContaining(`since ${since}`) });
    expect(stepTexts(planned)?.join(' ')).toContain(`voxform apply --allow-recreate ${address}`);
    expect(actionsIn(await w.drift(resources))).toEqual([`blocked ${address}`]);
  });

  it('is in sync and no longer missing once it is returned again', async () => {
    const { w, id } = await without('Agent/b');
    await w.apply(desired);
    expect((await w.state()).resources.get('Agent/b')?.missing_since).toBeDefined();
    showAgain(w, id);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    await w.apply(desired);
    expect((await w.state()).resources.get('Agent/b')).not.toHaveProperty('missing_since');
    expect(w.writes).toEqual([]);
  });

  it.each([1, 3, 7])('is not created twice if the platform returns it after %i reads', async (reads) => {
    const w = await Bench.open({ showsNewAfterReads: reads });
    const resources = [agent('a'), webhook('h'), number('n', { number: '+49301' })];
    const unchanged = [agent('s1')];
    await w.apply(unchanged);
    for (let run = 0; run < reads; run += 1) await w.plan(unchanged, { evenIfAll: true });
    for (let run = 0; run < reads + 2; run += 1) await w.apply([...unchanged, ...resources]);
    const { agents, webhooks, numbers } = w.emulator.world;
    expect([agents.size, webhooks.size, numbers.size]).toEqual([2, 1, 1]);
    expect(actionsIn(await w.plan([...unchanged, ...resources]))).toEqual([]);
  });

  it.each([404, 410])('is recognized by the response %i, and the others are applied', async (status) => {
    const w = await Bench.applied(desired);
    const id = await w.idOf('Agent/b');
    const fault = { status, body: { message: 'gone' } };
    w.emulator.faults.add({ match: { method: 'GET', path: `/api/v1/agents/${id}` }, times: 1000, fault });
    expect(actionsIn(await w.plan([...desired, agent('d')]))).toEqual(['blocked Agent/b', 'create Agent/d']);
  });

  it.each([
    { reason: 'late', how: { showsNewAfterReads: 3 }, allowRecreate: [], at: 'blocked', made: 1 },
    { reason: 'deleted', how: {}, allowRecreate: ['PhoneNumber/m'], at: 'create', made: 2 },
  ])('of a number is recognized after a rename, and not created twice: $reason', async (each) => {
    const w = await Bench.open(each.how);
    const unchanged = agent('s');
    await w.apply([unchanged, number('n', { number: '+49 301' })]);
    const id = await w.idOf('PhoneNumber/n');
    if (each.reason === 'deleted') w.emulator.dashboard.remove('numbers', id);
    for (let run = 0; run < 3; run += 1) await w.plan([unchanged], { evenIfAll: true });
    const renamed = [unchanged, number('m', { number: '0049 301' })];
    if (each.reason === 'late') w.emulator.world.showLater(id, 3);
    const plan = await w.plan(renamed, { allowRecreate: each.allowRecreate });
    expect(at(plan, 'PhoneNumber/m')).toMatchObject({ action: each.at, id, previous_address: 'PhoneNumber/n' });
    expect(plan.summary.forget).toBe(0);
    await w.apply(renamed, { allowRecreate: each.allowRecreate });
    for (let run = 0; run < 3; run += 1) await w.apply(renamed);
    expect(w.writes.filter((write) => write.endsWith('/numbers'))).toHaveLength(each.made);
    expect(actionsIn(await w.plan(renamed))).toEqual([]);
  });

  it.each([
    { type: 'text/plain', body: 'default backend - 404' },
    { type: 'text/html', body: '<html><title>404</title></html>' },
  ])('is not assumed after a 404 of a gateway ($type)', async ({ type, body }) => {
    const w = await Bench.applied(desired);
    const fault = { status: 404, body, headers: { 'content-type': type } };
    w.emulator.faults.add({ match: {}, times: 1000, fault });
    await expect(w.apply(desired, { allowRecreate: ['all'], evenIfAll: true })).rejects.toMatchObject({
      reason: 'gateway',
    });
    w.emulator.faults.clear();
    expect(w.writes).toEqual([]);
    w.emulator.faults.add({ match: {}, times: 4, fault });
    await w.apply(desired);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect(w.writes).toEqual([]);
  });

  it('is recreated only if it is named', async () => {
    const { w, id } = await without('Agent/b');
    w.emulator.dashboard.remove('agents', await w.idOf('Agent/c'));
    const plan = await w.plan(desired, { allowRecreate: ['Agent/b'] });
    expect(actionsIn(plan)).toEqual(['create Agent/b', 'blocked Agent/c']);
    expect(at(plan, 'Agent/b')).toMatchObject({ id, recreates: id });
    expect(outcomes(await w.applySaved(plan))).toEqual({ 'Agent/b': 'done' });
    expect(actionsIn(await w.plan(desired))).toEqual(['blocked Agent/c']);
    expect((await w.state()).orphans).toMatchObject([{ id, address: 'Agent/b', reason: 'gone' }]);
  });

  it('is recreated if it is the only record that was read', async () => {
    const { w } = await without('Agent/b');
    const options = { selection: { targets: ['Agent/b'], labels: {} } };
    expect(actionsIn(await w.plan(desired, options))).toEqual(['blocked Agent/b']);
    const report = await w.apply(desired, { ...options, allowRecreate: ['Agent/b'] });
    expect(outcomes(report)).toEqual({ 'Agent/b': 'done' });
    expect(w.writes).toEqual(['POST /api/v1/agents']);
  });

  it('stops the run if three records were read and none exists', async () => {
    const { w } = await without('Agent/b');
    for (const name of ['a', 'c']) w.emulator.dashboard.remove('agents', await w.idOf(`Agent/${name}`));
    const targets = desired.map(({ address }) => address);
    const none = 'none of the 3 managed records exists';
    await expect(w.plan(desired, { selection: { targets, labels: {} } })).rejects.toThrow(none);
    await expect(w.apply(desired)).rejects.toThrow(none);
    await expect(w.apply(desired, { allowRecreate: ['all'] })).rejects.toThrow(none);
    expect(w.writes).toEqual([]);
    const two = await w.plan(desired, { selection: { targets: targets.slice(1), labels: {} } });
    expect(actionsIn(two)).toEqual(['blocked Agent/b', 'blocked Agent/c']);
    await w.apply(desired, { allowRecreate: ['all'], evenIfAll: true });
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('is read again before another one is created', async () => {
    const { w, id } = await without('Agent/b');
    const plan = await w.plan(desired, { allowRecreate: ['all'] });
    const report = await w.apply(desired, { allowRecreate: ['all'], between: () => showAgain(w, id) });
    expect(outcomes(report)['Agent/b']).toContain(`${id}, the record of Agent/b, is back on the platform`);
    await expect(w.applySaved(plan)).rejects.toThrow('the plan is stale');
    expect(w.writes).toEqual([]);
  });

  describe.each([
    { reason: 'forgotten', replace: false },
    { reason: 'replaced', replace: true },
  ])('of a number that was $reason', ({ reason, replace }) => {
    const unchanged = agent('s');
    const other = number('m', { number: '0049 301' });

    async function released(): Promise<{ w: Bench; id: string }> {
      const w = await Bench.open();
      const mine = (digits: string) => number('n', { number: digits }, { mayReplace: replace });
      await w.apply([unchanged, mine('+49 301')]);
      const id = await w.idOf('PhoneNumber/n');
      await w.apply(replace ? [unchanged, mine('+49 302')] : [unchanged]);
      expect((await w.state()).orphans).toMatchObject([{ id, reason, natural_key: '49301' }]);
      w.requests();
      return { w, id };
    }

    const resources = replace ? [unchanged, number('n', { number: '+49 302' }), other] : [unchanged, other];

    it('is recognized under another name, and not created twice while lists do not contain it', async () => {
      const { w, id } = await released();
      w.emulator.world.showLater(id, 2);
      const plan = await w.plan(resources);
      expect(at(plan, 'PhoneNumber/m')).toMatchObject({
        action: 'blocked',
        reason: `${id}, a former record of PhoneNumber/n, is missing from the platform`,
      });
      for (let run = 0; run < 3; run += 1) await w.apply(resources);
      expect(await w.idOf('PhoneNumber/m')).toBe(id);
      expect(w.writes).toEqual([]);
    });

    it('is recreated under another name if this is allowed', async () => {
      const { w, id } = await released();
      w.emulator.dashboard.remove('numbers', id);
      const plan = await w.plan(resources, { allowRecreate: ['PhoneNumber/m'] });
      expect(at(plan, 'PhoneNumber/m')).toMatchObject({ action: 'create', recreates: id });
      expect(outcomes(await w.applySaved(plan))).toEqual({ 'PhoneNumber/m': 'done' });
      expect(actionsIn(await w.plan(resources))).toEqual([]);
    });
  });

  it('of a released number does not block another number with its name', async () => {
    const w = await Bench.applied([agent('s'), number('n', { number: '+49301' })]);
    await w.apply([agent('s')]);
    const plan = await w.plan([agent('s'), number('n', { number: '+49302' })]);
    expect(at(plan, 'PhoneNumber/n')).toMatchObject({ action: 'create' });
  });

  it('keeps references to it in sync, and blocks writes that need it', async () => {
    const ann = (role: string) => user('ann', { role, agent_ids: [ref('Agent/b')] });
    const w = await Bench.open();
    w.emulator.dashboard.inviteUser({ email: 'ann@example.com' });
    await w.apply([...desired, ann('member')]);
    // The user still has its id, as with a delayed list.
    w.emulator.world.agents.delete(await w.idOf('Agent/b'));
    w.requests();
    expect(actionsIn(await w.plan([...desired, ann('member')]))).toEqual(['blocked Agent/b']);
    const plan = await w.plan([...desired, ann('admin')]);
    expect(at(plan, 'WorkspaceUser/ann')).toMatchObject({
      action: 'manual',
      steps: [{ action: 'wait_for', address: 'Agent/b', because: 'missing' }],
    });
    await w.apply([...desired, ann('admin')]);
    expect(w.writes).toEqual([]);
    await w.apply([...desired, ann('admin')], { allowRecreate: ['Agent/b'] });
    expect(actionsIn(await w.plan([...desired, ann('admin')]))).toEqual([]);
  });

  it('makes the link of a number wait, without a step that contains its id', async () => {
    const w = await Bench.applied(desired);
    const id = await w.idOf('Agent/b');
    w.emulator.dashboard.remove('agents', id);
    const linked = [...desired, number('n', { number: '+49301', inbound_agent_id: ref('Agent/b') })];
    const waits = { action: 'wait_for', address: 'Agent/b', because: 'missing', path: 'inbound_agent_id' };
    expect(at(await w.plan(linked), 'PhoneNumber/n')).toMatchObject({ action: 'create', steps: [waits] });
    await w.apply(linked);
    expect(at(await w.plan(linked), 'PhoneNumber/n')).toMatchObject({ action: 'manual', steps: [waits] });
    await w.apply(linked, { allowRecreate: ['Agent/b'] });
    const steps = stepTexts(at(await w.plan(linked), 'PhoneNumber/n'))?.join() ?? '';
    expect(steps).toContain(`to Agent/b (${await w.idOf('Agent/b')})`);
    expect(steps).not.toContain(id);
  });

  it('is not recreated while an earlier record is back, which can be imported', async () => {
    const { w, id: old } = await without('Agent/b');
    await w.apply(desired, { allowRecreate: ['Agent/b'] });
    const id = await w.idOf('Agent/b');
    w.emulator.dashboard.remove('agents', id);
    showAgain(w, old);
    w.requests();
    const plan = await w.plan(desired, { allowRecreate: ['all'] });
    expect(at(plan, 'Agent/b').action).toBe('blocked');
    expect(plan.warnings.map((each) => remarkText(each, undefined)).join()).toContain(`voxform import Agent/b ${old}`);
    expect(await w.import('Agent/b', old)).toBe('imported');
    await w.apply(desired);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect((await w.state()).orphans).toMatchObject([{ id, reason: 'gone' }]);
    expect(w.writes.filter((line) => line.startsWith('POST'))).toEqual([]);
  });

  it('does not resolve an unknown create', async () => {
    const { w } = await without('Agent/b');
    w.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'before' } });
    await w.apply(desired, { allowRecreate: ['Agent/b'] });
    expect((await w.state()).pending.size).toBe(1);
    await w.apply(desired, { allowRecreate: ['all'] });
    await w.apply(desired, { allowRecreate: ['all'] });
    expect((await w.state()).pending.size).toBe(1);
    expect(w.emulator.world.agents.size).toBe(2);
  });
});
