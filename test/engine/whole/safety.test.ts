import { describe, expect, it } from 'vitest';
import type { PlanDocument } from '../../../src/engine/plan/plan-document.ts';
import { rememberSlowHashes } from '../../slow-hashes.ts';
import { failureOf } from '../../state/temporary-state.ts';
import { actionsOf, type Bench, manifest, plannedAt, testBench, writesIn } from './bench.ts';

rememberSlowHashes();

const agent = (name: string, spec = {}) => manifest(`Agent/${name}`, { name, ...spec });

async function idOf(bench: Bench, address: string): Promise<string> {
  return (await bench.state()).resources.get(address)?.id ?? '';
}

describe('before the first write', () => {
  it('stops at a record of another workspace', async () => {
    await using bench = await testBench({ manifests: [agent('a')] });
    await bench.apply();
    const { agents } = bench.emulator.world;
    for (const [id, record] of agents) agents.set(id, { ...record, workspace_id: 'ANOTHER' });
    bench.manifests = [agent('a', { llm_config: { model: 'x' } }), agent('b')];
    bench.requests();
    const error = await failureOf(bench.apply());
    expect([error.name, error.message]).toEqual([
      expect.stringMatching(/UserError|ForeignRecord/),
      expect.stringContaining('ANOTHER'),
    ]);
    expect(writesIn(bench.requests())).toEqual([]);
  });

  it('stops when every record of a state of three or more is missing, until that is said to be right', async () => {
    const manifests = [agent('a'), agent('b'), agent('c')];
    await using bench = await testBench({ manifests });
    await bench.apply();
    bench.emulator.world.agents.clear();
    bench.requests();
    expect((await failureOf(bench.apply())).message).toContain(
      'none of the 3 managed records exists any more',
    );
    expect(writesIn(bench.requests())).toEqual([]);
    expect((await failureOf(bench.apply({ allowRecreate: ['all'] }))).message).toContain('none of the 3');
    expect(writesIn(bench.requests())).toEqual([]);
    await bench.apply({ allowRecreate: ['all'], evenIfAll: true });
    expect(new Set(Object.values(actionsOf(await bench.plan())))).toEqual(new Set(['noop']));
  });

  it('creates a single record again that somebody deleted only where that is allowed', async () => {
    await using bench = await testBench({ manifests: [agent('a'), agent('b'), agent('c')] });
    await bench.apply();
    const id = await idOf(bench, 'Agent/b');
    bench.emulator.dashboard.remove('agents', id);
    const planned = plannedAt(await bench.plan(), 'Agent/b');
    expect(planned).toMatchObject({ action: 'blocked', reason: expect.stringContaining('missing') });
    expect(plannedAt(await bench.drift(), 'Agent/b').action).not.toBe('noop');
    bench.requests();
    await bench.apply();
    expect(writesIn(bench.requests())).toEqual([]);
    await bench.apply({ allowRecreate: ['Agent/b'] });
    expect(new Set(Object.values(actionsOf(await bench.plan())))).toEqual(new Set(['noop']));
    expect((await bench.state()).orphans).toMatchObject([{ id, address: 'Agent/b', reason: 'gone' }]);
  });

  it.each([
    { manifests: 10, edited: 6, tripped: true },
    { manifests: 10, edited: 5, tripped: false },
    { manifests: 9, edited: 9, tripped: false },
  ])('guards against large changes: $edited of $manifests', async ({ manifests, edited, tripped }) => {
    const all = Array.from({ length: manifests }, (_, index) => agent(`a${index}`));
    await using bench = await testBench({ manifests: all });
    await bench.apply();
    bench.manifests = all
      .slice(1)
      .map((each, index) => (index < edited - 1 ? { ...each, spec: { name: 'changed' } } : each));
    const { guards } = await bench.plan({ guards: { maxChangedPercent: 50, minResources: 10 } });
    expect(guards.map(({ flag }) => flag)).toEqual(tripped ? ['--allow-large-change'] : []);
  });

  it('guards the owner’s role, and that an owner is left', async () => {
    const ann = (role: string) => manifest('WorkspaceUser/ann', { email: 'ann@example.com', role });
    await using bench = await testBench({ manifests: [ann('member')] });
    bench.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'owner' });
    const { guards } = await bench.plan();
    expect(guards.map(({ flag }) => flag)).toEqual(['--allow-owner-change', '--allow-owner-change']);
    bench.manifests = [ann('owner')];
    expect((await bench.plan()).guards).toEqual([]);
  });

  it('refuses a record that another address holds', async () => {
    await using bench = await testBench({ manifests: [agent('a')] });
    await bench.apply();
    bench.manifests = [agent('a'), { ...agent('b'), id: await idOf(bench, 'Agent/a') }];
    const planned = plannedAt(await bench.plan(), 'Agent/b');
    expect(planned).toMatchObject({ action: 'blocked', reason: expect.stringContaining('Agent/a') });
    expect((await failureOf(bench.takeIn('Agent/b', await idOf(bench, 'Agent/a')))).message).toContain(
      'Agent/a',
    );
  });

  it('blocks a metadata.id that the platform does not have', async () => {
    await using bench = await testBench({ manifests: [{ ...agent('a'), id: 'NOWHERE' }] });
    expect(plannedAt(await bench.plan(), 'Agent/a')).toMatchObject({
      action: 'blocked',
      reason: expect.stringContaining('NOWHERE'),
    });
  });
});

describe('while applying', () => {
  it('starts nothing new once the key is refused', async () => {
    let count = 0;
    await using bench = await testBench({
      manifests: ['a', 'b', 'c', 'd'].map((name) => agent(name)),
      onRequest: ({ method }) => {
        if (method !== 'POST') return undefined;
        count += 1;
        return count === 2 ? { status: 401, body: { message: 'revoked' } } : undefined;
      },
    });
    const report = await bench.apply({ concurrency: 1 });
    expect([...report.results.values()].map(({ status }) => status)).toEqual([
      'done',
      'failed',
      'skipped',
      'skipped',
    ]);
    expect(report.results.get('Agent/d')).toEqual({
      status: 'skipped',
      because: 'the platform refuses the API key',
    });
    expect(actionsOf(await bench.plan())).toMatchObject({ 'Agent/a': 'noop', 'Agent/b': 'create' });
  });

  const dependent = [
    agent('a'),
    agent('b'),
    manifest('WorkspaceUser/ann', {
      email: 'ann@example.com',
      role: 'member',
      agent_ids: [{ $ref: 'Agent/a' }],
    }),
    manifest('WorkspaceUser/bob', {
      email: 'bob@example.com',
      role: 'member',
      agent_ids: [{ $ref: 'Agent/b' }],
    }),
  ];

  it.each([
    { onError: 'continue' as const, rest: 'done' },
    { onError: 'stop' as const, rest: 'skipped' },
  ])('skips what depends on a failure; on error $onError the rest is $rest', async ({ onError, rest }) => {
    await using bench = await testBench({ manifests: dependent });
    for (const name of ['ann', 'bob']) bench.emulator.dashboard.inviteUser({ email: `${name}@example.com` });
    bench.emulator.faults.add({ match: { method: 'POST' }, fault: { status: 422, body: {} } });
    const { results } = await bench.apply({ onError, concurrency: 1 });
    const statuses = Object.fromEntries([...results].map(([address, { status }]) => [address, status]));
    expect(statuses).toEqual({
      'Agent/a': 'failed',
      'Agent/b': rest,
      'WorkspaceUser/ann': 'skipped',
      'WorkspaceUser/bob': rest,
    });
    expect(results.get('WorkspaceUser/ann')).toMatchObject({ because: 'Agent/a failed' });
  });

  it('finishes what is under way when it is interrupted, and lists the rest as skipped', async () => {
    const stop = new AbortController();
    await using bench = await testBench({
      manifests: dependent,
      onRequest: ({ method }) => {
        if (method === 'POST') stop.abort('SIGTERM');
        return undefined;
      },
    });
    const report = await bench.apply({ stop: stop.signal, concurrency: 1 });
    expect(report.interrupted).toBe('SIGTERM');
    expect(report.results.get('Agent/a')?.status).toBe('done');
    expect(report.results.get('Agent/b')).toEqual({
      status: 'skipped',
      because: 'the run was interrupted',
    });
    expect(actionsOf(await bench.plan())).toMatchObject({ 'Agent/a': 'noop', 'Agent/b': 'create' });
  });

  it('looks again before a PUT when the plan is more than a minute old', async () => {
    for (const [seconds, looks] of [
      [60, 0],
      [61, 1],
    ] as const) {
      await using bench = await testBench({ manifests: [agent('a')] });
      await bench.apply();
      bench.manifests = [manifest('Agent/a', { name: 'changed' })];
      bench.requests();
      await bench.apply({
        between: () => {
          bench.now = new Date(bench.now.getTime() + seconds * 1000);
        },
      });
      expect(bench.requests().filter(({ method }) => method === 'GET')).toHaveLength(1 + looks);
    }
  });

  it('leaves a record alone that moved since an old plan', async () => {
    await using bench = await testBench({ manifests: [agent('a')] });
    await bench.apply();
    const id = await idOf(bench, 'Agent/a');
    bench.manifests = [manifest('Agent/a', { name: 'changed' })];
    const report = await bench.apply({
      between: () => {
        bench.now = new Date(bench.now.getTime() + 90_000);
        bench.emulator.dashboard.edit('agents', id, { name: 'theirs' });
      },
    });
    expect(report.results.get('Agent/a')).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('changed since the plan was made'),
    });
    expect(bench.emulator.world.agents.get(id)?.name).toBe('theirs');
    const planned = plannedAt(await bench.plan(), 'Agent/a');
    expect(planned.changes).toMatchObject([{ path: 'name', cause: 'both', before: 'theirs' }]);
  });
});

describe('a saved plan', () => {
  const KEYED = { llm_config: { api_key: { $secret: 'KEY' } } };
  const secrets = { KEY: 'first-secret' };

  it('is applied on an empty state, and once only', async () => {
    await using bench = await testBench({
      manifests: [agent('a', KEYED), manifest('PhoneNumber/n', { number: '+4930123' })],
      secrets,
    });
    const saved = await bench.plan();
    expect(JSON.stringify(saved)).not.toContain('first-secret');
    bench.manifests = [];
    const report = await bench.apply({ saved });
    expect([...report.results.values()].map(({ status }) => status)).toEqual(['done', 'done']);
    expect(bench.emulator.dashboard.holdsApiKey(await idOf(bench, 'Agent/a'), 'first-secret')).toBe(true);
    expect((await failureOf(bench.apply({ saved }))).message).toContain('the plan is stale');
  });

  it.each([true, false])('carries out updates, adoptions and forgetting (refresh: %s)', async (refresh) => {
    await using bench = await testBench({
      manifests: [agent('a', { llm_config: { model: 'one' } }), agent('b'), agent('c')],
    });
    await bench.apply();
    bench.emulator.dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
    bench.manifests = [
      agent('a', { llm_config: { model: 'two' } }),
      manifest('Agent/new', { name: 'b' }, { previousNames: ['b'] }),
      manifest('WorkspaceUser/ann', {
        email: 'ann@example.com',
        role: 'member',
        agent_ids: [{ $ref: 'Agent/a' }],
      }),
    ];
    const saved = await bench.plan({ refresh });
    const report = await bench.apply({ saved });
    expect(Object.fromEntries([...report.results].map(([address, { status }]) => [address, status]))).toEqual(
      {
        'Agent/a': 'done',
        'Agent/c': 'done',
        'WorkspaceUser/ann': 'done',
      },
    );
    await bench.apply();
    expect(new Set(Object.values(actionsOf(await bench.plan())))).toEqual(new Set(['noop']));
    expect((await bench.state()).resources.size).toBe(3);
  });

  interface Refusal {
    readonly reason: string;
    readonly happens: (bench: Bench, saved: PlanDocument) => unknown;
    readonly message: RegExp;
  }

  it.each<Refusal>([
    {
      reason: 'something was applied since',
      happens: (bench) => bench.apply(),
      message: /the plan is stale/,
    },
    {
      reason: 'the secret is another one',
      happens: (bench) => {
        bench.secrets = { KEY: 'second-secret' };
      },
      message: /^KEY changed since/,
    },
    {
      reason: 'the record was edited',
      happens: async (bench) =>
        bench.emulator.dashboard.edit('agents', await idOf(bench, 'Agent/a'), {
          prompt_config: { prompt: 'x' },
        }),
      message: /stale: Agent\/a/,
    },
    {
      reason: 'the record is gone',
      happens: async (bench) => bench.emulator.dashboard.remove('agents', await idOf(bench, 'Agent/a')),
      message: /stale: Agent\/a/,
    },
    {
      reason: 'it is for another workspace',
      happens: (_, saved) => Object.assign(saved, { workspace_id: 'ANOTHER' }),
      message: /for workspace ANOTHER/,
    },
    {
      reason: 'it is of another lineage',
      happens: (_, saved) => Object.assign(saved, { state: { ...saved.state, lineage: 'L2' } }),
      message: /another state/,
    },
    {
      reason: 'a newer version made it',
      happens: (_, saved) => Object.assign(saved, { voxform_version: '1.0.1' }),
      message: /made by voxform 1\.0\.1/,
    },
  ])('is refused before the first write when $reason', async ({ happens, message }) => {
    await using bench = await testBench({ manifests: [agent('a', KEYED), agent('b')], secrets });
    await bench.apply();
    bench.manifests = [agent('a', { ...KEYED, call_config: { ring_duration_ms: 1 } }), agent('b')];
    const saved = structuredClone(await bench.plan()) as PlanDocument;
    await happens(bench, saved);
    bench.requests();
    const error = await failureOf(bench.apply({ saved }));
    expect(error).toMatchObject({ name: 'UserError', message: expect.stringMatching(message) });
    expect(writesIn(bench.requests())).toEqual([]);
    expect((await failureOf(bench.apply({ saved }))).message).not.toMatch(/secret/);
  });
});

describe('requests', () => {
  it('are none where memory stands in for the platform, and one more look before an update', async () => {
    await using bench = await testBench({
      manifests: [
        agent('a', { llm_config: { model: 'one' } }),
        manifest('Webhook/w', { url: 'https://x.example' }),
      ],
    });
    await bench.apply();
    bench.requests();
    await bench.plan({ refresh: false });
    expect(bench.requests()).toEqual([]);
    bench.manifests = [agent('a', { llm_config: { model: 'two' } }), ...bench.manifests.slice(1)];
    await bench.apply({ refresh: false });
    expect(bench.requests().map(({ method }) => method)).toEqual(['GET', 'PUT']);
  });

  it('are one a record, and one a page of what manifests use, none of them twice', async () => {
    const agents = Array.from({ length: 5 }, (_, index) =>
      agent(`a${index}`, { llm_config: { knowledge_base_ids: [{ $ref: 'KnowledgeBase/FAQ' }] } }),
    );
    const numbers = Array.from({ length: 101 }, (_, index) =>
      manifest(`PhoneNumber/n${index}`, { number: `+4930${1000 + index}` }),
    );
    await using bench = await testBench({
      manifests: [...agents, ...numbers, manifest('Webhook/w', { url: 'https://example.com' })],
    });
    bench.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    await bench.plan();
    const reads = bench.requests().length;
    await bench.apply();
    const applied = bench.requests();
    expect(writesIn(applied)).toHaveLength(107);
    expect(applied.length - 107).toBe(reads);

    await bench.plan();
    const paths = bench.requests().map(({ method, path }) => `${method} ${path}`);
    expect(paths).toHaveLength(5 + 1 + 2 + 1);
    expect(new Set(paths).size).toBe(paths.length);
    expect(paths.join()).not.toContain('/users');
  });
});
