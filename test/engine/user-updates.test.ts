import { describe, expect, it } from 'vitest';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, user } from './resources.ts';

/** Returns a user of the workspace with two managed agents. */
async function withAgents() {
  const bench = await Bench.applied([agent('a'), agent('b')]);
  const { id } = bench.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
  const agents = [await bench.idOf('Agent/a'), await bench.idOf('Agent/b')];
  bench.emulator.dashboard.edit('users', id, { agent_ids: agents });
  return { bench, id, agents };
}

const stored = (bench: Bench, id: string) => bench.emulator.world.users.get(id);

describe('an update of a user', () => {
  it('is blocked if it would have to resend a role that cannot be sent', async () => {
    const { bench, id } = await withAgents();
    bench.emulator.dashboard.edit('users', id, { role: 'billing' });
    const desired = [agent('a'), agent('b'), user('ann', { modules: ['analytics'] })];
    const plan = await bench.plan(desired);
    expect(at(plan, 'WorkspaceUser/ann')).toMatchObject({
      action: 'blocked',
      reason: expect.stringContaining('set spec.role'),
    });
    expect(await bench.writesOf(desired)).toEqual([]);
    const withRole = [agent('a'), agent('b'), user('ann', { modules: ['analytics'], role: 'admin' })];
    await bench.apply(withRole);
    expect(stored(bench, id)).toMatchObject({ role: 'admin', modules: ['analytics'] });
  });

  it('is not repeated forever if lists add modules to those that updates return', async () => {
    const bench: Bench = await Bench.open(
      {},
      {
        onRequest: ({ method }) => {
          for (const { id, modules } of method === 'GET' ? bench.emulator.world.users.values() : [])
            bench.emulator.dashboard.edit('users', id, { modules: [...new Set([...modules, 'analytics'])] });
          return undefined;
        },
      },
    );
    bench.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
    const desired = [user('ann', { role: 'admin', modules: ['agents'] })];
    await bench.apply(desired);
    expect(actionsIn(await bench.plan(desired))).toEqual(['update WorkspaceUser/ann']);
    await bench.apply(desired);
    const plan = await bench.plan(desired);
    expect(actionsIn(plan)).toEqual([]);
    expect(plan.warnings.map(({ message }) => message).join()).toContain('modules');
  });

  it('ignores a workspace id that is not a string', async () => {
    const { bench, id } = await withAgents();
    const desired = [agent('a'), agent('b'), user('ann', { role: 'admin' })];
    bench.emulator.faults.add({
      match: { method: 'PUT' },
      fault: { status: 200, commit: true, body: { data: { ...stored(bench, id), role: 'admin', workspace_id: 7 } } },
    });
    expect(outcomes(await bench.apply(desired))).toMatchObject({ 'WorkspaceUser/ann': 'done' });
  });

  it('is blocked if it would have to resend modules that cannot be sent', async () => {
    const { bench, id } = await withAgents();
    bench.emulator.dashboard.edit('users', id, { modules: ['agents', 'billing'] });
    const desired = (spec: object) => [agent('a'), agent('b'), user('ann', { role: 'admin', ...spec })];
    const plan = await bench.plan(desired({}));
    expect(at(plan, 'WorkspaceUser/ann')).toMatchObject({
      action: 'blocked',
      reason: expect.stringContaining('set spec.modules'),
    });
    expect(await bench.writesOf(desired({}))).toEqual([]);
    await bench.apply(desired({ modules: ['agents'] }));
    expect(stored(bench, id)).toMatchObject({ role: 'admin', modules: ['agents'] });
  });

  it('omits ids of missing agents that the manifest does not name, with a warning', async () => {
    const { bench, id, agents } = await withAgents();
    const [kept = '', gone = ''] = agents;
    // Some platforms keep the ids of deleted records.
    bench.emulator.world.agents.delete(gone);
    const desired = [agent('a'), agent('b'), user('ann', { modules: ['analytics'] })];
    const saved = await bench.plan(desired);
    expect(at(saved, 'WorkspaceUser/ann')).toMatchObject({ left_out: { agent_ids: [gone] } });
    expect(saved.warnings).toEqual([
      {
        address: 'WorkspaceUser/ann',
        message: `agent_ids is resent without Agent/b (${gone}): missing from the platform`,
      },
    ]);
    expect(outcomes(await bench.applySaved(saved))).toEqual({ 'WorkspaceUser/ann': 'done' });
    expect(stored(bench, id)).toMatchObject({ agent_ids: [kept], modules: ['analytics'] });
    expect(actionsIn(await bench.plan(desired))).toEqual(['blocked Agent/b']);
  });

  it('is refused in a saved plan that omits an agent that exists again', async () => {
    const { bench, id, agents } = await withAgents();
    const [, gone = ''] = agents;
    const hidden = bench.emulator.world.agents.get(gone);
    if (hidden === undefined) throw new Error('no agent');
    bench.emulator.world.agents.delete(gone);
    const saved = await bench.plan([agent('a'), agent('b'), user('ann', { modules: ['analytics'] })]);
    bench.emulator.world.agents.set(gone, hidden);
    await expect(bench.applySaved(saved)).rejects.toThrow('the plan is stale: WorkspaceUser/ann');
    expect(stored(bench, id)).toMatchObject({ agent_ids: agents });
  });

  it('reads each unmanaged agent once, and omits missing ones', async () => {
    const bench = await Bench.applied([agent('a'), agent('b')]);
    const unmanaged = await bench.client.agents.create({ name: 'Unmanaged' });
    const deleted = await bench.client.agents.create({ name: 'Deleted' });
    const agents = [...bench.emulator.world.agents.keys()];
    const { id } = bench.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
    bench.emulator.dashboard.edit('users', id, { agent_ids: agents });
    bench.emulator.world.agents.delete(deleted.id);
    const desired = (modules: string[]) => [agent('a'), agent('b'), user('ann', { modules })];
    bench.requests();
    const saved = await bench.plan(desired(['analytics']));
    const read = bench.requests().map(({ path }) => path.split('/').at(-1));
    expect(read.filter((each) => each === deleted.id || each === unmanaged.id).sort()).toEqual(
      [deleted.id, unmanaged.id].sort(),
    );
    expect(read).toHaveLength(5);
    expect(at(saved, 'WorkspaceUser/ann').left_out).toEqual({ agent_ids: [deleted.id] });
    expect(saved.warnings).toEqual([
      { address: 'WorkspaceUser/ann', message: `agent_ids is resent without ${deleted.id}: missing from the platform` },
    ]);
    expect(outcomes(await bench.applySaved(saved))).toEqual({ 'WorkspaceUser/ann': 'done' });
    expect(stored(bench, id)?.agent_ids).toEqual(agents.filter((each) => each !== deleted.id));

    bench.emulator.dashboard.edit('users', id, { agent_ids: agents });
    bench.requests();
    expect(actionsIn(await bench.plan(desired(['analytics'])))).toEqual([]);
    expect(bench.requests()).toHaveLength(3);
  });

  it('omits agents that were released and then deleted', async () => {
    const { bench, id, agents } = await withAgents();
    const [kept = '', gone = ''] = agents;
    await bench.apply([agent('a')]);
    bench.emulator.world.agents.delete(gone);
    await bench.apply([agent('a'), user('ann', { modules: ['analytics'] })]);
    expect(stored(bench, id)).toMatchObject({ agent_ids: [kept], modules: ['analytics'] });
  });

  it('omits missing agents also if they are out of scope, and after they were recreated', async () => {
    const { bench, id, agents } = await withAgents();
    const [kept = '', gone = ''] = agents;
    bench.emulator.world.agents.delete(gone);
    const desired = (modules: string[]) => [agent('a'), agent('b'), user('ann', { modules })];
    await bench.apply([agent('a'), agent('b')]);
    const selection = { targets: ['WorkspaceUser/ann'], labels: {} };
    const plan = await bench.plan(desired(['analytics']), { selection });
    expect(at(plan, 'WorkspaceUser/ann').left_out).toEqual({ agent_ids: [gone] });
    await bench.apply([agent('a'), agent('b')], { allowRecreate: ['Agent/b'] });
    await bench.apply(desired(['analytics']));
    expect(stored(bench, id)?.agent_ids).toEqual([kept]);
  });

  it('keeps agents out of scope that exist again', async () => {
    const { bench, agents } = await withAgents();
    const [, gone = ''] = agents;
    const hidden = bench.emulator.world.agents.get(gone);
    if (hidden === undefined) throw new Error('no agent');
    bench.emulator.world.agents.delete(gone);
    const all = [agent('a'), agent('b')];
    await bench.apply(all);
    expect((await bench.state()).resources.get('Agent/b')?.missing_since).toBeDefined();
    bench.emulator.world.agents.set(gone, hidden);
    const selection = { targets: ['WorkspaceUser/ann'], labels: {} };
    const plan = await bench.plan([...all, user('ann', { modules: ['analytics'] })], { selection });
    expect(at(plan, 'WorkspaceUser/ann')).not.toHaveProperty('left_out');
    expect(plan.warnings).toEqual([]);
  });

  it('resends current agents with ignore_drift, without missing ones', async () => {
    const { bench, id, agents } = await withAgents();
    const [kept = '', gone = ''] = agents;
    bench.emulator.world.agents.delete(gone);
    const ignoreDrift = ['agent_ids'];
    const ann = user('ann', { agent_ids: [kept], modules: ['analytics'] }, { ignoreDrift });
    await bench.apply([agent('a'), agent('b'), ann]);
    expect(stored(bench, id)?.agent_ids).toEqual([kept]);
  });
});
