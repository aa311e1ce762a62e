import { describe, expect, it } from 'vitest';
import { call } from '../../emulator/call.ts';
import { failureOf } from '../../state/temporary-state.ts';
import { actionsOf, type Bench, manifest, plannedAt, testBench, writesIn } from './bench.ts';

const manifests = [
  manifest('Agent/a', { name: 'A' }),
  manifest('PhoneNumber/n', { number: '+4930123' }),
  manifest('Webhook/w', { url: 'https://example.com' }),
  manifest('WorkspaceUser/ann', { email: 'ann@example.com', role: 'member' }),
];

async function applied(): Promise<Bench> {
  const bench = await testBench({ manifests });
  bench.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
  await bench.apply();
  return bench;
}

async function idOf(bench: Bench, address: string): Promise<string> {
  return (await bench.state()).resources.get(address)?.id ?? '';
}

/** The id of a record that somebody else made. */
async function posted({ emulator }: Bench, path: string, body: object): Promise<string> {
  const { at } = await call(emulator, ['POST', `/api/v1/${path}`, body]);
  return String(at('data.id'));
}

describe('taking a record in by its id', () => {
  it.each(manifests.map(({ address }) => address))(
    'gives %s back to an address, without a write',
    async (address) => {
      await using bench = await applied();
      const id = await idOf(bench, address);
      expect(await bench.takeIn(address, id)).toBe('already');
      await bench.record({ type: 'forgotten', address });
      bench.requests();
      expect(await bench.takeIn(address, id)).toBe('taken');
      expect(new Set(Object.values(actionsOf(await bench.plan())))).toEqual(new Set(['noop']));
      await bench.apply();
      expect(writesIn(bench.requests())).toEqual([]);
      expect((await bench.state()).resources.get(address)?.recorded).toEqual(
        expect.objectContaining(address === 'Agent/a' ? { name: 'A' } : {}),
      );
    },
  );

  interface Refusal {
    readonly reason: string;
    readonly address: string;
    readonly id: (bench: Bench) => string | Promise<string>;
    readonly message: RegExp;
  }

  it.each<Refusal>([
    {
      reason: 'no agent has the id',
      address: 'Agent/x',
      id: () => 'NOWHERE',
      message: /no Agent with the id NOWHERE/,
    },
    {
      reason: 'no user has the id',
      address: 'WorkspaceUser/x',
      id: () => 'NOWHERE',
      message: /no WorkspaceUser/,
    },
    {
      reason: 'the address holds a record',
      address: 'Agent/a',
      id: () => 'OTHER',
      message: /Agent\/a is already managed/,
    },
    {
      reason: 'another address holds it',
      address: 'PhoneNumber/x',
      id: (bench) => idOf(bench, 'PhoneNumber/n'),
      message: /already managed as PhoneNumber\/n/,
    },
    {
      reason: 'it is a record of another kind',
      address: 'Webhook/x',
      id: (bench) => idOf(bench, 'Agent/a'),
      message: /no Webhook with the id/,
    },
  ])('is refused when $reason', async ({ address, id, message }) => {
    await using bench = await applied();
    const before = await bench.store.read();
    const error = await failureOf(bench.takeIn(address, await id(bench)));
    expect(error).toMatchObject({ name: 'UserError', message: expect.stringMatching(message) });
    expect((await bench.store.read()).document).toEqual(before.document);
  });
});

describe('a record of another workspace', () => {
  it.each([
    ['agents', 'Agent/a', { name: 'A2' }],
    ['numbers', 'PhoneNumber/n', { number: '+4930123', nickname: 'N2' }],
    ['webhooks', 'Webhook/w', { url: 'https://example.com', retries: 9 }],
  ] as const)('among the %s is blocked and not written to; the others go on', async (name, address, spec) => {
    await using bench = await applied();
    const id = await idOf(bench, address);
    bench.emulator.dashboard.edit(name, id, { workspace_id: 'ANOTHER' });
    bench.manifests = [
      ...manifests.filter((each) => each.address !== address),
      manifest(address, spec),
      manifest('Agent/b', { name: 'B' }),
    ];
    bench.requests();
    const { plan } = await bench.apply({ allowRecreate: ['all'], allowReplace: [address] });
    expect(plannedAt(plan, address)).toMatchObject({
      action: 'blocked',
      reason: `its record ${id} belongs to workspace ANOTHER, not to the selected one`,
    });
    expect(writesIn(bench.requests())).toEqual(['POST /api/v1/agents']);
    expect(await idOf(bench, address)).toBe(id);
  });

  it.each([
    ['agents', 'Agent/x', { name: 'X' }],
    ['numbers', 'PhoneNumber/x', { number: '+49301' }],
  ] as const)('among the %s is not adopted by its id', async (name, address, spec) => {
    await using bench = await applied();
    const id = await posted(bench, name, spec);
    bench.emulator.dashboard.edit(name, id, { workspace_id: 'ANOTHER' });
    bench.manifests = [...manifests, manifest(address, spec, { id })];
    bench.requests();
    const { plan } = await bench.apply();
    expect(plannedAt(plan, address)).toMatchObject({
      action: 'blocked',
      reason: expect.stringContaining('belongs to workspace ANOTHER'),
    });
    expect(writesIn(bench.requests())).toEqual([]);
    expect((await failureOf(bench.takeIn(address, id))).message).toContain('belongs to workspace ANOTHER');
  });

  it('is not adopted by its natural key, nor taken for a duplicate or for a name that is referred to', async () => {
    await using bench = await testBench({ behaviour: { seesOtherWorkspace: true } });
    const base = bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    const first = await posted(bench, 'numbers', { number: '+49301' });
    const second = await posted(bench, 'numbers', { number: '+49302' });
    bench.emulator.dashboard.edit('numbers', second, { workspace_id: 'ANOTHER' });
    bench.manifests = [
      manifest('PhoneNumber/first', { number: '+49301' }),
      manifest('PhoneNumber/second', { number: '+49302' }),
      manifest('Agent/a', { llm_config: { knowledge_base_ids: [{ $ref: 'KnowledgeBase/FAQ' }] } }),
    ];
    await bench.apply();
    expect(await idOf(bench, 'PhoneNumber/first')).toBe(first);
    expect(await idOf(bench, 'PhoneNumber/second')).not.toBe(second);
    const agent = bench.emulator.world.agents.get(await idOf(bench, 'Agent/a'));
    expect(agent?.llm_config.knowledge_base_ids).toEqual([base.id]);
    expect(new Set(Object.values(actionsOf(await bench.plan())))).toEqual(new Set(['noop']));
  });

  it('stops everything where no record is of this one', async () => {
    await using bench = await applied();
    for (const name of ['agents', 'numbers', 'webhooks'] as const) {
      for (const id of [...bench.emulator.world.records[name].keys()]) {
        bench.emulator.dashboard.edit(name, id, { workspace_id: 'ANOTHER' });
      }
    }
    bench.manifests = [...manifests, manifest('Agent/b', { name: 'B' })];
    bench.requests();
    expect((await failureOf(bench.apply())).message).toMatch(
      /^each of the 3 records read, such as \w+, belongs to workspace ANOTHER, .*; nothing was written$/,
    );
    expect(writesIn(bench.requests())).toEqual([]);
  });

  it('is not managed after a create that went to the wrong workspace, and stops the rest', async () => {
    await using bench = await testBench({
      manifests: ['a', 'b', 'c'].map((name) => manifest(`Agent/${name}`, { name })),
      onRequest: ({ method }) =>
        method === 'POST'
          ? { status: 201, body: { data: { id: 'X1', name: 'a', workspace_id: 'ANOTHER' } } }
          : undefined,
    });
    const { results } = await bench.apply({ concurrency: 1 });
    expect([...results.values()].map(({ status }) => status)).toEqual(['failed', 'skipped', 'skipped']);
    // Its id is kept: nobody else remembers it.
    expect(JSON.stringify((await bench.store.read()).document)).toContain('X1');
  });
});
