import { expect, it } from 'vitest';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, webhook } from './resources.ts';

const CONFLICT = { status: 409, body: { message: 'exists already' } };
const desired = [number('n', { number: '+49 301', nickname: 'Desk' })];
const address = 'PhoneNumber/n';

it('a create with the response 409 is found by its natural key if an earlier copy of it succeeded', async () => {
  const w = await Bench.open();
  w.emulator.faults.add({ match: { method: 'POST' }, fault: { ...CONFLICT, commit: true } });
  const reads = () => w.emulator.requests.filter(({ method }) => method === 'GET').length;
  const report = await w.apply(desired);
  const [id] = w.emulator.world.numbers.keys();
  expect(report.results.get(address)).toEqual({ status: 'done', id });
  expect(reads(), 'one read in addition to the plan').toBe(2);
  const { pending, resources } = await w.state();
  expect([pending.size, resources.get(address)?.id, resources.get(address)?.adopted]).toEqual([0, id, undefined]);
  expect(actionsIn(await w.plan(desired))).toEqual([]);
});

it.each([
  ['if the list does not contain it', {}],
  ['after a 429', { throttled: true }],
])(
  'a create with the response 409 stays unknown %s, until the list contains it',
  async (_, { throttled = false }: { throttled?: boolean }) => {
    const w = await Bench.open();
    if (throttled) w.emulator.faults.add({ match: { method: 'POST' }, fault: { status: 429 } });
    w.emulator.faults.add({ match: { method: 'POST' }, fault: CONFLICT });
    expect(outcomes(await w.apply(desired))[address]).toMatch(/409 exists already.*it may have succeeded/);
    expect(at(await w.plan(desired), address).action).toBe('unknown');
    const { id } = await w.client.numbers.create({ number: '+49301', nickname: 'Desk' });
    expect(at(await w.plan(desired), address)).toMatchObject({ action: 'adopt', id });
    await w.apply(desired);
    expect([(await w.state()).pending.size, await w.idOf(address)]).toEqual([0, id]);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect(w.emulator.world.numbers.size).toBe(1);
  },
);

it('a record with the same key and other values is compared in the next plan', async () => {
  const w = await Bench.open();
  const report = await w.apply(desired, {
    between: async () => {
      await w.client.numbers.create({ number: '+49301', nickname: "Somebody's" });
      w.emulator.faults.add({ match: { method: 'POST' }, fault: CONFLICT });
    },
  });
  expect(outcomes(report)[address]).toContain('409');
  expect((await w.state()).pending.has(address)).toBe(true);
  expect(at(await w.plan(desired), address)).toMatchObject({
    action: 'adopt',
    steps: [{ action: 'dashboard', instruction: expect.stringContaining('rename') }],
  });
});

it.each([
  ['Agent/a', [agent('a')]],
  ['Webhook/h', [webhook('h')]],
] as const)(
  'a create of %s with the response 409 is unknown, because such records cannot be listed',
  async (at, resources) => {
    const w = await Bench.open();
    w.emulator.faults.add({ match: { method: 'POST' }, fault: { ...CONFLICT, commit: true } });
    await w.apply(resources);
    expect([...(await w.state()).pending.keys()]).toEqual([at]);
  },
);

it.each([400, 422])('a create with the response %i had no effect', async (status) => {
  const w = await Bench.open();
  const all = [agent('a'), ...desired, webhook('h')];
  w.emulator.faults.add({ match: { method: 'POST' }, times: 3, fault: { status } });
  await w.apply(all);
  expect((await w.state()).pending.size).toBe(0);
  expect(actionsIn(await w.plan(all))).toEqual(['create Agent/a', `create ${address}`, 'create Webhook/h']);
  await w.apply(all);
  expect(actionsIn(await w.plan(all))).toEqual([]);
});

it('an update with the response 409 had no effect', async () => {
  const w = await Bench.applied([agent('a', { llm_config: { model: 'm' } })]);
  w.emulator.faults.add({ match: { method: 'PUT' }, fault: CONFLICT });
  const report = await w.apply([agent('a', { llm_config: { model: 'n' } })]);
  expect(outcomes(report)['Agent/a']).not.toContain('may have succeeded');
});
