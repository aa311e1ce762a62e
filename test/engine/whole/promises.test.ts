import { describe, expect, it } from 'vitest';
import { failureOf } from '../../state/temporary-state.ts';
import { actionsOf, manifest, plannedAt, testBench, writesIn } from './bench.ts';

describe('what only the dashboard can do', () => {
  it('is a manual step for an e-mail that the workspace lacks, and an adoption once they are invited', async () => {
    await using bench = await testBench({
      manifests: [
        manifest('WorkspaceUser/ann', { email: 'Ann@Example.com', role: 'admin', modules: ['agents'] }),
      ],
    });
    const plan = plannedAt(await bench.plan(), 'WorkspaceUser/ann');
    expect(plan).toMatchObject({ action: 'manual', id: null });
    expect(plan.steps).toEqual(['In the dashboard, invite Ann@Example.com to the workspace.']);
    expect((await bench.apply()).results.size).toBe(0);
    expect(writesIn(bench.requests())).toEqual([]);

    const user = bench.emulator.dashboard.inviteUser({ email: 'ann@example.com' });
    expect(plannedAt(await bench.plan(), 'WorkspaceUser/ann')).toMatchObject({
      action: 'update',
      id: user.id,
      adopted: true,
    });
    await bench.apply();
    expect(bench.emulator.world.users.get(user.id)).toMatchObject({ role: 'admin', modules: ['agents'] });
    expect(actionsOf(await bench.plan())).toEqual({ 'WorkspaceUser/ann': 'noop' });
  });

  it('is adopted without a write where the invited user is as the manifest says', async () => {
    await using bench = await testBench({
      manifests: [manifest('WorkspaceUser/ann', { email: 'ann@example.com', role: 'member' })],
    });
    const { id } = bench.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
    expect(actionsOf(await bench.plan())).toEqual({ 'WorkspaceUser/ann': 'adopt' });
    await bench.apply();
    expect(writesIn(bench.requests())).toEqual([]);
    expect((await bench.state()).resources.get('WorkspaceUser/ann')?.id).toBe(id);
  });

  it('blocks a user without a role whose manifest gives none, and says what to write', async () => {
    await using bench = await testBench({
      manifests: [manifest('WorkspaceUser/ann', { email: 'ann@example.com', modules: ['agents'] })],
    });
    bench.emulator.dashboard.inviteUser({ email: 'ann@example.com' });
    const planned = plannedAt(await bench.plan(), 'WorkspaceUser/ann');
    expect(planned.action).toBe('blocked');
    expect(planned.reason).toContain('spec.role');
  });

  it('keeps a user’s role, modules and agents in every update, desired or else as they are', async () => {
    await using bench = await testBench({
      manifests: [manifest('WorkspaceUser/ann', { email: 'ann@example.com', modules: ['agents'] })],
      behaviour: { put: 'replace' },
    });
    const agent = { id: 'theirs' };
    const { id } = bench.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'developer' });
    bench.emulator.world.agents.set(agent.id, { id: agent.id } as never);
    bench.emulator.dashboard.edit('users', id, { agent_ids: [agent.id] });
    await bench.apply();
    expect(bench.emulator.world.users.get(id)).toMatchObject({
      role: 'developer',
      modules: ['agents'],
      agent_ids: [agent.id],
    });
  });

  it('holds one agent back for a missing knowledge base, and creates it once that is there', async () => {
    await using bench = await testBench({
      manifests: [
        manifest('Agent/a', { llm_config: { knowledge_base_ids: [{ $ref: 'KnowledgeBase/Prices' }] } }),
        manifest('Agent/b', { name: 'B' }),
      ],
    });
    bench.emulator.dashboard.addKnowledgeBase({ name: 'Price' });
    const plan = await bench.plan();
    expect(actionsOf(plan)).toEqual({ 'Agent/a': 'manual', 'Agent/b': 'create' });
    expect(plannedAt(plan, 'Agent/a').steps).toEqual([
      'In the dashboard, add the knowledge base "Prices"; did you mean "Price"?',
    ]);
    await bench.apply();
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'manual', 'Agent/b': 'noop' });
    const base = bench.emulator.dashboard.addKnowledgeBase({ name: 'Prices' });
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'create', 'Agent/b': 'noop' });
    await bench.apply();
    const ids = [...bench.emulator.world.agents.values()].map((each) => each.llm_config.knowledge_base_ids);
    expect(ids).toContainEqual([base.id]);
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop', 'Agent/b': 'noop' });
  });

  it('holds a user back whose agent is missing and waits for a knowledge base itself', async () => {
    const user = manifest('WorkspaceUser/ann', {
      email: 'ann@example.com',
      role: 'member',
      agent_ids: [{ $ref: 'Agent/a' }],
    });
    await using bench = await testBench({ manifests: [manifest('Agent/a', { name: 'A' }), user] });
    bench.emulator.dashboard.inviteUser({ email: 'ann@example.com' });
    await bench.apply();
    bench.emulator.dashboard.remove('agents', (await bench.state()).resources.get('Agent/a')?.id ?? '');
    const knowledge_base_ids = [{ $ref: 'KnowledgeBase/FAQ' }];
    bench.manifests = [manifest('Agent/a', { name: 'A', llm_config: { knowledge_base_ids } }), user];
    const allowed = { allowRecreate: ['Agent/a'] };
    expect(actionsOf(await bench.plan(allowed))).toEqual({
      'Agent/a': 'manual',
      'WorkspaceUser/ann': 'manual',
    });
    expect((await bench.apply(allowed)).results.size).toBe(0);
    bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    expect(actionsOf(await bench.plan(allowed))).toEqual({
      'Agent/a': 'create',
      'WorkspaceUser/ann': 'update',
    });
    await bench.apply(allowed);
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop', 'WorkspaceUser/ann': 'noop' });
  });

  it('refuses a knowledge base name that two share, with both ids', async () => {
    await using bench = await testBench({
      manifests: [
        manifest('Agent/a', { llm_config: { knowledge_base_ids: [{ $ref: 'KnowledgeBase/FAQ' }] } }),
      ],
    });
    const ids = [1, 2].map(() => bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' }).id);
    const error = await failureOf(bench.plan());
    expect(error).toMatchObject({ name: 'UserError' });
    for (const id of ids) expect(error.message).toContain(id);
    expect(error.message).toContain('Agent/a');
  });

  it('tells of a nickname and of links what to do, and sees when it was done', async () => {
    const number = { number: '+4930123456', nickname: 'Old' };
    await using bench = await testBench({
      manifests: [manifest('Agent/a', { name: 'A' }), manifest('PhoneNumber/n', number)],
    });
    await bench.apply();
    const [id = ''] = bench.emulator.world.numbers.keys();
    const [agentId = ''] = bench.emulator.world.agents.keys();
    bench.manifests = [
      manifest('Agent/a', { name: 'A' }),
      manifest('PhoneNumber/n', { ...number, nickname: 'New', inbound_agent_id: { $ref: 'Agent/a' } }),
    ];
    const planned = plannedAt(await bench.plan(), 'PhoneNumber/n');
    expect(planned.action).toBe('manual');
    expect(planned.steps).toEqual([
      `In the dashboard, set the inbound agent of number +4930123456 to Agent/a (${agentId}).`,
      'In the dashboard, rename number +4930123456 to "New".',
    ]);
    expect((await bench.apply()).results.size).toBe(0);
    bench.emulator.dashboard.linkNumber(id, { nickname: 'New' });
    expect(plannedAt(await bench.plan(), 'PhoneNumber/n').steps).toHaveLength(1);
    bench.emulator.dashboard.linkNumber(id, { inbound_agent_id: agentId });
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop', 'PhoneNumber/n': 'noop' });
    await bench.apply();

    bench.emulator.dashboard.linkNumber(id, { nickname: 'Theirs', inbound_agent_id: null });
    const drift = plannedAt(await bench.drift(), 'PhoneNumber/n');
    expect(drift.changes.map(({ path, cause, manual }) => [path, cause, manual])).toEqual([
      ['inbound_agent_id', 'drift', true],
      ['nickname', 'drift', true],
    ]);
  });
});

describe('a record that cannot be changed', () => {
  const url = 'https://example.com/hook';
  const webhook = (spec: object, options = {}) => manifest('Webhook/w', { url, ...spec }, options);

  it('blocks a changed webhook, and replaces it only with permission, the old one becoming an orphan', async () => {
    await using bench = await testBench({ manifests: [webhook({ retries: 1 })] });
    await bench.apply();
    const old = (await bench.state()).resources.get('Webhook/w')?.id ?? '';
    bench.requests();

    bench.manifests = [webhook({ retries: 2 })];
    expect(actionsOf(await bench.plan())).toEqual({ 'Webhook/w': 'blocked' });
    expect((await bench.apply()).results.size).toBe(0);
    expect(writesIn(bench.requests())).toEqual([]);

    expect(actionsOf(await bench.plan({ allowReplace: ['Webhook/w'] }))).toEqual({ 'Webhook/w': 'replace' });
    bench.manifests = [webhook({ retries: 2 }, { mayReplace: true })];
    const report = await bench.apply();
    expect(report.warnings.map(({ message }) => message).join()).toContain(old);
    const { resources, orphans } = await bench.state();
    expect(resources.get('Webhook/w')?.id).not.toBe(old);
    expect(orphans).toMatchObject([{ kind: 'Webhook', id: old, address: 'Webhook/w', reason: 'replaced' }]);
    expect([...bench.emulator.world.webhooks.values()].map(({ retries }) => retries)).toEqual([1, 2]);
    expect(actionsOf(await bench.plan())).toEqual({ 'Webhook/w': 'noop' });
  });

  it('keeps the old webhook under management when the answer to its replacement is lost', async () => {
    await using bench = await testBench({ manifests: [webhook({ retries: 1 })] });
    await bench.apply();
    const old = (await bench.state()).resources.get('Webhook/w')?.id ?? '';
    bench.manifests = [webhook({ retries: 2 }, { mayReplace: true })];
    bench.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
    await bench.apply();
    expect(actionsOf(await bench.plan())).toEqual({ 'Webhook/w': 'unknown' });
    const made = [...bench.emulator.world.webhooks.keys()].find((id) => id !== old) ?? '';
    expect(await bench.takeIn('Webhook/w', made)).toBe('taken');
    expect((await bench.state()).orphans).toMatchObject([{ id: old, reason: 'replaced' }]);
    expect(Object.values(actionsOf(await bench.plan()))).toEqual(['noop']);
  });

  it('forgets what left the manifests, keeps it as an orphan, and never deletes', async () => {
    await using bench = await testBench({ manifests: [webhook({}), manifest('Agent/a', { name: 'A' })] });
    await bench.apply();
    const ids = [...(await bench.state()).resources.values()].map(({ id }) => id);
    bench.manifests = [];
    bench.requests();
    const plan = await bench.plan();
    expect(actionsOf(plan)).toEqual({ 'Agent/a': 'forget', 'Webhook/w': 'forget' });
    expect(plan.resources.map(({ source }) => source)).toEqual([null, null]);
    await bench.apply();
    expect(writesIn(bench.requests())).toEqual([]);
    const { resources, orphans } = await bench.state();
    expect([resources.size, orphans.map(({ id }) => id).sort()]).toEqual([0, ids.sort()]);
    expect((await bench.plan()).resources).toEqual([]);
  });

  it('lifts a resource out of the orphan list when it is taken in again', async () => {
    await using bench = await testBench({ manifests: [manifest('Agent/a', { name: 'A' })] });
    await bench.apply();
    const id = (await bench.state()).resources.get('Agent/a')?.id ?? '';
    bench.manifests = [];
    await bench.apply();
    bench.manifests = [manifest('Agent/again', { name: 'A' }, { id })];
    await bench.apply();
    const { resources, orphans } = await bench.state();
    expect([resources.get('Agent/again')?.id, orphans]).toEqual([id, []]);
  });
});

describe('a create whose answer was lost', () => {
  const manifests = [
    manifest('Agent/a', { name: 'A' }),
    manifest('PhoneNumber/n', { number: '+4930123456' }),
    manifest('Webhook/w', { url: 'https://example.com' }),
  ];

  it.each([
    { cut: 'after' as const, number: 'adopt', reason: 'the list shows the number that was created' },
    { cut: 'before' as const, number: 'unknown', reason: 'the list does not show the number' },
  ])('is unknown, or found by its key: $reason', async ({ cut, number }) => {
    await using bench = await testBench({ manifests });
    bench.emulator.faults.add({ match: { method: 'POST' }, times: 3, fault: { cut } });
    const report = await bench.apply();
    expect([...report.results.values()].map(({ status }) => status)).toEqual(['failed', 'failed', 'failed']);
    expect(writesIn(bench.requests())).toHaveLength(3);
    const expected = { 'Agent/a': 'unknown', 'PhoneNumber/n': number, 'Webhook/w': 'unknown' };
    expect(actionsOf(await bench.plan())).toEqual(expected);
    await bench.apply();
    expect(writesIn(bench.requests())).toEqual([]);
    const rest = { ...expected, 'PhoneNumber/n': number === 'adopt' ? 'noop' : number };
    expect(actionsOf(await bench.plan())).toEqual(rest);
  });

  it('is not unknown where the platform refused it, and is sent again', async () => {
    await using bench = await testBench({ manifests });
    bench.emulator.faults.add({ match: { method: 'POST' }, times: 3, fault: { status: 422, body: {} } });
    await bench.apply();
    expect((await bench.state()).pending.size).toBe(0);
    expect(new Set(Object.values(actionsOf(await bench.plan())))).toEqual(new Set(['create']));
    await bench.apply();
    expect(new Set(Object.values(actionsOf(await bench.plan())))).toEqual(new Set(['noop']));
  });

  it('is created after all once a person says that it did not happen', async () => {
    await using bench = await testBench({ manifests });
    bench.emulator.faults.add({ match: { method: 'POST' }, times: 3, fault: { cut: 'before' } });
    await bench.apply();
    for (const { address } of manifests) await bench.record({ type: 'resolved', address });
    await bench.apply();
    expect(new Set(Object.values(actionsOf(await bench.plan())))).toEqual(new Set(['noop']));
    expect([...bench.emulator.world.agents.keys()]).toHaveLength(1);
  });

  it('is taken in by its id, and brought in line', async () => {
    await using bench = await testBench({ manifests });
    bench.emulator.faults.add({ match: { path: '/api/v1/agents' }, fault: { cut: 'after' } });
    await bench.apply();
    const [id = ''] = bench.emulator.world.agents.keys();
    await bench.takeIn('Agent/a', id);
    await bench.apply();
    expect(new Set(Object.values(actionsOf(await bench.plan())))).toEqual(new Set(['noop']));
    expect([...bench.emulator.world.agents.keys()]).toEqual([id]);
  });

  it('of an update does no harm: the next plan sends it again or finds it done', async () => {
    for (const cut of ['before', 'after'] as const) {
      for (const read of [['llm_config'] as const, []]) {
        await using bench = await testBench({
          manifests: [manifest('Agent/a', { llm_config: { model: 'one' } })],
          behaviour: { shows: { read, update: [] } },
        });
        await bench.apply();
        bench.manifests = [manifest('Agent/a', { llm_config: { model: 'two' } })];
        bench.emulator.faults.add({ match: { method: 'PUT' }, times: 9, fault: { cut } });
        const failed = await bench.apply();
        bench.emulator.faults.clear();
        expect(failed.results.get('Agent/a')?.status).toBe('failed');
        const isSeen = cut === 'after' && read.length > 0;
        expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': isSeen ? 'noop' : 'update' });
        await bench.apply();
        expect([...bench.emulator.world.agents.values()].map((each) => each.llm_config.model)).toEqual([
          'two',
        ]);
        expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });
      }
    }
  });
});

describe('sets', () => {
  it('are the same in any order, in the manifest and on the platform', async () => {
    const ann = (modules: string[]) =>
      manifest('WorkspaceUser/ann', { email: 'ann@example.com', role: 'member', modules });
    await using bench = await testBench({ manifests: [ann(['agents', 'analytics', 'call_history'])] });
    const { id } = bench.emulator.dashboard.inviteUser({ email: 'ann@example.com' });
    await bench.apply();
    bench.manifests = [ann(['call_history', 'agents', 'analytics'])];
    expect(actionsOf(await bench.plan())).toEqual({ 'WorkspaceUser/ann': 'noop' });
    bench.emulator.dashboard.edit('users', id, { modules: ['analytics', 'call_history', 'agents'] });
    expect(actionsOf(await bench.plan())).toEqual({ 'WorkspaceUser/ann': 'noop' });
    bench.emulator.dashboard.edit('users', id, { modules: ['analytics', 'agents'] });
    expect(actionsOf(await bench.plan())).toEqual({ 'WorkspaceUser/ann': 'update' });
  });
});

describe('numbers', () => {
  it('whose create had no clear answer are adopted as soon as the list shows them', async () => {
    await using bench = await testBench({
      manifests: [manifest('PhoneNumber/n', { number: '+49 30 1234' })],
    });
    bench.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
    await bench.apply();
    const { numbers } = bench.emulator.world;
    const [[id, record] = ['', undefined]] = numbers;
    numbers.clear();
    expect(actionsOf(await bench.plan())).toEqual({ 'PhoneNumber/n': 'unknown' });
    if (record !== undefined) numbers.set(id, record);
    expect(plannedAt(await bench.plan(), 'PhoneNumber/n')).toMatchObject({ action: 'adopt', id });
    await bench.apply();
    const { resources, pending } = await bench.state();
    expect([resources.get('PhoneNumber/n')?.id, pending.size]).toEqual([id, 0]);
  });

  it.each([true, false])(
    'are adopted by their digits in another format (numeric: %s)',
    async (numericNumbers) => {
      await using bench = await testBench({ behaviour: { numericNumbers, uniqueNumbers: true } });
      bench.manifests = [manifest('PhoneNumber/there', { number: '(49)30-12345' })];
      await bench.apply();
      bench.manifests = [manifest('PhoneNumber/there', { number: '(49)30-12345' })];
      bench.requests();
      bench.manifests = [manifest('PhoneNumber/n', { number: '+49 30 12345', nickname: 'Front desk' })];
      const planned = plannedAt(await bench.plan(), 'PhoneNumber/n');
      expect(planned).toMatchObject({ previous_address: 'PhoneNumber/there' });
      expect(planned.steps).toEqual([expect.stringContaining('"Front desk"')]);
      await bench.apply();
      expect(writesIn(bench.requests())).toEqual([]);
      expect([...(await bench.state()).resources.keys()]).toEqual(['PhoneNumber/n']);
    },
  );

  it('that exist with another nickname are adopted, and the nickname is left to a person', async () => {
    await using bench = await testBench({
      manifests: [manifest('PhoneNumber/n', { number: '+49 30 12345', nickname: 'Front desk' })],
    });
    const { world } = bench.emulator;
    world.numbers.set('N1', {
      id: 'N1',
      number: '0493012345',
      nickname: 'Theirs',
      inbound_agent_id: null,
      outbound_agent_id: null,
      telephony_trunk_id: 'T',
      telephony_dispatch_id: 'D',
      workspace_id: world.workspaceId,
      created_at: '2030-01-01T00:00:00+00:00',
      updated_at: '2030-01-01T00:00:00+00:00',
    });
    expect(plannedAt(await bench.plan(), 'PhoneNumber/n')).toMatchObject({ action: 'adopt', id: 'N1' });
    await bench.apply();
    expect(actionsOf(await bench.plan())).toEqual({ 'PhoneNumber/n': 'manual' });

    world.numbers.set('N2', { ...world.numbers.get('N1'), id: 'N2', number: '+493012345' } as never);
    bench.manifests = [manifest('PhoneNumber/other', { number: '+49 30 12345' })];
    const error = await failureOf(bench.plan());
    expect(error.message).toMatch(/N1, N2/);
  });
});
