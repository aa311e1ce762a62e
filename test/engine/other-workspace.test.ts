import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { failureOf } from '../state/temporary-state.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, ref, user, webhook } from './resources.ts';

const desired = [agent('a'), number('n', { number: '+4930123' }), webhook('h'), user('ada', { role: 'member' })];

async function applied(): Promise<Bench> {
  const w = await Bench.open();
  w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
  await w.apply(desired);
  w.requests();
  return w;
}

function moveAway(w: Bench, collection: 'agents' | 'numbers' | 'webhooks', id: string): void {
  w.emulator.dashboard.edit(collection, id, { workspace_id: 'ANOTHER' });
}

describe('a record of another workspace', () => {
  it.each([
    ['agents', agent('a', { name: 'A2' })],
    ['numbers', number('n', { number: '+4930123', nickname: 'N2' })],
    ['webhooks', webhook('h', { retries: 9 })],
  ] as const)('among the %s is blocked and not written, and the others are applied', async (collection, changed) => {
    const w = await applied();
    const { address } = changed;
    const id = await w.idOf(address);
    moveAway(w, collection, id);
    const rest = desired.filter((each) => each.address !== address);
    const { plan } = await w.apply([...rest, changed, agent('b')], { allowRecreate: ['all'], allowReplace: [address] });
    expect(at(plan, address)).toMatchObject({
      action: 'blocked',
      reason: `its record ${id} belongs to workspace ANOTHER, not to the selected one`,
    });
    expect(w.writes).toEqual(['POST /api/v1/agents']);
    expect(await w.idOf(address)).toBe(id);
  });

  it('causes a warning in drift, and is not compared', async () => {
    const w = await applied();
    const id = await w.idOf('Webhook/h');
    moveAway(w, 'webhooks', id);
    expect(await w.drift(desired)).toMatchObject({
      summary: { blocked: 0, noop: 3 },
      warnings: [
        { address: 'Webhook/h', message: `its record ${id} belongs to workspace ANOTHER, not to the selected one` },
      ],
    });
  });

  it.each(['agents', 'numbers'] as const)(
    'among the %s is neither adopted by its id nor imported',
    async (collection) => {
      const w = await applied();
      const { id } =
        collection === 'agents'
          ? await w.client.agents.create({ name: 'x' })
          : await w.client.numbers.create({ number: '+49301' });
      moveAway(w, collection, id);
      const named = collection === 'agents' ? agent('x', {}, { id }) : number('x', { number: '+49301' }, { id });
      w.requests();
      const { plan } = await w.apply([...desired, named]);
      expect(at(plan, named.address)).toMatchObject({
        action: 'blocked',
        reason: expect.stringContaining('belongs to workspace ANOTHER'),
      });
      expect(w.writes).toEqual([]);
      expect((await failureOf(w.import(named.address, id))).message).toContain('belongs to workspace ANOTHER');
      expect(await w.idOf(named.address)).toBe('');
    },
  );

  it('is not adopted by its natural key, and ignored as a duplicate and as a target of references', async () => {
    const w = await Bench.open({ seesOtherWorkspace: true });
    const base = w.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    const first = await w.client.numbers.create({ number: '+49301' });
    const second = await w.client.numbers.create({ number: '+49302' });
    moveAway(w, 'numbers', second.id);
    const resources = [
      number('first', { number: '+49301' }),
      number('second', { number: '+49302' }),
      agent('a', { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } }),
    ];
    await w.apply(resources);
    expect(await w.idOf('PhoneNumber/first')).toBe(first.id);
    expect(await w.idOf('PhoneNumber/second')).not.toBe(second.id);
    const created = w.emulator.world.agents.get(await w.idOf('Agent/a'));
    expect(created?.llm_config.knowledge_base_ids).toEqual([base.id]);
    expect(actionsIn(await w.plan(resources))).toEqual([]);
  });

  it('stops the run if it is the only record that was read', async () => {
    const w = await Bench.applied([agent('a')]);
    const id = await w.idOf('Agent/a');
    moveAway(w, 'agents', id);
    w.requests();
    const error = await failureOf(w.apply([agent('a', { llm_config: { model: 'm' } }), agent('b')]));
    expect(error).toBeInstanceOf(UserError);
    expect(error.message).toContain(
      `${id} belongs to workspace ANOTHER, but this run is for ${w.emulator.workspaceId}; nothing was written`,
    );
    expect(w.writes).toEqual([]);
  });

  it('stops the run if no record belongs to this workspace', async () => {
    const w = await applied();
    for (const collection of ['agents', 'numbers', 'webhooks'] as const) {
      for (const id of [...w.emulator.world.records[collection].keys()]) moveAway(w, collection, id);
    }
    expect((await failureOf(w.apply([...desired, agent('b')]))).message).toMatch(
      /^each of the 3 records read, such as \w+, belongs to workspace ANOTHER, .*; nothing was written$/,
    );
    expect(w.writes).toEqual([]);
  });

  it('stops the run after the first create that returns it, and its id is kept', async () => {
    const w = await Bench.open();
    const workspace = { name: 'test', id: 'ANOTHER', baseUrl: w.emulator.url };
    const report = await w.apply([agent('a'), agent('b'), agent('c')], { workspace, concurrency: 1 });
    expect([...report.results.values()].map(({ status }) => status)).toEqual(['failed', 'skipped', 'skipped']);
    const outcome = outcomes(report)['Agent/a'];
    expect(outcome).toContain(`in workspace ${w.emulator.workspaceId}`);
    expect(outcome).not.toContain('nothing was written');
    const [id = ''] = w.emulator.world.agents.keys();
    expect(w.emulator.world.agents.size).toBe(1);
    expect([...(await w.state()).resources.keys()]).toEqual(['Agent/a']);
    expect(JSON.stringify((await w.store.read()).document)).toContain(id);
  });
});
