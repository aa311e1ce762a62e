import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { failureOf } from '../state/temporary-state.ts';
import { inDashboard, stepTexts } from '../step-texts.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, ref, user } from './resources.ts';

describe('a manual step', () => {
  it('requests an invitation, after which the user is imported', async () => {
    const w = await Bench.open();
    const desired = [user('ada', { email: 'Ada@example.com', role: 'admin', modules: ['agents'] })];
    expect(at(await w.plan(desired), 'WorkspaceUser/ada')).toMatchObject({
      action: 'manual',
      id: null,
      steps: [inDashboard('In the dashboard, invite Ada@example.com to the workspace.')],
    });
    expect(outcomes(await w.apply(desired))).toEqual({});
    expect(w.writes).toEqual([]);

    const { id } = w.emulator.dashboard.inviteUser({ email: 'ada@Example.com' });
    const planned = at(await w.plan(desired), 'WorkspaceUser/ada');
    expect(planned).toMatchObject({ action: 'update', id, adopted: true });
    expect(outcomes(await w.apply(desired))).toEqual({ 'WorkspaceUser/ada': 'done' });
    expect(w.emulator.world.users.get(id)).toMatchObject({ role: 'admin', modules: ['agents'] });
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('ends for a user who was removed and invited again with another id', async () => {
    const w = await Bench.open();
    const desired = [user('ada', { role: 'admin' })];
    const { id } = w.emulator.dashboard.inviteUser({ email: 'ada@example.com' });
    await w.apply(desired);
    w.emulator.dashboard.remove('users', id);
    expect(at(await w.plan(desired), 'WorkspaceUser/ada').action).toBe('manual');
    const again = w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    const plan = await w.plan(desired);
    expect(at(plan, 'WorkspaceUser/ada')).toMatchObject({ action: 'update', adopted: true, id: again.id });
    expect(actionsIn(await w.drift(desired))).toEqual(['update WorkspaceUser/ada']);
    expect(outcomes(await w.apply(desired))).toEqual({ 'WorkspaceUser/ada': 'done' });
    const state = await w.state();
    expect(state.resources.get('WorkspaceUser/ada')?.id).toBe(again.id);
    expect(state.orphans).toMatchObject([{ id, reason: 'gone' }]);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('waits for resources outside the run, and ends once the state has them', async () => {
    const w = await Bench.open();
    w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    const desired = [agent('a'), user('ada', { role: 'member', agent_ids: [ref('Agent/a')] })];
    const selection = { targets: ['WorkspaceUser/ada'], labels: {}, alone: true };
    const plan = await w.plan(desired, { selection });
    expect(actionsIn(plan)).toEqual(['manual WorkspaceUser/ada']);
    expect(stepTexts(at(plan, 'WorkspaceUser/ada'))).toEqual([
      'Waits for Agent/a, which has no record yet and is not part of this run.',
    ]);
    await w.apply(desired, { selection: { ...selection, targets: ['Agent/a'] } });
    expect(outcomes(await w.apply(desired, { selection }))).toEqual({ 'WorkspaceUser/ada': 'done' });
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('waits for a knowledge base, together with dependents of the agent', async () => {
    const w = await Bench.open();
    w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
    w.emulator.dashboard.addKnowledgeBase({ name: 'FAQs' });
    const desired = [
      agent('a', { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } }),
      agent('b'),
      user('ada', { role: 'member', agent_ids: [ref('Agent/a')] }),
    ];
    const plan = await w.plan(desired);
    expect(actionsIn(plan)).toEqual(['manual Agent/a', 'create Agent/b', 'manual WorkspaceUser/ada']);
    expect(stepTexts(at(plan, 'Agent/a'))).toEqual([
      'In the dashboard, add the knowledge base "FAQ"; did you mean "FAQs"?',
    ]);
    expect(outcomes(await w.apply(desired))).toEqual({ 'Agent/b': 'done' });
    expect(actionsIn(await w.plan(desired))).toEqual(['manual Agent/a', 'manual WorkspaceUser/ada']);
    const base = w.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    expect(actionsIn(await w.plan(desired))).toEqual(['create Agent/a', 'update WorkspaceUser/ada']);
    expect(outcomes(await w.apply(desired))).toEqual({ 'Agent/a': 'done', 'WorkspaceUser/ada': 'done' });
    const created = w.emulator.world.agents.get(await w.idOf('Agent/a'));
    expect(created?.llm_config.knowledge_base_ids).toEqual([base.id]);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('waits for a knowledge base also for a missing agent that may be recreated', async () => {
    const w = await Bench.open();
    w.emulator.dashboard.inviteUser({ email: 'ada@example.com' });
    const ada = user('ada', { role: 'member', agent_ids: [ref('Agent/a')] });
    await w.apply([agent('a'), ada]);
    w.emulator.dashboard.remove('agents', await w.idOf('Agent/a'));
    const desired = [agent('a', { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } }), ada];
    const allowed = { allowRecreate: ['Agent/a'] };
    expect(actionsIn(await w.plan(desired, allowed))).toEqual(['manual Agent/a', 'manual WorkspaceUser/ada']);
    expect(outcomes(await w.apply(desired, allowed))).toEqual({});
    w.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    expect(actionsIn(await w.plan(desired, allowed))).toEqual(['create Agent/a', 'update WorkspaceUser/ada']);
    await w.apply(desired, allowed);
    expect(actionsIn(await w.plan(desired))).toEqual([]);
  });

  it('requests a nickname and links, and ends once they are set', async () => {
    const w = await Bench.open();
    const before = [agent('a'), number('n', { number: '+49301', nickname: 'Desk' })];
    await w.apply(before);
    const desired = [
      agent('a'),
      number('n', {
        number: '+49301',
        nickname: 'Front desk',
        inbound_agent_id: ref('Agent/a'),
        outbound_agent_id: null,
      }),
    ];
    const a = await w.idOf('Agent/a');
    const n = await w.idOf('PhoneNumber/n');
    const planned = at(await w.plan(desired), 'PhoneNumber/n');
    expect(planned.action).toBe('manual');
    expect(stepTexts(planned)).toEqual([
      `In the dashboard, set the inbound agent of number +49301 to Agent/a (${a}).`,
      'In the dashboard, rename number +49301 to "Front desk".',
    ]);
    w.requests();
    expect(outcomes(await w.apply(desired))).toEqual({});
    expect(w.writes).toEqual([]);
    expect(at(await w.plan(desired), 'PhoneNumber/n').action, 'the step is not marked as done').toBe('manual');

    w.emulator.dashboard.linkNumber(n, { nickname: 'Front desk' });
    expect(at(await w.plan(desired), 'PhoneNumber/n').steps).toHaveLength(1);
    w.emulator.dashboard.linkNumber(n, { inbound_agent_id: a });
    expect(actionsIn(await w.plan(desired))).toEqual([]);
    await w.apply(desired);
    w.emulator.dashboard.linkNumber(n, { nickname: 'Theirs', inbound_agent_id: null });
    expect(at(await w.drift(desired), 'PhoneNumber/n').changes).toMatchObject([
      { path: 'inbound_agent_id', cause: 'drift', before: null, after: a, manual: true },
      { path: 'nickname', cause: 'drift', before: 'Theirs', after: 'Front desk', manual: true },
    ]);
  });

  it('is not planned if two records have the digits of one manifest', async () => {
    const w = await Bench.open();
    const one = await w.client.numbers.create({ number: '+49301' });
    const two = await w.client.numbers.create({ number: '49 301' });
    const error = await failureOf(w.plan([number('n', { number: '+49301' })]));
    expect(error).toBeInstanceOf(UserError);
    expect(error.message).toContain(`PhoneNumber/n matches 2 records: ${one.id}, ${two.id}`);
    const desired = [number('n', { number: '+49301' }, { id: two.id })];
    expect(at(await w.plan(desired), 'PhoneNumber/n')).toMatchObject({ action: 'adopt', id: two.id });
  });
});
