import { describe, expect, it } from 'vitest';
import { acceptableValues } from '../../src/runs/accepted-values.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, ref, user } from './resources.ts';

const NUMBER = '+49301234';
const desired = () => [
  agent('a'),
  number('desk', { number: NUMBER, inbound_agent_id: ref('Agent/a') }),
  user('ann', { role: 'member', agent_ids: [ref('Agent/a')] }),
];

/** Returns a number and a user that refer to an agent, all in sync. */
async function referring() {
  const bench = await Bench.open();
  const { id: userId } = bench.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
  await bench.apply(desired());
  const [old = ''] = bench.emulator.world.agents.keys();
  const [numberId = ''] = bench.emulator.world.numbers.keys();
  bench.emulator.dashboard.linkNumber(numberId, { inbound_agent_id: old });
  await bench.apply(desired());
  expect(actionsIn(await bench.plan(desired()))).toEqual([]);
  return { bench, old, userId, numberId };
}

const causes = (changes: readonly { readonly path: string; readonly cause: string }[]) =>
  changes.map(({ path, cause }) => `${path} ${cause}`);

describe('a deleted agent with references', () => {
  const reason = expect.stringContaining('refers to Agent/a, which has a new record');

  it.each([
    { how: 'its ids are removed', delete: (bench: Bench, id: string) => bench.emulator.dashboard.remove('agents', id) },
    { how: 'its ids are kept', delete: (bench: Bench, id: string) => bench.emulator.world.agents.delete(id) },
  ])('causes drift instead of a change of the manifest: $how', async ({ delete: remove }) => {
    const { bench, old, userId } = await referring();
    remove(bench, old);
    const options = { allowRecreate: ['Agent/a'] };
    const plan = await bench.plan(desired(), options);
    expect(at(plan, 'WorkspaceUser/ann')).toMatchObject({ action: 'update', reason });
    expect(causes(at(plan, 'WorkspaceUser/ann').changes)).toEqual(['agent_ids drift']);
    expect(at(plan, 'PhoneNumber/desk')).toMatchObject({ action: 'manual', reason });
    expect(causes(at(plan, 'PhoneNumber/desk').changes)).toEqual(['inbound_agent_id drift']);

    expect(outcomes(await bench.applySaved(plan))).toEqual({ 'Agent/a': 'done', 'WorkspaceUser/ann': 'done' });
    const [id = ''] = bench.emulator.world.agents.keys();
    expect(bench.emulator.world.users.get(userId)?.agent_ids).toEqual([id]);
    const next = at(await bench.plan(desired()), 'PhoneNumber/desk');
    expect(next).toMatchObject({ action: 'manual', reason, changes: [{ referents: ['Agent/a'] }] });
    expect(causes(next.changes)).toEqual(['inbound_agent_id drift']);
  });

  it('causes a change of the manifest if that refers to another agent now', async () => {
    const { bench, old } = await referring();
    bench.emulator.dashboard.remove('agents', old);
    const moved = [...desired().slice(0, 2), agent('b'), user('ann', { role: 'member', agent_ids: [ref('Agent/b')] })];
    const plan = await bench.plan(moved, { allowRecreate: ['Agent/a'] });
    expect(causes(at(plan, 'WorkspaceUser/ann').changes)).toEqual(['agent_ids both']);
  });

  it('causes drift that cannot be accepted into the manifest', async () => {
    const { bench, old } = await referring();
    bench.emulator.dashboard.remove('agents', old);
    await bench.apply(desired(), { allowRecreate: ['Agent/a'] });
    const drift = await bench.drift(desired());
    expect(actionsIn(drift)).toEqual(['manual PhoneNumber/desk']);
    expect(acceptableValues(drift, [])).toMatchObject({
      wanted: [],
      refused: [{ address: 'PhoneNumber/desk', why: expect.stringContaining('Agent/a') }],
    });
  });
});
