import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { failureOf } from '../state/temporary-state.ts';
import { inDashboard, stepTexts } from '../step-texts.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, ref, user } from './resources.ts';

describe('a manual step', () => {
  it('requests an invitation, after which the user is imported', async () => {
    const bench = await Bench.open();
    const desired = [user('ada', { email: 'Ada@example.com', role: 'admin', modules: ['agents'] })];
    expect(at(await bench.plan(desired), 'WorkspaceUser/ada')).toMatchObject({
      action: 'manual',
      id: null,
      steps: [inDashboard('In the dashboard, invite Ada@example.com to the workspace.')],
    });
    expect(outcomes(await bench.apply(desired))).toEqual({});
    expect(bench.writes).toEqual([]);

    const { id } = bench.emulator.dashboard.inviteUser({ email: 'ada@Example.com' });
    const planned = at(await bench.plan(desired), 'WorkspaceUser/ada');
    expect(planned).toMatchObject({ action: 'update', id, adopted: true });
    expect(outcomes(await bench.apply(desired))).toEqual({ 'WorkspaceUser/ada': 'done' });
    expect(bench.emulator.world.users.get(id)).toMatchObject({ role: 'admin', modules: ['agents'] });
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('ends for a user who was removed and invited again with another id', async () => {
    const bench = await Bench.open();
    const desired = [user('ada', { role: 'admin' })];
    const { id } = bench.emulator.dashboard.inviteUser({ email: 'ada@example.com' });
    await bench.apply(desired);
    bench.emulator.dashboard.remove('users', id);
    expect(at(await bench.plan(desired), 'WorkspaceUser/ada').action).toBe('manual');
    const again = bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    const plan = await bench.plan(desired);
    expect(at(plan, 'WorkspaceUser/ada')).toMatchObject({ action: 'update', adopted: true, id: again.id });
    expect(actionsIn(await bench.drift(desired))).toEqual(['update WorkspaceUser/ada']);
    expect(outcomes(await bench.apply(desired))).toEqual({ 'WorkspaceUser/ada': 'done' });
    const state = await bench.state();
    expect(state.resources.get('WorkspaceUser/ada')?.id).toBe(again.id);
    expect(state.orphans).toMatchObject([{ id, reason: 'gone' }]);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('waits for resources outside the run, and ends once the state has them', async () => {
    const bench = await Bench.open();
    bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    const desired = [agent('a'), user('ada', { role: 'member', agent_ids: [ref('Agent/a')] })];
    const selection = { targets: ['WorkspaceUser/ada'], labels: {}, alone: true };
    const plan = await bench.plan(desired, { selection });
    expect(actionsIn(plan)).toEqual(['manual WorkspaceUser/ada']);
    expect(stepTexts(at(plan, 'WorkspaceUser/ada'))).toEqual([
      'Waits for Agent/a, which has no record yet and is not part of this run.',
    ]);
    await bench.apply(desired, { selection: { ...selection, targets: ['Agent/a'] } });
    expect(outcomes(await bench.apply(desired, { selection }))).toEqual({ 'WorkspaceUser/ada': 'done' });
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('waits for a knowledge base, together with dependents of the agent', async () => {
    const bench = await Bench.open();
    bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQs' });
    const desired = [
      agent('a', { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } }),
      agent('b'),
      user('ada', { role: 'member', agent_ids: [ref('Agent/a')] }),
    ];
    const plan = await bench.plan(desired);
    expect(actionsIn(plan)).toEqual(['manual Agent/a', 'create Agent/b', 'manual WorkspaceUser/ada']);
    expect(stepTexts(at(plan, 'Agent/a'))).toEqual([
      'In the dashboard, add the knowledge base "FAQ"; did you mean "FAQs"?',
    ]);
    expect(outcomes(await bench.apply(desired))).toEqual({ 'Agent/b': 'done' });
    expect(actionsIn(await bench.plan(desired))).toEqual(['manual Agent/a', 'manual WorkspaceUser/ada']);
    const base = bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    expect(actionsIn(await bench.plan(desired))).toEqual(['create Agent/a', 'update WorkspaceUser/ada']);
    expect(outcomes(await bench.apply(desired))).toEqual({ 'Agent/a': 'done', 'WorkspaceUser/ada': 'done' });
    const created = bench.emulator.world.agents.get(await bench.idOf('Agent/a'));
    expect(created?.llm_config.knowledge_base_ids).toEqual([base.id]);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('waits for a knowledge base also for a missing agent that may be recreated', async () => {
    const bench = await Bench.open();
    bench.emulator.dashboard.inviteUser({ email: 'ada@example.com' });
    const ada = user('ada', { role: 'member', agent_ids: [ref('Agent/a')] });
    await bench.apply([agent('a'), ada]);
    bench.emulator.dashboard.remove('agents', await bench.idOf('Agent/a'));
    const desired = [agent('a', { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } }), ada];
    const allowed = { allowRecreate: ['Agent/a'] };
    expect(actionsIn(await bench.plan(desired, allowed))).toEqual(['manual Agent/a', 'manual WorkspaceUser/ada']);
    expect(outcomes(await bench.apply(desired, allowed))).toEqual({});
    bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    expect(actionsIn(await bench.plan(desired, allowed))).toEqual(['create Agent/a', 'update WorkspaceUser/ada']);
    await bench.apply(desired, allowed);
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
  });

  it('requests a nickname and links, and ends once they are set', async () => {
    const bench = await Bench.open();
    const before = [agent('a'), number('n', { number: '+49301', nickname: 'Desk' })];
    await bench.apply(before);
    const desired = [
      agent('a'),
      number('n', {
        number: '+49301',
        nickname: 'Front desk',
        inbound_agent_id: ref('Agent/a'),
        outbound_agent_id: null,
      }),
    ];
    const a = await bench.idOf('Agent/a');
    const n = await bench.idOf('PhoneNumber/n');
    const planned = at(await bench.plan(desired), 'PhoneNumber/n');
    expect(planned.action).toBe('manual');
    expect(stepTexts(planned)).toEqual([
      `In the dashboard, set the inbound agent of number +49301 to Agent/a (${a}).`,
      'In the dashboard, rename number +49301 to "Front desk".',
    ]);
    bench.requests();
    expect(outcomes(await bench.apply(desired))).toEqual({});
    expect(bench.writes).toEqual([]);
    expect(at(await bench.plan(desired), 'PhoneNumber/n').action, 'the step is not marked as done').toBe('manual');

    bench.emulator.dashboard.linkNumber(n, { nickname: 'Front desk' });
    expect(at(await bench.plan(desired), 'PhoneNumber/n').steps).toHaveLength(1);
    bench.emulator.dashboard.linkNumber(n, { inbound_agent_id: a });
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    await bench.apply(desired);
    bench.emulator.dashboard.linkNumber(n, { nickname: 'Theirs', inbound_agent_id: null });
    expect(at(await bench.drift(desired), 'PhoneNumber/n').changes).toMatchObject([
      { path: 'inbound_agent_id', cause: 'drift', before: null, after: a, manual: true },
      { path: 'nickname', cause: 'drift', before: 'Theirs', after: 'Front desk', manual: true },
    ]);
  });

  it('is not planned if two records have the digits of one manifest', async () => {
    const bench = await Bench.open();
    const one = await bench.client.numbers.create({ number: '+49301' });
    const two = await bench.client.numbers.create({ number: '49 301' });
    const error = await failureOf(bench.plan([number('n', { number: '+49301' })]));
    expect(error).toBeInstanceOf(UserError);
    expect(error.message).toContain(`PhoneNumber/n matches 2 records: ${one.id}, ${two.id}`);
    const desired = [number('n', { number: '+49301' }, { id: two.id })];
    expect(at(await bench.plan(desired), 'PhoneNumber/n')).toMatchObject({ action: 'adopt', id: two.id });
  });
});
