import { describe, expect, it } from 'vitest';
import { actionsOf, type Bench, type Manifest, manifest, plannedAt, testBench, writesIn } from './bench.ts';

const HIDES_ALL = { shows: { read: [], update: [] } };
const agent = (spec: Manifest['spec'], metadata = {}) => manifest('Agent/a', spec, metadata);

async function idOf(bench: Bench): Promise<string> {
  return (await bench.state()).resources.get('Agent/a')?.id ?? '';
}

function stored(bench: Bench) {
  const [record] = bench.emulator.world.agents.values();
  if (record === undefined) throw new Error('there is no agent');
  return record;
}

describe('what reads do not show', () => {
  it('is in sync by memory, and said to be unverified', async () => {
    await using bench = await testBench({
      manifests: [agent({ knowledge_base_config: { chunks_to_retrieve: 3 }, tts_config: { speed: 'fast' } })],
    });
    await bench.apply();
    expect(plannedAt(await bench.plan(), 'Agent/a')).toMatchObject({
      action: 'noop',
      unverified: ['knowledge_base_config.chunks_to_retrieve', 'tts_config.speed'],
    });
    bench.manifests = [
      agent({ knowledge_base_config: { chunks_to_retrieve: 4 }, tts_config: { speed: 'fast' } }),
    ];
    const { changes } = plannedAt(await bench.plan(), 'Agent/a');
    expect(changes).toMatchObject([
      {
        path: 'knowledge_base_config.chunks_to_retrieve',
        before: 3,
        after: 4,
        cause: 'manifest',
        verified: false,
      },
    ]);
  });

  it('and left the manifest is not sent again, and the plan says that it may be reset', async () => {
    await using bench = await testBench({
      manifests: [agent({ llm_config: { model: 'one', region: 'here' } })],
      behaviour: { ...HIDES_ALL, put: 'replace' },
    });
    await bench.apply();
    bench.manifests = [agent({ llm_config: { model: 'two' } })];
    const plan = await bench.plan();
    expect(plannedAt(plan, 'Agent/a').released).toEqual(['llm_config.region']);
    expect(plan.warnings.map(({ message }) => message).join()).toContain(
      'llm_config.region left the manifest',
    );
    await bench.apply();
    expect(stored(bench).llm_config).toEqual({ model: 'two' });
    expect(plannedAt(await bench.plan(), 'Agent/a').released).toBeUndefined();
  });

  it('and was released without another change is let go once, without a write', async () => {
    await using bench = await testBench({
      manifests: [agent({ name: 'A', stt_config: { model: 'x' } })],
      behaviour: HIDES_ALL,
    });
    await bench.apply();
    bench.manifests = [agent({ name: 'A' })];
    expect((await bench.plan()).warnings).toHaveLength(1);
    bench.requests();
    await bench.apply();
    expect(writesIn(bench.requests())).toEqual([]);
    expect((await bench.plan()).warnings).toEqual([]);
  });
});

describe('a provider key', () => {
  const keyed = (name: string) => agent({ name, llm_config: { model: 'm', api_key: { $secret: 'KEY' } } });

  it('is compared by fingerprint alone, and is in no plan, report, state or journal', async () => {
    await using bench = await testBench({
      manifests: [keyed('A')],
      secrets: { KEY: 'sk-first-0001' },
      behaviour: { put: 'replace' },
    });
    const created = await bench.plan();
    await bench.apply();
    expect(bench.emulator.dashboard.holdsApiKey(await idOf(bench), 'sk-first-0001')).toBe(true);
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });

    bench.secrets = { KEY: 'sk-second-0002' };
    const changed = await bench.plan();
    const [change, ...others] = plannedAt(changed, 'Agent/a').changes;
    expect(others).toEqual([]);
    expect(change).toMatchObject({ path: 'llm_config.api_key', cause: 'manifest', sensitive: true });
    expect(change).not.toHaveProperty('before');
    expect(change).not.toHaveProperty('after');
    expect(change?.fingerprints?.before).not.toBe(change?.fingerprints?.after);
    const report = await bench.apply();
    expect(bench.emulator.dashboard.holdsApiKey(await idOf(bench), 'sk-second-0002')).toBe(true);
    expect(stored(bench).llm_config).toEqual({ model: 'm' });
    const everything = [created, changed, [...report.results], report.warnings, await bench.store.read()];
    expect(JSON.stringify(everything)).not.toMatch(/sk-(first|second)/);
  });

  it('goes along whenever its config object is sent, and with nothing else', async () => {
    await using bench = await testBench({
      manifests: [keyed('A')],
      secrets: { KEY: 'sk-first-0001' },
      behaviour: { put: 'replace' },
    });
    await bench.apply();
    bench.manifests = [keyed('B')];
    bench.requests();
    await bench.apply();
    expect(bench.requests().find(({ method }) => method === 'PUT')?.body).toEqual({ name: 'B' });
    bench.emulator.dashboard.edit('agents', await idOf(bench), { llm_config: { model: 'theirs' } });
    await bench.apply();
    expect(stored(bench).llm_config.model).toBe('m');
    expect(bench.emulator.dashboard.holdsApiKey(await idOf(bench), 'sk-first-0001')).toBe(true);
  });

  it('inside a prompt is kept out of everything too, and its drift is seen', async () => {
    const joined = { $join: ['Say ', { $secret: 'KEY' }], separator: '' };
    await using bench = await testBench({
      manifests: [agent({ prompt_config: { prompt: joined } })],
      secrets: { KEY: 'sk-first-0001' },
    });
    const created = await bench.plan();
    await bench.apply();
    expect(stored(bench).prompt_config.prompt).toBe('Say sk-first-0001');
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });
    bench.emulator.dashboard.edit('agents', await idOf(bench), {
      prompt_config: { prompt: 'Say sk-first-0001!' },
    });
    const drift = await bench.drift();
    expect(plannedAt(drift, 'Agent/a').changes).toMatchObject([
      { path: 'prompt_config.prompt', cause: 'drift', sensitive: true },
    ]);
    const everything = [created, drift, await bench.store.read()];
    expect(JSON.stringify(everything)).not.toContain('sk-first-0001');
    await bench.apply();
    expect(stored(bench).prompt_config.prompt).toBe('Say sk-first-0001');
  });
});

describe('a field that others may move', () => {
  const free = (llm_config: Manifest['spec']) =>
    agent({ llm_config }, { ignoreDrift: ['llm_config.temperature'] });

  it.each([
    { read: ['llm_config' as const], kept: 0.9, reason: 'as it is, where it is shown' },
    { read: [], kept: 0.1, reason: 'as recorded, where it is not' },
  ])('is no drift, and goes out with its object $reason', async ({ read, kept }) => {
    await using bench = await testBench({
      manifests: [free({ model: 'one', temperature: 0.1 })],
      behaviour: { shows: { read, update: read }, put: 'replace' },
    });
    await bench.apply();
    expect(stored(bench).llm_config.temperature).toBe(0.1);
    bench.emulator.dashboard.edit('agents', await idOf(bench), { llm_config: { temperature: 0.9 } });
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });
    expect(plannedAt(await bench.drift(), 'Agent/a').action).toBe('noop');

    bench.manifests = [free({ model: 'two', temperature: 0.1 })];
    expect(plannedAt(await bench.plan(), 'Agent/a').changes.map(({ path }) => path)).toEqual([
      'llm_config.model',
    ]);
    await bench.apply();
    expect(stored(bench).llm_config).toEqual({ model: 'two', temperature: kept });
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });

    bench.manifests = [free({ model: 'two', temperature: 0.5 })];
    await bench.apply();
    expect(stored(bench).llm_config).toEqual({ model: 'two', temperature: 0.5 });
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });
  });

  it('may stand for a whole config object', async () => {
    const all = agent({ name: 'A', tts_config: { speed: 'slow' } }, { ignoreDrift: ['tts_config'] });
    await using bench = await testBench({
      manifests: [all],
      behaviour: { shows: { read: ['tts_config'], update: [] } },
    });
    await bench.apply();
    bench.emulator.dashboard.edit('agents', await idOf(bench), { tts_config: { speed: 'fast' } });
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });
    bench.manifests = [{ ...all, ignoreDrift: [] }];
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'update' });
  });
});

describe('a rename', () => {
  it('keeps the record, its memory and what refers to it', async () => {
    const user = (name: string) =>
      manifest('WorkspaceUser/u', {
        email: 'u@example.com',
        role: 'member',
        agent_ids: [{ $ref: `Agent/${name}` }],
      });
    await using bench = await testBench({
      manifests: [agent({ name: 'A' }), user('a')],
      behaviour: HIDES_ALL,
    });
    bench.emulator.dashboard.inviteUser({ email: 'u@example.com' });
    await bench.apply();
    const id = await idOf(bench);
    bench.manifests = [manifest('Agent/b', { name: 'A' }, { previousNames: ['a'] }), user('b')];
    bench.requests();
    const plan = await bench.plan();
    expect(actionsOf(plan)).toEqual({ 'Agent/b': 'noop', 'WorkspaceUser/u': 'noop' });
    expect(plannedAt(plan, 'Agent/b')).toMatchObject({ id, previous_address: 'Agent/a' });
    await bench.apply();
    expect(writesIn(bench.requests())).toEqual([]);
    expect([...(await bench.state()).resources.keys()].sort()).toEqual(['Agent/b', 'WorkspaceUser/u']);
    bench.manifests = [manifest('Agent/b', { name: 'A' }), user('b')];
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/b': 'noop', 'WorkspaceUser/u': 'noop' });
  });

  it('goes together with an edit', async () => {
    await using bench = await testBench({ manifests: [agent({ name: 'A' })] });
    await bench.apply();
    const id = await idOf(bench);
    bench.manifests = [manifest('Agent/b', { name: 'B' }, { previousNames: ['older', 'a'] })];
    await bench.apply();
    const { resources, orphans } = await bench.state();
    expect([resources.get('Agent/b')?.id, resources.size, orphans]).toEqual([id, 1, []]);
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/b': 'noop' });
  });
});

describe('an adoption by metadata.id', () => {
  const there = { name: 'A', llm_config: { model: 'm' }, stt_config: { model: 'theirs', provider: 'p' } };

  interface Case {
    readonly reason: string;
    readonly spec: Manifest['spec'];
    readonly published: 'no' | 'yes' | 'and edited since';
    readonly action: 'adopt' | 'update';
    readonly ahead?: boolean;
    readonly reads: number;
  }

  it.each<Case>([
    { reason: 'all is shown and equal', spec: { name: 'A' }, published: 'no', action: 'adopt', reads: 1 },
    { reason: 'a shown field differs', spec: { name: 'B' }, published: 'no', action: 'update', reads: 1 },
    {
      reason: 'a hidden field was never published',
      spec: { stt_config: { model: 'theirs' } },
      published: 'no',
      action: 'update',
      reads: 1,
    },
    {
      reason: 'the published version has it',
      spec: { stt_config: { model: 'theirs' } },
      published: 'yes',
      action: 'adopt',
      reads: 2,
    },
    {
      reason: 'the published version has another value',
      spec: { stt_config: { model: 'ours' } },
      published: 'yes',
      action: 'update',
      reads: 2,
    },
    {
      reason: 'the draft is newer than the version that has it',
      spec: { stt_config: { model: 'theirs' } },
      published: 'and edited since',
      action: 'adopt',
      ahead: true,
      reads: 2,
    },
  ])('is $action when $reason', async ({ spec, published, action, ahead = false, reads }) => {
    await using bench = await testBench({
      behaviour: { shows: { read: ['llm_config'], update: [] }, put: 'replace' },
    });
    bench.manifests = [manifest('Agent/maker', there)];
    await bench.apply();
    const id = stored(bench).id;
    await bench.record({ type: 'forgotten', address: 'Agent/maker' });
    if (published !== 'no') bench.emulator.dashboard.publishAgent(id);
    if (published === 'and edited since') bench.emulator.dashboard.edit('agents', id, { name: 'A' });

    bench.manifests = [agent(spec, { id })];
    bench.requests();
    const plan = await bench.plan();
    expect(bench.requests()).toHaveLength(reads);
    expect(plannedAt(plan, 'Agent/a')).toMatchObject({ action, id, adopted: true });
    expect(plan.warnings.some(({ message }) => message.includes('the draft is newer'))).toBe(ahead);
    await bench.apply();
    expect(writesIn(bench.requests())).toEqual(action === 'adopt' ? [] : [`PUT /api/v1/agents/${id}`]);
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });
    expect(stored(bench).llm_config).toEqual({ model: 'm' });
    // What the published version shows beside the managed field goes out with its object.
    if (published === 'yes') expect(stored(bench).stt_config.provider).toBe('p');
  });

  it('is no create, update or second adoption afterwards, with the id still in the manifest', async () => {
    await using bench = await testBench({ manifests: [agent({ name: 'A' })] });
    await bench.apply();
    const id = await idOf(bench);
    bench.manifests = [agent({ name: 'A' }, { id })];
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });
    bench.manifests = [agent({ name: 'A' }, { id: 'ANOTHER' })];
    const plan = await bench.plan();
    expect(actionsOf(plan)).toEqual({ 'Agent/a': 'noop' });
    expect(plan.warnings).toMatchObject([{ message: expect.stringContaining('ANOTHER') }]);
  });
});

describe('a draft that is newer than its published version', () => {
  it('is noticed, and no change', async () => {
    await using bench = await testBench({ manifests: [agent({ name: 'A' })] });
    await bench.apply();
    const id = await idOf(bench);
    const notices = async () => plannedAt(await bench.plan(), 'Agent/a').notices;
    expect(await notices()).toEqual([expect.stringContaining('never published')]);
    bench.emulator.dashboard.publishAgent(id);
    expect(await notices()).toBeUndefined();
    bench.manifests = [agent({ name: 'B' })];
    await bench.apply();
    expect(await notices()).toEqual([expect.stringContaining('edited since it was published')]);
    expect(actionsOf(await bench.plan())).toEqual({ 'Agent/a': 'noop' });
  });
});
