import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { failureOf } from '../state/temporary-state.ts';
import { actionsIn, at, Bench, outcomes } from './bench.ts';
import { agent, number, ref, user, webhook } from './resources.ts';

const desired = [agent('a'), number('n', { number: '+4930123' }), webhook('h'), user('ada', { role: 'member' })];

async function applied(): Promise<Bench> {
  const bench = await Bench.open();
  bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'member' });
  await bench.apply(desired);
  bench.requests();
  return bench;
}

function moveAway(bench: Bench, collection: 'agents' | 'numbers' | 'webhooks', id: string): void {
  bench.emulator.dashboard.edit(collection, id, { workspace_id: 'ANOTHER' });
}

describe('a record of another workspace', () => {
  it.each([
    ['agents', agent('a', { name: 'A2' })],
    ['numbers', number('n', { number: '+4930123', nickname: 'N2' })],
    ['webhooks', webhook('h', { retries: 9 })],
  ] as const)('among the %s is blocked and not written, and the others are applied', async (collection, changed) => {
    const bench = await applied();
    const { address } = changed;
    const id = await bench.idOf(address);
    moveAway(bench, collection, id);
    const rest = desired.filter((each) => each.address !== address);
    const { plan } = await bench.apply([...rest, changed, agent('b')], {
      allowRecreate: ['all'],
      allowReplace: [address],
    });
    expect(at(plan, address)).toMatchObject({
      action: 'blocked',
      reason: `its record ${id} belongs to workspace ANOTHER, not to the selected one`,
    });
    expect(bench.writes).toEqual(['POST /api/v1/agents']);
    expect(await bench.idOf(address)).toBe(id);
  });

  it('causes a warning in drift, and is not compared', async () => {
    const bench = await applied();
    const id = await bench.idOf('Webhook/h');
    moveAway(bench, 'webhooks', id);
    expect(await bench.drift(desired)).toMatchObject({
      summary: { blocked: 0, noop: 3 },
      warnings: [
        { address: 'Webhook/h', message: `its record ${id} belongs to workspace ANOTHER, not to the selected one` },
      ],
    });
  });

  it.each(['agents', 'numbers'] as const)(
    'among the %s is neither adopted by its id nor imported',
    async (collection) => {
      const bench = await applied();
      const { id } =
        collection === 'agents'
          ? await bench.client.agents.create({ name: 'x' })
          : await bench.client.numbers.create({ number: '+49301' });
      moveAway(bench, collection, id);
      const named = collection === 'agents' ? agent('x', {}, { id }) : number('x', { number: '+49301' }, { id });
      bench.requests();
      const { plan } = await bench.apply([...desired, named]);
      expect(at(plan, named.address)).toMatchObject({
        action: 'blocked',
        reason: expect.stringContaining('belongs to workspace ANOTHER'),
      });
      expect(bench.writes).toEqual([]);
      expect((await failureOf(bench.import(named.address, id))).message).toContain('belongs to workspace ANOTHER');
      expect(await bench.idOf(named.address)).toBe('');
    },
  );

  it('is not adopted by its natural key, and ignored as a duplicate and as a target of references', async () => {
    const bench = await Bench.open({ seesOtherWorkspace: true });
    const base = bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    const first = await bench.client.numbers.create({ number: '+49301' });
    const second = await bench.client.numbers.create({ number: '+49302' });
    moveAway(bench, 'numbers', second.id);
    const resources = [
      number('first', { number: '+49301' }),
      number('second', { number: '+49302' }),
      agent('a', { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ')] } }),
    ];
    await bench.apply(resources);
    expect(await bench.idOf('PhoneNumber/first')).toBe(first.id);
    expect(await bench.idOf('PhoneNumber/second')).not.toBe(second.id);
    const created = bench.emulator.world.agents.get(await bench.idOf('Agent/a'));
    expect(created?.llm_config.knowledge_base_ids).toEqual([base.id]);
    expect(actionsIn(await bench.plan(resources))).toEqual([]);
  });

  it('stops the run if it is the only record that was read', async () => {
    const bench = await Bench.applied([agent('a')]);
    const id = await bench.idOf('Agent/a');
    moveAway(bench, 'agents', id);
    bench.requests();
    const error = await failureOf(bench.apply([agent('a', { llm_config: { model: 'm' } }), agent('b')]));
    expect(error).toBeInstanceOf(UserError);
    expect(error.message).toContain(
      `${id} belongs to workspace ANOTHER, but this run is for ${bench.emulator.workspaceId}; nothing was written`,
    );
    expect(bench.writes).toEqual([]);
  });

  it('stops the run if no record belongs to this workspace', async () => {
    const bench = await applied();
    for (const collection of ['agents', 'numbers', 'webhooks'] as const) {
      for (const id of [...bench.emulator.world.records[collection].keys()]) moveAway(bench, collection, id);
    }
    expect((await failureOf(bench.apply([...desired, agent('b')]))).message).toMatch(
      /^each of the 3 records read, such as \w+, belongs to workspace ANOTHER, .*; nothing was written$/,
    );
    expect(bench.writes).toEqual([]);
  });

  it('stops the run after the first create that returns it, and its id is kept', async () => {
    const bench = await Bench.open();
    const workspace = { name: 'test', id: 'ANOTHER', baseUrl: bench.emulator.url };
    const report = await bench.apply([agent('a'), agent('b'), agent('c')], { workspace, concurrency: 1 });
    expect([...report.results.values()].map(({ status }) => status)).toEqual(['failed', 'skipped', 'skipped']);
    const outcome = outcomes(report)['Agent/a'];
    expect(outcome).toContain(`in workspace ${bench.emulator.workspaceId}`);
    expect(outcome).not.toContain('nothing was written');
    const [id = ''] = bench.emulator.world.agents.keys();
    expect(bench.emulator.world.agents.size).toBe(1);
    expect([...(await bench.state()).resources.keys()]).toEqual(['Agent/a']);
    expect(JSON.stringify((await bench.store.read()).document)).toContain(id);
  });
});
