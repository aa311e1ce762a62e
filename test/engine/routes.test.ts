import { describe, expect, it } from 'vitest';
import type { Resource } from '../../src/manifests/resource.ts';
import { actionsIn, at, Bench, outcomes, reread } from './bench.ts';
import { agent, number, ref, secret } from './resources.ts';

const talking = (temperature: number) => agent('a', { llm_config: { temperature } });

/** Returns an applied agent, and this number of undeclared numbers with an inbound link to it. */
async function reached(numbers: number): Promise<{ bench: Bench; id: string; linked: string[] }> {
  const bench = await Bench.applied([talking(0.1), agent('other')]);
  const id = await bench.idOf('Agent/a');
  const linked: string[] = [];
  for (let index = 0; index < numbers; index++) {
    const created = await bench.client.numbers.create({ number: `+4930${100 + index}`, nickname: `Desk ${index}` });
    bench.emulator.dashboard.linkNumber(created.id, { inbound_agent_id: id });
    linked.push(created.id);
  }
  bench.requests();
  return { bench, id, linked };
}

function listings(bench: Bench): string[] {
  return bench.emulator.requests.flatMap(({ path }) => (/^\/api\/v1\/numbers\b/.test(path) ? [path] : []));
}

describe('the routes to a changed record', () => {
  it('are read once from every page of the list, with their directions', async () => {
    const { bench, id, linked } = await reached(101);
    bench.emulator.dashboard.linkNumber(linked[0] ?? '', { inbound_agent_id: id, outbound_agent_id: id });
    const plan = await bench.plan([talking(0.2), agent('other')], { routes: true });
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
    expect(listings(bench)).toHaveLength(2);
    expect(new Set(listings(bench)).size).toBe(2);
    expect(bench.emulator.requests, 'two agents and two pages').toHaveLength(4);
  });

  it('are not read without changes or without the option', async () => {
    const { bench } = await reached(1);
    await bench.plan([talking(0.1), agent('other')], { routes: true });
    await bench.plan([talking(0.2), agent('other')]);
    await bench.plan([talking(0.1), agent('other'), agent('new')], { routes: true });
    expect(listings(bench)).toEqual([]);
  });

  it('are taken from a list that the plan has read', async () => {
    const { bench, linked } = await reached(1);
    const desired = [talking(0.2), agent('other'), number('desk', { number: '+4930100', nickname: 'Desk 0' })];
    const plan = await bench.plan(desired, { routes: true });
    expect(at(plan, 'Agent/a').routes).toMatchObject([{ id: linked[0], address: 'PhoneNumber/desk' }]);
    expect(listings(bench)).toHaveLength(1);
  });

  it('include links that a manual step will move', async () => {
    const { bench, linked } = await reached(1);
    const desired = [
      talking(0.1),
      agent('other'),
      number('desk', { number: '+4930100', inbound_agent_id: ref('Agent/other') }),
      number('new', { number: '+4930999', inbound_agent_id: ref('Agent/other') }),
    ];
    const plan = await bench.plan(desired, { routes: true });
    const desk = { id: linked[0], address: 'PhoneNumber/desk' };
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop' });
    expect(at(plan, 'Agent/a').routes).toMatchObject([{ ...desk, ways: ['inbound'], leaving: ['inbound'] }]);
    expect(at(plan, 'Agent/other').routes).toMatchObject([
      { ...desk, ways: [], coming: ['inbound'] },
      { id: null, address: 'PhoneNumber/new', label: '+4930999', ways: [], coming: ['inbound'] },
    ]);
  });

  it('are not known without a refresh', async () => {
    const { bench } = await reached(1);
    const plan = await bench.plan([talking(0.2), agent('other')], { routes: true, refresh: false });
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'update' });
    expect(at(plan, 'Agent/a')).not.toHaveProperty('routes');
    expect(plan.warnings.filter(({ address }) => address === null)).toEqual([
      { address: null, message: expect.stringContaining('not known: a plan without refresh does not read them') },
    ]);
    expect(listings(bench)).toEqual([]);
  });

  it('are the numbers of the agent itself if the list is refused', async () => {
    const { bench, id, linked } = await reached(2);
    const refused = { match: { method: 'GET', path: '/api/v1/numbers' }, fault: { status: 403 } } as const;
    const refusedPlan = async () => {
      bench.emulator.faults.add(refused);
      return bench.plan([talking(0.2), agent('other')], { routes: true });
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
    bench.emulator.faults.add({ match: { method: 'GET', pattern: `/agents/${id}` }, fault: { status: 200, body } });
    const bare = await refusedPlan();
    expect(at(bare, 'Agent/a').routes?.map(({ id, label }) => [id, label])).toEqual([
      [null, '+4930100'],
      [null, '4930101'],
    ]);
    const hiding = { data: { id } };
    bench.emulator.faults.add({
      match: { method: 'GET', pattern: `/agents/${id}` },
      fault: { status: 200, body: hiding },
    });
    const hidden = await refusedPlan();
    expect(at(hidden, 'Agent/a')).not.toHaveProperty('routes');
    expect(ofNumbers(hidden)).toEqual([
      'the phone numbers that use the changed resources are not known: reading them failed (GET /api/v1/numbers?per_page=100: answered 403)',
    ]);
  });

  it('contain no field that is secret in a manifest or in the state', async () => {
    const { bench } = await reached(2);
    const hidden = number('desk', { number: '+4930100', nickname: secret('KEY', 'Desk 0') });
    const open = number('desk', { number: '+4930100', nickname: 'Desk 0' });
    const labels = async (desk: Resource) => {
      const plan = await bench.plan([talking(0.2), agent('other'), desk], { routes: true });
      expect(JSON.stringify(plan)).not.toContain('Desk 0');
      return at(plan, 'Agent/a').routes?.map(({ label }) => label);
    };
    bench.secrets.KEY = 'Desk 0';
    expect(await labels(hidden), 'before it is adopted').toEqual(['+4930100', '+4930101 (Desk 1)']);
    await bench.apply([talking(0.1), agent('other'), hidden]);
    expect(await labels(hidden)).toEqual(['+4930100', '+4930101 (Desk 1)']);
    expect((await bench.plan([talking(0.2), agent('other'), open], { routes: true })).resources).toContainEqual(
      expect.objectContaining({ routes: [expect.objectContaining({ label: '+4930100' }), expect.anything()] }),
    );
  });

  it('do not make a saved plan stale, and are not read again for it', async () => {
    const { bench, linked } = await reached(1);
    const plan = await bench.plan([talking(0.2), agent('other')], { routes: true });
    expect(at(reread(plan), 'Agent/a').routes).toHaveLength(1);
    bench.emulator.dashboard.linkNumber(linked[0] ?? '', { inbound_agent_id: null });
    bench.requests();
    expect(outcomes(await bench.applySaved(plan))).toEqual({ 'Agent/a': 'done' });
    expect(listings(bench)).toEqual([]);
    expect(actionsIn(await bench.plan([talking(0.2), agent('other')], { routes: true }))).toEqual([]);
  });
});
