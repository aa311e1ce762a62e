import { describe, expect, it } from 'vitest';
import { actionsIn, at, Bench, manifest, outcomes } from './bench.ts';
import { agent, secret, user } from './resources.ts';

const everything = ['call_config', 'llm_config', 'prompt_config', 'stt_config', 'tts_config'] as const;

/** Returns the body of the last PUT. */
function lastBody(bench: Bench): unknown {
  return bench.emulator.requests.findLast(({ method }) => method === 'PUT')?.body;
}

describe('a cleared field on a platform that omits unset fields', () => {
  const shows = { read: ['llm_config'], update: [...everything] } as const;
  const spec = (model: string) => ({ llm_config: { model, region: 'eu' }, tts_config: { speed: 'slow' } });
  const opened = async () => {
    const bench = await Bench.applied([agent('a', spec('m'))], { shows });
    const id = await bench.idOf('Agent/a');
    const clear = () =>
      bench.emulator.dashboard.edit('agents', id, { llm_config: { region: null }, tts_config: { speed: null } });
    return { bench, id, clear };
  };

  it('is drift after a read has returned it, and is restored', async () => {
    const { bench, id, clear } = await opened();
    await bench.apply([agent('a', spec('m'))]);
    clear();
    const drift = at(await bench.drift([agent('a', spec('m'))]), 'Agent/a');
    expect(drift.changes).toMatchObject([{ path: 'llm_config.region', before: null, after: 'eu', cause: 'drift' }]);
    await bench.apply([agent('a', spec('m'))]);
    expect(bench.emulator.world.agents.get(id)?.llm_config.region).toBe('eu');
    expect(actionsIn(await bench.plan([agent('a', spec('m'))]))).toEqual([]);
    clear();
    expect(actionsIn(await bench.drift([agent('a', spec('m'))])), 'the repaired value was read again').toEqual([
      'update Agent/a',
    ]);
  });

  it('is not drift if only the response to a write contained it', async () => {
    const { bench, clear } = await opened();
    await bench.apply([agent('a', spec('n'))]);
    clear();
    expect(actionsIn(await bench.drift([agent('a', spec('n'))]))).toEqual([]);
    expect(actionsIn(await bench.plan([agent('a', spec('n'))]))).toEqual([]);
  });

  it('is ignored with ignore_drift, and if its object is hidden', async () => {
    const { bench, clear } = await opened();
    const desired = [agent('a', spec('m'), { ignoreDrift: ['llm_config.region'] })];
    await bench.apply(desired);
    clear();
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    bench.emulator.setBehaviour({ shows: { read: [] } });
    expect(actionsIn(await bench.plan([agent('a', spec('m'))]))).toEqual([]);
  });
});

describe('an update of a config object', () => {
  it('has the same effect whether the platform merges or replaces', async () => {
    const ends = [];
    for (const put of ['merge', 'replace'] as const) {
      const bench = await Bench.applied(
        [agent('a', { llm_config: { model: 'm', temperature: 0.1, api_key: secret() } })],
        {
          put,
          shows: { read: ['llm_config'], update: [] },
        },
      );
      const [id = ''] = bench.emulator.world.agents.keys();
      bench.emulator.dashboard.edit('agents', id, { llm_config: { max_tokens: 77 } });
      const desired = [agent('a', { llm_config: { model: 'n', temperature: 0.1, api_key: secret() } })];
      await bench.apply(desired);
      expect(actionsIn(await bench.plan(desired))).toEqual([]);
      expect(bench.emulator.dashboard.holdsApiKey(id, 'sk-first-secret')).toBe(true);
      ends.push(bench.emulator.world.agents.get(id)?.llm_config);
      bench.emulator.dashboard.edit('agents', id, { llm_config: { model: 'theirs' } });
      await bench.apply(desired);
      expect(bench.emulator.world.agents.get(id)?.llm_config).toEqual(ends[0]);
      expect(bench.emulator.dashboard.holdsApiKey(id, 'sk-first-secret')).toBe(true);
    }
    expect(ends[0]).toEqual({ model: 'n', temperature: 0.1, max_tokens: 77 });
    expect(ends[1]).toEqual(ends[0]);
  });

  it('does not resend a released hidden field, and the plan that releases it warns', async () => {
    const bench = await Bench.applied([agent('a', { tts_config: { speed: 'slow', emotion: 'calm' } })], {
      shows: { read: [], update: [] },
    });
    const desired = [agent('a', { tts_config: { speed: 'slow' } })];
    const plan = await bench.plan(desired);
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop', released: ['tts_config.emotion'] });
    expect(plan.warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('tts_config.emotion was removed from the manifest'),
    ]);
    expect(await bench.writesOf(desired)).toEqual([]);
    expect((await bench.plan(desired)).warnings).toEqual([]);
    await bench.apply([agent('a', { tts_config: { speed: 'fast' } })]);
    expect(lastBody(bench)).toEqual({ tts_config: { speed: 'fast' } });
  });

  it('warns of values that the platform dropped or changed, and of no unsent ones', async () => {
    const bench = await Bench.open({
      normalise: { trim: true },
      shows: { read: [...everything], update: [...everything] },
    });
    const first = agent('a', { stt_config: { model: ' s ' }, prompt_config: { prompt: 'x' } });
    const created = await bench.apply([first]);
    expect(created.warnings).toEqual([
      { address: 'Agent/a', message: 'the platform changed stt_config.model from " s " to "s"' },
    ]);
    const updated = await bench.apply([agent('a', { stt_config: { model: ' s ' }, prompt_config: { prompt: 'y' } })]);
    expect(updated.warnings).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/^This resends all of prompt_config: /) }),
    ]);
  });
});

describe('the key of a model provider', () => {
  it('is compared by fingerprint, and never part of a plan, a state or a report', async () => {
    const bench = await Bench.open({ shows: { read: [...everything] }, put: 'replace' });
    const desired = (name = 'a') => [
      agent('a', {
        name,
        llm_config: { model: 'm', api_key: secret('KEY', bench.secrets.KEY) },
        prompt_config: { prompt: 'x' },
      }),
    ];
    const texts: unknown[] = [await bench.plan(desired()), await bench.apply(desired()), await bench.plan(desired())];
    expect(actionsIn(await bench.plan(desired()))).toEqual([]);
    const [id = ''] = bench.emulator.world.agents.keys();
    expect(bench.emulator.dashboard.holdsApiKey(id, 'sk-first-secret')).toBe(true);

    bench.secrets = { KEY: 'sk-next-secret' };
    const plan = await bench.plan(desired());
    expect(at(plan, 'Agent/a').changes).toEqual([
      {
        path: 'llm_config.api_key',
        cause: 'manifest',
        verified: false,
        sensitive: true,
        fingerprints: { before: expect.any(String), after: expect.any(String) },
      },
    ]);
    const { before, after } = at(plan, 'Agent/a').changes[0]?.fingerprints ?? {};
    expect(before).not.toBe(after);
    texts.push(plan, await bench.drift(desired()), await bench.apply(desired()), await bench.store.read());
    expect(bench.emulator.dashboard.holdsApiKey(id, 'sk-next-secret')).toBe(true);
    expect(bench.emulator.world.agents.get(id)?.llm_config).toEqual({ model: 'm' });
    expect(actionsIn(await bench.plan(desired()))).toEqual([]);
    expect(JSON.stringify(texts)).not.toMatch(/sk-(first|next)-secret/);

    await bench.apply(desired('b'));
    expect(lastBody(bench), 'the key is only sent with its object').toEqual({ name: 'b' });
  });

  it('is also masked inside a prompt, and its drift is detected', async () => {
    const bench = await Bench.open();
    const prompt = { $join: ['Say ', { $secret: 'KEY' }], separator: '' };
    const desired = [manifest('Agent/a', { prompt_config: { prompt } })];
    const texts: unknown[] = [await bench.plan(desired), await bench.apply(desired)];
    const [id = ''] = bench.emulator.world.agents.keys();
    const stored = () => bench.emulator.world.agents.get(id)?.prompt_config.prompt;
    expect(stored()).toBe('Say sk-first-secret');
    expect(actionsIn(await bench.plan(desired))).toEqual([]);
    bench.emulator.dashboard.edit('agents', id, { prompt_config: { prompt: 'Say sk-first-secret!' } });
    const drift = await bench.drift(desired);
    expect(at(drift, 'Agent/a').changes).toMatchObject([
      { path: 'prompt_config.prompt', cause: 'drift', sensitive: true },
    ]);
    expect(JSON.stringify([...texts, drift, await bench.store.read()])).not.toContain('sk-first-secret');
    await bench.apply(desired);
    expect(stored()).toBe('Say sk-first-secret');
  });
});

describe('fields with ignore_drift', () => {
  const desired = (spec: Parameters<typeof agent>[1], ignoreDrift = ['tts_config.speed', 'tts_config.emotion']) => [
    agent('a', { tts_config: spec ?? {} }, { ignoreDrift }),
  ];

  it.each([
    { read: ['tts_config' as const], kept: 'fast', reason: 'with the current value, if it is returned' },
    { read: [], kept: 'slow', reason: 'with the recorded value, if it is hidden' },
  ])('are not drift, and are resent with their object $reason', async ({ read, kept }) => {
    const bench = await Bench.open({ shows: { read, update: read }, put: 'replace' });
    const first = desired({ speed: 'slow', voice_id: 'v1' });
    await bench.apply(first);
    const [id = ''] = bench.emulator.world.agents.keys();
    const stored = () => bench.emulator.world.agents.get(id)?.tts_config;
    expect(stored()?.speed).toBe('slow');
    bench.emulator.dashboard.edit('agents', id, { tts_config: { speed: 'fast' } });
    expect(actionsIn(await bench.plan(first))).toEqual([]);
    expect(actionsIn(await bench.drift(first))).toEqual([]);

    const other = desired({ speed: 'slow', voice_id: 'v2' });
    expect(at(await bench.plan(other), 'Agent/a').changes.map(({ path }) => path)).toEqual(['tts_config.voice_id']);
    await bench.apply(other);
    expect(stored()).toEqual({ speed: kept, voice_id: 'v2' });
    expect(actionsIn(await bench.plan(other))).toEqual([]);

    const declared = desired({ speed: 'normal', voice_id: 'v2' });
    await bench.apply(declared);
    expect(stored()).toEqual({ speed: 'normal', voice_id: 'v2' });
    expect(actionsIn(await bench.plan(declared))).toEqual([]);
  });
});

describe('a run without a refresh', () => {
  it('reads no recorded record for the plan, but reads it before it writes', async () => {
    const bench = await Bench.applied([agent('a', { llm_config: { model: 'm' } })], {
      shows: { read: ['llm_config'] },
    });
    const [id = ''] = bench.emulator.world.agents.keys();
    bench.emulator.dashboard.edit('agents', id, { llm_config: { max_tokens: 5 } });
    bench.requests();
    const desired = [agent('a', { llm_config: { model: 'n' } })];
    expect(actionsIn(await bench.plan(desired, { refresh: false }))).toEqual(['update Agent/a']);
    expect(bench.emulator.requests).toEqual([]);
    await bench.apply(desired, { refresh: false });
    expect(bench.emulator.requests.map(({ method }) => method)).toEqual(['GET', 'PUT']);
    expect(lastBody(bench)).toEqual({ llm_config: { model: 'n', max_tokens: 5 } });
  });
});

describe('a run for a user whose role is only on the platform', () => {
  it('sends no update without a role', async () => {
    const bench = await Bench.open();
    const { id } = bench.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'admin' });
    await bench.apply([user('ada', { modules: ['agents'] })]);
    bench.emulator.world.users.set(id, { ...bench.emulator.world.users.get(id), role: null } as never);
    bench.requests();
    const report = await bench.apply([user('ada', { modules: ['analytics'] })], { refresh: false });
    expect(outcomes(report)['WorkspaceUser/ada']).toContain('set spec.role');
    expect(bench.writes).toEqual([]);
  });
});
