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
  const w = await Bench.open();
  const { id: userId } = w.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
  await w.apply(desired());
  const [old = ''] = w.emulator.world.agents.keys();
  const [numberId = ''] = w.emulator.world.numbers.keys();
  w.emulator.dashboard.linkNumber(numberId, { inbound_agent_id: old });
  await w.apply(desired());
  expect(actionsIn(await w.plan(desired()))).toEqual([]);
  return { w, old, userId, numberId };
}

const causes = (changes: readonly { readonly path: string; readonly cause: string }[]) =>
  changes.map(({ path, cause }) => `${path} ${cause}`);

describe('a deleted agent with references', () => {
  const reason = expect.stringContaining('refers to Agent/a, which has a new record');

  it.each([
    { how: 'its ids are removed', delete: (w: Bench, id: string) => w.emulator.dashboard.remove('agents', id) },
    { how: 'its ids are kept', delete: (w: Bench, id: string) => w.emulator.world.agents.delete(id) },
  ])('causes drift instead of a change of the manifest: $how', async ({ delete: remove }) => {
    const { w, old, userId } = await referring();
    remove(w, old);
    const options = { allowRecreate: ['Agent/a'] };
    const plan = await w.plan(desired(), options);
    expect(at(plan, 'WorkspaceUser/ann')).toMatchObject({ action: 'update', reason });
    expect(causes(at(plan, 'WorkspaceUser/ann').changes)).toEqual(['agent_ids drift']);
    expect(at(plan, 'PhoneNumber/desk')).toMatchObject({ action: 'manual', reason });
    expect(causes(at(plan, 'PhoneNumber/desk').changes)).toEqual(['inbound_agent_id drift']);

    expect(outcomes(await w.applySaved(plan))).toEqual({ 'Agent/a': 'done', 'WorkspaceUser/ann': 'done' });
    const [id = ''] = w.emulator.world.agents.keys();
    expect(w.emulator.world.users.get(userId)?.agent_ids).toEqual([id]);
    const next = at(await w.plan(desired()), 'PhoneNumber/desk');
    expect(next).toMatchObject({ action: 'manual', reason, changes: [{ referents: ['Agent/a'] }] });
    expect(causes(next.changes)).toEqual(['inbound_agent_id drift']);
  });

  it('causes a change of the manifest if that refers to another agent now', async () => {
    const { w, old } = await referring();
    w.emulator.dashboard.remove('agents', old);
    const moved = [...desired().slice(0, 2), agent('b'), user('ann', { role: 'member', agent_ids: [ref('Agent/b')] })];
    const plan = await w.plan(moved, { allowRecreate: ['Agent/a'] });
    expect(causes(at(plan, 'WorkspaceUser/ann').changes)).toEqual(['agent_ids both']);
  });

  it('causes drift that cannot be accepted into the manifest', async () => {
    const { w, old } = await referring();
    w.emulator.dashboard.remove('agents', old);
    await w.apply(desired(), { allowRecreate: ['Agent/a'] });
    const drift = await w.drift(desired());
    expect(actionsIn(drift)).toEqual(['manual PhoneNumber/desk']);
    expect(acceptableValues(drift, [])).toMatchObject({
      wanted: [],
      refused: [{ address: 'PhoneNumber/desk', why: expect.stringContaining('Agent/a') }],
    });
  });
});
