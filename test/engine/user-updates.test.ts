import { describe, expect, it } from 'vitest';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, user } from './resources.ts';

/** Returns a user of the workspace with two managed agents. */
async function withAgents() {
  const w = await Bench.applied([agent('a'), agent('b')]);
  const { id } = w.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
  const agents = [await w.idOf('Agent/a'), await w.idOf('Agent/b')];
  w.emulator.dashboard.edit('users', id, { agent_ids: agents });
  return { w, id, agents };
}

const stored = (w: Bench, id: string) => w.emulator.world.users.get(id);

describe('an update of a user', () => {
  it('is blocked if it would have to resend a role that cannot be sent', async () => {
    const { w, id } = await withAgents();
    w.emulator.dashboard.edit('users', id, { role: 'billing' });
    const desired = [agent('a'), agent('b'), user('ann', { modules: ['analytics'] })];
    const plan = await w.plan(desired);
    expect(at(plan, 'WorkspaceUser/ann')).toMatchObject({
      action: 'blocked',
      reason: expect.stringContaining('set spec.role'),
    });
    expect(await w.writesOf(desired)).toEqual([]);
    const withRole = [agent('a'), agent('b'), user('ann', { modules: ['analytics'], role: 'admin' })];
    await w.apply(withRole);
    expect(stored(w, id)).toMatchObject({ role: 'admin', modules: ['analytics'] });
  });

  it('is not repeated forever if lists add modules to those that updates return', async () => {
    const w: Bench = await Bench.open(
      {},
      {
        onRequest: ({ method }) => {
          for (const { id, modules } of method === 'GET' ? w.emulator.world.users.values() : [])
            w.emulator.dashboard.edit('users', id, { modules: [...new Set([...modules, 'analytics'])] });
          return undefined;
        },
      },
    );
    w.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
    const desired = [user('ann', { role: 'admin', modules: ['agents'] })];
    await w.apply(desired);
    expect(actionsIn(await w.plan(desired))).toEqual(['update WorkspaceUser/ann']);
    await w.apply(desired);
    const plan = await w.plan(desired);
    expect(actionsIn(plan)).toEqual([]);
    expect(plan.warnings.map(({ message }) => message).join()).toContain('modules');
  });

  it('ignores a workspace id that is not a string', async () => {
    const { w, id } = await withAgents();
    const desired = [agent('a'), agent('b'), user('ann', { role: 'admin' })];
    w.emulator.faults.add({
      match: { method: 'PUT' },
      fault: { status: 200, commit: true, body: { data: { ...stored(w, id), role: 'admin', workspace_id: 7 } } },
    });
    expect(outcomes(await w.apply(desired))).toMatchObject({ 'WorkspaceUser/ann': 'done' });
  });

  it('is blocked if it would have to resend modules that cannot be sent', async () => {
    const { w, id } = await withAgents();
    w.emulator.dashboard.edit('users', id, { modules: ['agents', 'billing'] });
    const desired = (spec: object) => [agent('a'), agent('b'), user('ann', { role: 'admin', ...spec })];
    const plan = await w.plan(desired({}));
    expect(at(plan, 'WorkspaceUser/ann')).toMatchObject({
      action: 'blocked',
      reason: expect.stringContaining('set spec.modules'),
    });
    expect(await w.writesOf(desired({}))).toEqual([]);
    await w.apply(desired({ modules: ['agents'] }));
    expect(stored(w, id)).toMatchObject({ role: 'admin', modules: ['agents'] });
  });

  it('omits ids of missing agents that the manifest does not name, with a warning', async () => {
    const { w, id, agents } = await withAgents();
    const [kept = '', gone = ''] = agents;
    // Some platforms keep the ids of deleted records.
    w.emulator.world.agents.delete(gone);
    const desired = [agent('a'), agent('b'), user('ann', { modules: ['analytics'] })];
    const saved = await w.plan(desired);
    expect(at(saved, 'WorkspaceUser/ann')).toMatchObject({ left_out: { agent_ids: [gone] } });
    expect(saved.warnings).toEqual([
      {
        address: 'WorkspaceUser/ann',
        message: `agent_ids is resent without Agent/b (${gone}): missing from the platform`,
      },
    ]);
    expect(outcomes(await w.applySaved(saved))).toEqual({ 'WorkspaceUser/ann': 'done' });
    expect(stored(w, id)).toMatchObject({ agent_ids: [kept], modules: ['analytics'] });
    expect(actionsIn(await w.plan(desired))).toEqual(['blocked Agent/b']);
  });

  it('is refused in a saved plan that omits an agent that exists again', async () => {
    const { w, id, agents } = await withAgents();
    const [, gone = ''] = agents;
    const hidden = w.emulator.world.agents.get(gone);
    if (hidden === undefined) throw new Error('no agent');
    w.emulator.world.agents.delete(gone);
    const saved = await w.plan([agent('a'), agent('b'), user('ann', { modules: ['analytics'] })]);
    w.emulator.world.agents.set(gone, hidden);
    await expect(w.applySaved(saved)).rejects.toThrow('the plan is stale: WorkspaceUser/ann');
    expect(stored(w, id)).toMatchObject({ agent_ids: agents });
  });

  it('reads each unmanaged agent once, and omits missing ones', async () => {
    const w = await Bench.applied([agent('a'), agent('b')]);
    const unmanaged = await w.client.agents.create({ name: 'Unmanaged' });
    const deleted = await w.client.agents.create({ name: 'Deleted' });
    const agents = [...w.emulator.world.agents.keys()];
    const { id } = w.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
    w.emulator.dashboard.edit('users', id, { agent_ids: agents });
    w.emulator.world.agents.delete(deleted.id);
    const desired = (modules: string[]) => [agent('a'), agent('b'), user('ann', { modules })];
    w.requests();
    const saved = await w.plan(desired(['analytics']));
    const read = w.requests().map(({ path }) => path.split('/').at(-1));
    expect(read.filter((each) => each === deleted.id || each === unmanaged.id).sort()).toEqual(
      [deleted.id, unmanaged.id].sort(),
    );
    expect(read).toHaveLength(5);
    expect(at(saved, 'WorkspaceUser/ann').left_out).toEqual({ agent_ids: [deleted.id] });
    expect(saved.warnings).toEqual([
      { address: 'WorkspaceUser/ann', message: `agent_ids is resent without ${deleted.id}: missing from the platform` },
    ]);
    expect(outcomes(await w.applySaved(saved))).toEqual({ 'WorkspaceUser/ann': 'done' });
    expect(stored(w, id)?.agent_ids).toEqual(agents.filter((each) => each !== deleted.id));

    w.emulator.dashboard.edit('users', id, { agent_ids: agents });
    w.requests();
    expect(actionsIn(await w.plan(desired(['analytics'])))).toEqual([]);
    expect(w.requests()).toHaveLength(3);
  });

  it('omits agents that were released and then deleted', async () => {
    const { w, id, agents } = await withAgents();
    const [kept = '', gone = ''] = agents;
    await w.apply([agent('a')]);
    w.emulator.world.agents.delete(gone);
    await w.apply([agent('a'), user('ann', { modules: ['analytics'] })]);
    expect(stored(w, id)).toMatchObject({ agent_ids: [kept], modules: ['analytics'] });
  });

  it('omits missing agents also if they are out of scope, and after they were recreated', async () => {
    const { w, id, agents } = await withAgents();
    const [kept = '', gone = ''] = agents;
    w.emulator.world.agents.delete(gone);
    const desired = (modules: string[]) => [agent('a'), agent('b'), user('ann', { modules })];
    await w.apply([agent('a'), agent('b')]);
    const selection = { targets: ['WorkspaceUser/ann'], labels: {} };
    const plan = await w.plan(desired(['analytics']), { selection });
    expect(at(plan, 'WorkspaceUser/ann').left_out).toEqual({ agent_ids: [gone] });
    await w.apply([agent('a'), agent('b')], { allowRecreate: ['Agent/b'] });
    await w.apply(desired(['analytics']));
    expect(stored(w, id)?.agent_ids).toEqual([kept]);
  });

  it('keeps agents out of scope that exist again', async () => {
    const { w, agents } = await withAgents();
    const [, gone = ''] = agents;
    const hidden = w.emulator.world.agents.get(gone);
    if (hidden === undefined) throw new Error('no agent');
    w.emulator.world.agents.delete(gone);
    const all = [agent('a'), agent('b')];
    await w.apply(all);
    expect((await w.state()).resources.get('Agent/b')?.missing_since).toBeDefined();
    w.emulator.world.agents.set(gone, hidden);
    const selection = { targets: ['WorkspaceUser/ann'], labels: {} };
    const plan = await w.plan([...all, user('ann', { modules: ['analytics'] })], { selection });
    expect(at(plan, 'WorkspaceUser/ann')).not.toHaveProperty('left_out');
    expect(plan.warnings).toEqual([]);
  });

  it('resends current agents with ignore_drift, without missing ones', async () => {
    const { w, id, agents } = await withAgents();
    const [kept = '', gone = ''] = agents;
    w.emulator.world.agents.delete(gone);
    const ignoreDrift = ['agent_ids'];
    const ann = user('ann', { agent_ids: [kept], modules: ['analytics'] }, { ignoreDrift });
    await w.apply([agent('a'), agent('b'), ann]);
    expect(stored(w, id)?.agent_ids).toEqual([kept]);
  });
});
