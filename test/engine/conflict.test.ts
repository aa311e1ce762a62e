import { expect, it } from 'vitest';
import { agent, number, webhook } from './resources.ts';
import { actionsIn, at, outcomes, Workspace } from './workspace.ts';

const CONFLICT = { status: 409, body: { message: 'exists already' } };
const desired = [number('n', { number: '+49 301', nickname: 'Desk' })];
const address = 'PhoneNumber/n';

it('a create answered 409 that an earlier copy of it did is found by its natural key', async () => {
  const w = await Workspace.open();
  w.emulator.faults.add({ match: { method: 'POST' }, fault: { ...CONFLICT, commit: true } });
  const reads = () => w.emulator.requests.filter(({ method }) => method === 'GET').length;
  const report = await w.apply(desired);
  const [id] = w.emulator.world.numbers.keys();
  expect(report.results.get(address)).toEqual({ status: 'done', id });
  expect(reads(), 'one more than the plan').toBe(2);
  const { pending, resources } = await w.state();
  expect([pending.size, resources.get(address)?.id, resources.get(address)?.adopted]).toEqual([
    0,
    id,
    undefined,
  ]);
  expect(actionsIn(await w.plan(desired))).toEqual([]);
});

it.each([
  ['where the list does not show it', {}],
  ['after a 429', { throttled: true }],
])(
  'a create answered 409 stays unknown %s, until the list shows it',
  async (_, { throttled = false }: { throttled?: boolean }) => {
    const w = await Workspace.open();
    if (throttled) w.emulator.faults.add({ match: { method: 'POST' }, fault: { status: 429 } });
    w.emulator.faults.add({ match: { method: 'POST' }, fault: CONFLICT });
    expect(outcomes(await w.apply(desired))[address]).toMatch(/409 exists already.*it may have succeeded/);
    expect(at(await w.plan(desired), address).action).toBe('unknown');
    await w.client.numbers.create({ number: '+49301', nickname: 'Desk' });
    expect(at(await w.plan(desired), address).action).toBe('adopt');
    await w.apply(desired);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    expect(w.emulator.world.numbers.size).toBe(1);
  },
);

it('a record with the same key and other values is left to the next plan, which compares it', async () => {
  const w = await Workspace.open();
  const planned = await w.reconcile(desired);
  await w.client.numbers.create({ number: '+49301', nickname: "Somebody's" });
  w.emulator.faults.add({ match: { method: 'POST' }, fault: CONFLICT });
  const session = await w.session();
  const report = await w.carryOut(planned, session);
  await session.close();
  expect(outcomes(report)[address]).toContain('409');
  expect((await w.state()).pending.has(address)).toBe(true);
  expect(at(await w.plan(desired), address)).toMatchObject({
    action: 'adopt',
    steps: [expect.stringContaining('rename')],
  });
});

it.each([
  ['Agent/a', [agent('a')]],
  ['Webhook/h', [webhook('h')]],
] as const)(
  'a create of %s answered 409 is unknown, because nothing lists such records',
  async (at, resources) => {
    const w = await Workspace.open();
    w.emulator.faults.add({ match: { method: 'POST' }, fault: { ...CONFLICT, commit: true } });
    await w.apply(resources);
    expect([...(await w.state()).pending.keys()]).toEqual([at]);
  },
);

it.each([400, 422])('a create answered %i was not done', async (status) => {
  const w = await Workspace.open();
  w.emulator.faults.add({ match: { method: 'POST' }, fault: { status } });
  await w.apply(desired);
  expect((await w.state()).pending.size).toBe(0);
});

it('an update answered 409 was not done', async () => {
  const w = await Workspace.open();
  await w.apply([agent('a', { llm_config: { model: 'm' } })]);
  w.emulator.faults.add({ match: { method: 'PUT' }, fault: CONFLICT });
  const report = await w.apply([agent('a', { llm_config: { model: 'n' } })]);
  expect(outcomes(report)['Agent/a']).not.toContain('may have succeeded');
});
