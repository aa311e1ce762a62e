import { expect, it } from 'vitest';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, webhook } from './resources.ts';

const CONFLICT = { status: 409, body: { message: 'exists already' } };
const desired = [number('n', { number: '+49 301', nickname: 'Desk' })];
const address = 'PhoneNumber/n';

it('a create with the response 409 is found by its natural key if an earlier copy of it succeeded', async () => {
  const bench = await Bench.open();
  bench.emulator.faults.add({ match: { method: 'POST' }, fault: { ...CONFLICT, commit: true } });
  const reads = () => bench.emulator.requests.filter(({ method }) => method === 'GET').length;
  const report = await bench.apply(desired);
  const [id] = bench.emulator.world.numbers.keys();
  expect(report.results.get(address)).toEqual({ status: 'done', id });
  expect(reads(), 'one read in addition to the plan').toBe(2);
  const { pending, resources } = await bench.state();
  expect([pending.size, resources.get(address)?.id, resources.get(address)?.adopted]).toEqual([0, id, undefined]);
  expect(actionsIn(await bench.plan(desired))).toEqual([]);
});

it.each([
  ['if the list does not contain it', {}],
  ['after a 429', { throttled: true }],
])(
  'a create with the response 409 stays unknown %s, until the list contains it',
  async (_, { throttled = false }: { throttled?: boolean }) => {
    const bench = await Bench.open();
    if (throttled) bench.emulator.faults.add({ match: { method: 'POST' }, fault: { status: 429 } });
    bench.emulator.faults.add({ match: { method: 'POST' }, fault: CONFLICT });
    expect(outcomes(await bench.apply(desired))[address]).toMatch(/409 exists already.*it may have succeeded/);
    expect(at(await bench.plan(desired), address).action).toBe('unknown');
    const { id } = await bench.client.numbers.create({ number: '+49301', nickname: 'Desk' });
    expect(at(await bench.plan(desired), address)).toMatchObject({ action: 'adopt', id });
    await bench.apply(desired);
    expect([(await bench.state()).pending.size, await bench.idOf(address)]).toEqual([0, id]);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    expect(bench.emulator.world.numbers.size).toBe(1);
  },
);

it('a record with the same key and other values is compared in the next plan', async () => {
  const bench = await Bench.open();
  const report = await bench.apply(desired, {
    between: async () => {
      await bench.client.numbers.create({ number: '+49301', nickname: "Somebody's" });
      bench.emulator.faults.add({ match: { method: 'POST' }, fault: CONFLICT });
    },
  });
  expect(outcomes(report)[address]).toContain('409');
  expect((await bench.state()).pending.has(address)).toBe(true);
  expect(at(await bench.plan(desired), address)).toMatchObject({
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
    const bench = await Bench.open();
    bench.emulator.faults.add({ match: { method: 'POST' }, fault: { ...CONFLICT, commit: true } });
    await bench.apply(resources);
    expect([...(await bench.state()).pending.keys()]).toEqual([at]);
  },
);

it.each([400, 422])('a create with the response %i had no effect', async (status) => {
  const bench = await Bench.open();
  const all = [agent('a'), ...desired, webhook('h')];
  bench.emulator.faults.add({ match: { method: 'POST' }, times: 3, fault: { status } });
  await bench.apply(all);
  expect((await bench.state()).pending.size).toBe(0);
  expect(actionsIn(await bench.plan(all))).toEqual(['create Agent/a', `create ${address}`, 'create Webhook/h']);
  await bench.apply(all);
  expect(actionsIn(await bench.plan(all))).toEqual([]);
});

it('an update with the response 409 had no effect', async () => {
  const bench = await Bench.applied([agent('a', { llm_config: { model: 'm' } })]);
  bench.emulator.faults.add({ match: { method: 'PUT' }, fault: CONFLICT });
  const report = await bench.apply([agent('a', { llm_config: { model: 'n' } })]);
  expect(outcomes(report)['Agent/a']).not.toContain('may have succeeded');
});
