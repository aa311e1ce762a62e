import { describe, expect, it } from 'vitest';
import type { Resource } from '../../src/manifests/resource.ts';
import { actionsIn, at, Bench, outcomes, reread } from './bench.ts';
import { agent, number, ref, secret } from './resources.ts';

const talking = (temperature: number) => agent('a', { llm_config: { temperature } });

/** Returns an applied agent, and this number of undeclared numbers with an inbound link to it. */
async function reached(numbers: number): Promise<{ w: Bench; id: string; linked: string[] }> {
  const w = await Bench.applied([talking(0.1), agent('other')]);
  const id = await w.idOf('Agent/a');
  const linked: string[] = [];
  for (let index = 0; index < numbers; index++) {
    const created = await w.client.numbers.create({ number: `+4930${100 + index}`, nickname: `Desk ${index}` });
    w.emulator.dashboard.linkNumber(created.id, { inbound_agent_id: id });
    linked.push(created.id);
  }
  w.requests();
  return { w, id, linked };
}

function listings(w: Bench): string[] {
  return w.emulator.requests.flatMap(({ path }) => (/^\/api\/v1\/numbers\b/.test(path) ? [path] : []));
}

describe('the routes to a changed record', () => {
  it('are read once from every page of the list, with their directions', async () => {
    const { w, id, linked } = await reached(101);
    w.emulator.dashboard.linkNumber(linked[0] ?? '', { inbound_agent_id: id, outbound_agent_id: id });
    const plan = await w.plan([talking(0.2), agent('other')], { routes: true });
    const { routes = [] } = at(plan, 'Agent/a');
    expect(routes).toHaveLength(101);
    expect(routes[0]).toEqual({
      kind: 'PhoneNumber',
      id: linked[0],
      address: null,
      label: '+4930100 (Desk 0)',
      ways: ['inbound', 'outbound'],
    });
    expect(at(plan, 'Agent/other')).not.toHaveProperty('routes');
    expect(listings(w)).toHaveLength(2);
    expect(new Set(listings(w)).size).toBe(2);
    expect(w.emulator.requests, 'two agents and two pages').toHaveLength(4);
  });

  it('are not read without changes or without the option', async () => {
    const { w } = await reached(1);
    await w.plan([talking(0.1), agent('other')], { routes: true });
    await w.plan([talking(0.2), agent('other')]);
    await w.plan([talking(0.1), agent('other'), agent('new')], { routes: true });
    expect(listings(w)).toEqual([]);
  });

  it('are taken from a list that the plan has read', async () => {
    const { w, linked } = await reached(1);
    const desired = [talking(0.2), agent('other'), number('desk', { number: '+4930100', nickname: 'Desk 0' })];
    const plan = await w.plan(desired, { routes: true });
    expect(at(plan, 'Agent/a').routes).toMatchObject([{ id: linked[0], address: 'PhoneNumber/desk' }]);
    expect(listings(w)).toHaveLength(1);
  });

  it('include links that a manual step will move', async () => {
    const { w, linked } = await reached(1);
    const desired = [
      talking(0.1),
      agent('other'),
      number('desk', { number: '+4930100', inbound_agent_id: ref('Agent/other') }),
      number('new', { number: '+4930999', inbound_agent_id: ref('Agent/other') }),
    ];
    const plan = await w.plan(desired, { routes: true });
    const desk = { id: linked[0], address: 'PhoneNumber/desk' };
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop' });
    expect(at(plan, 'Agent/a').routes).toMatchObject([{ ...desk, ways: ['inbound'], leaving: ['inbound'] }]);
    expect(at(plan, 'Agent/other').routes).toMatchObject([
      { ...desk, ways: [], coming: ['inbound'] },
      { id: null, address: 'PhoneNumber/new', label: '+4930999', ways: [], coming: ['inbound'] },
    ]);
  });

  it('are not known without a refresh', async () => {
    const { w } = await reached(1);
    const plan = await w.plan([talking(0.2), agent('other')], { routes: true, refresh: false });
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'update' });
    expect(at(plan, 'Agent/a')).not.toHaveProperty('routes');
    expect(plan.warnings.filter(({ address }) => address === null)).toEqual([
      { address: null, message: expect.stringContaining('not known: a plan without refresh does not read them') },
    ]);
    expect(listings(w)).toEqual([]);
  });

  it('are the numbers of the agent itself if the list is refused', async () => {
    const { w, id, linked } = await reached(2);
    const refused = { match: { method: 'GET', path: '/api/v1/numbers' }, fault: { status: 403 } } as const;
    const refusedPlan = async () => {
      w.emulator.faults.add(refused);
      return w.plan([talking(0.2), agent('other')], { routes: true });
    };
    const plan = await refusedPlan();
    const base = { kind: 'PhoneNumber', address: null, ways: ['linked'] };
    expect(at(plan, 'Agent/a').routes).toEqual([
      { ...base, id: linked[0], label: '+4930100 (Desk 0)' },
      { ...base, id: linked[1], label: '+4930101 (Desk 1)' },
    ]);
    const ofNumbers = ({ warnings }: typeof plan) =>
      warnings.flatMap(({ message }) => (message.includes('phone numbers') ? [message] : []));
    expect(ofNumbers(plan)).toEqual([expect.stringMatching(/inbound or outbound.*is not known.*answered 403/)]);
    // The API document does not specify the form of an item.
    const body = { data: { id, numbers: ['+4930100', 4930101, null] } };
    w.emulator.faults.add({ match: { method: 'GET', pattern: `/agents/${id}` }, fault: { status: 200, body } });
    const bare = await refusedPlan();
    expect(at(bare, 'Agent/a').routes?.map(({ id, label }) => [id, label])).toEqual([
      [null, '+4930100'],
      [null, '4930101'],
    ]);
    const hiding = { data: { id } };
    w.emulator.faults.add({ match: { method: 'GET', pattern: `/agents/${id}` }, fault: { status: 200, body: hiding } });
    const hidden = await refusedPlan();
    expect(at(hidden, 'Agent/a')).not.toHaveProperty('routes');
    expect(ofNumbers(hidden)).toEqual([
      'the phone numbers that use the changed resources are not known: reading them failed (GET /api/v1/numbers?per_page=100: answered 403)',
    ]);
  });

  it('contain no field that is secret in a manifest or in the state', async () => {
    const { w } = await reached(2);
    const hidden = number('desk', { number: '+4930100', nickname: secret('KEY', 'Desk 0') });
    const open = number('desk', { number: '+4930100', nickname: 'Desk 0' });
    const labels = async (desk: Resource) => {
      const plan = await w.plan([talking(0.2), agent('other'), desk], { routes: true });
      expect(JSON.stringify(plan)).not.toContain('Desk 0');
      return at(plan, 'Agent/a').routes?.map(({ label }) => label);
    };
    w.secrets.KEY = 'Desk 0';
    expect(await labels(hidden), 'before it is adopted').toEqual(['+4930100', '+4930101 (Desk 1)']);
    await w.apply([talking(0.1), agent('other'), hidden]);
    expect(await labels(hidden)).toEqual(['+4930100', '+4930101 (Desk 1)']);
    expect((await w.plan([talking(0.2), agent('other'), open], { routes: true })).resources).toContainEqual(
      expect.objectContaining({ routes: [expect.objectContaining({ label: '+4930100' }), expect.anything()] }),
    );
  });

  it('do not make a saved plan stale, and are not read again for it', async () => {
    const { w, linked } = await reached(1);
    const plan = await w.plan([talking(0.2), agent('other')], { routes: true });
    expect(at(reread(plan), 'Agent/a').routes).toHaveLength(1);
    w.emulator.dashboard.linkNumber(linked[0] ?? '', { inbound_agent_id: null });
    w.requests();
    expect(outcomes(await w.applySaved(plan))).toEqual({ 'Agent/a': 'done' });
    expect(listings(w)).toEqual([]);
    expect(actionsIn(await w.plan([talking(0.2), agent('other')], { routes: true }))).toEqual([]);
  });
});
