import { describe, expect, it } from 'vitest';
import { failureOf } from '../../state/temporary-state.ts';
import { actionsOf, type Bench, manifest, testBench, writesIn } from './bench.ts';

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
      message: /Agent\/a is managed already/,
    },
    {
      reason: 'another address holds it',
      address: 'PhoneNumber/x',
      id: (bench) => idOf(bench, 'PhoneNumber/n'),
      message: /managed already, as PhoneNumber\/n/,
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
  it.each(['agents', 'numbers', 'webhooks', 'knowledge-bases'] as const)(
    'among the %s stops a plan',
    async (name) => {
      await using bench = await applied();
      const base = bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
      const records = bench.emulator.world.records[name] as Map<string, { workspace_id: string }>;
      for (const [id, record] of records) records.set(id, { ...record, workspace_id: 'ANOTHER' });
      bench.manifests = [
        ...manifests,
        manifest('Agent/b', { llm_config: { knowledge_base_ids: [{ $ref: `KnowledgeBase/${base.name}` }] } }),
      ];
      bench.requests();
      expect((await failureOf(bench.apply())).message).toContain('belongs to the workspace ANOTHER');
      expect(writesIn(bench.requests())).toEqual([]);
    },
  );

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
