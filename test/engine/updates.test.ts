import { describe, expect, it } from 'vitest';
import { agent, number, ref, secret, user } from './resources.ts';
import { actionsIn, at, outcomes, Workspace } from './workspace.ts';

const everything = ['call_config', 'llm_config', 'prompt_config', 'stt_config', 'tts_config'] as const;

/** What the API got in the latest write. */
function lastBody(w: Workspace): unknown {
  return w.emulator.requests.findLast(({ method }) => method === 'PUT')?.body;
}

describe('an update of a config object', () => {
  it('ends the same whether the platform merges or replaces', async () => {
    const ends = [];
    for (const put of ['merge', 'replace'] as const) {
      const w = await Workspace.open({ put, shows: { read: ['llm_config'], update: [] } });
      await w.apply([agent('a', { llm_config: { model: 'm', temperature: 0.1, api_key: secret() } })]);
      const [id = ''] = w.emulator.world.agents.keys();
      w.emulator.dashboard.edit('agents', id, { llm_config: { max_tokens: 77 } });
      const desired = [agent('a', { llm_config: { model: 'n', temperature: 0.1, api_key: secret() } })];
      await w.apply(desired);
      expect(actionsIn(await w.plan(desired))).toEqual([]);
      expect(w.emulator.dashboard.holdsApiKey(id, 'sk-first-secret')).toBe(true);
      ends.push(w.emulator.world.agents.get(id)?.llm_config);
    }
    expect(ends[0]).toEqual({ model: 'n', temperature: 0.1, max_tokens: 77 });
    expect(ends[1]).toEqual(ends[0]);
  });

  it('sends the objects that changed, and no others', async () => {
    const w = await Workspace.open({ shows: { read: [...everything] } });
    await w.apply([agent('a', { stt_config: { model: 's' }, tts_config: { speed: 'slow', emotion: null } })]);
    await w.apply([agent('a', { stt_config: { model: 's' }, tts_config: { speed: 'fast', emotion: null } })]);
    expect(lastBody(w)).toEqual({ tts_config: { speed: 'fast', emotion: null } });
  });

  it('does not send a released field that nobody shows again, and the plan that releases it says so', async () => {
    const w = await Workspace.open({ shows: { read: [], update: [] } });
    await w.apply([agent('a', { tts_config: { speed: 'slow', emotion: 'calm' } })]);
    const desired = [agent('a', { tts_config: { speed: 'slow' } })];
    const plan = await w.plan(desired);
    expect(at(plan, 'Agent/a')).toMatchObject({ action: 'noop', released: ['tts_config.emotion'] });
    expect(plan.warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('tts_config.emotion left the manifest'),
    ]);
    await w.apply(desired);
    expect((await w.plan(desired)).warnings).toEqual([]);
    await w.apply([agent('a', { tts_config: { speed: 'fast' } })]);
    expect(lastBody(w)).toEqual({ tts_config: { speed: 'fast' } });
  });

  it('warns by name of what the platform dropped or changed, and of nothing that was not sent', async () => {
    const w = await Workspace.open({
      normalise: { trim: true },
      shows: { read: [...everything], update: [...everything] },
    });
    const first = agent('a', { stt_config: { model: ' s ' }, prompt_config: { prompt: 'x' } });
    const created = await w.apply([first]);
    expect(created.warnings).toEqual([
      { address: 'Agent/a', message: 'the platform changed stt_config.model from " s " to "s"' },
    ]);
    const updated = await w.apply([
      agent('a', { stt_config: { model: ' s ' }, prompt_config: { prompt: 'y' } }),
    ]);
    expect(updated.warnings).toEqual([
      { address: 'Agent/a', message: expect.stringMatching(/^This resends all of prompt_config: /) },
    ]);
  });

  it('compares what the platform hides with what was sent, and marks it', async () => {
    const w = await Workspace.open({ shows: { read: ['llm_config'], update: [] } });
    const desired = (chunks: number) => [
      agent('a', {
        llm_config: { model: 'm' },
        tts_config: { speed: 'slow' },
        knowledge_base_config: { chunks_to_retrieve: chunks },
      }),
    ];
    await w.apply(desired(3));
    expect(at(await w.plan(desired(3)), 'Agent/a')).toMatchObject({
      action: 'noop',
      unverified: ['knowledge_base_config.chunks_to_retrieve', 'tts_config.speed'],
    });
    expect(at(await w.plan(desired(4)), 'Agent/a').changes).toEqual([
      {
        path: 'knowledge_base_config.chunks_to_retrieve',
        before: 3,
        after: 4,
        cause: 'manifest',
        verified: false,
        sensitive: false,
      },
    ]);
  });
});

describe('the key of a model provider', () => {
  it('is compared by fingerprint, and stands in no plan, state or report', async () => {
    const w = await Workspace.open({ shows: { read: [...everything] } });
    const desired = () => [
      agent('a', {
        llm_config: { model: 'm', api_key: secret('KEY', w.secrets.KEY) },
        prompt_config: { prompt: 'x' },
      }),
    ];
    const texts: unknown[] = [await w.plan(desired()), await w.apply(desired()), await w.plan(desired())];
    expect(actionsIn(await w.plan(desired()))).toEqual([]);

    w.secrets = { KEY: 'sk-next-secret' };
    const plan = await w.plan(desired());
    expect(at(plan, 'Agent/a').changes).toEqual([
      {
        path: 'llm_config.api_key',
        cause: 'manifest',
        verified: false,
        sensitive: true,
        fingerprints: { before: expect.any(String), after: expect.any(String) },
      },
    ]);
    texts.push(plan, await w.drift(desired()), await w.apply(desired()), await w.store.read());
    const [id = ''] = w.emulator.world.agents.keys();
    expect(w.emulator.dashboard.holdsApiKey(id, 'sk-next-secret')).toBe(true);
    expect(actionsIn(await w.plan(desired()))).toEqual([]);
    expect(JSON.stringify(texts)).not.toMatch(/sk-(first|next)-secret/);
  });
});

describe('fields that others may move', () => {
  const desired = (
    spec: Parameters<typeof agent>[1],
    ignoreDrift = ['tts_config.speed', 'tts_config.emotion'],
  ) => [agent('a', { tts_config: spec ?? {} }, { ignoreDrift })];

  it('go out as they are when another field of their object changes', async () => {
    const w = await Workspace.open({ shows: { read: [...everything], update: [...everything] } });
    await w.apply(desired({ speed: 'slow', emotion: 'calm', voice_id: 'v1' }));
    const [id = ''] = w.emulator.world.agents.keys();
    const stored = w.emulator.world.agents.get(id);
    if (stored === undefined) throw new Error('no agent');
    w.emulator.world.agents.set(id, {
      ...stored,
      tts_config: { speed: 'fast', emotion: null, voice_id: 'v1' },
    });
    expect(actionsIn(await w.plan(desired({ speed: 'slow', emotion: 'calm', voice_id: 'v1' })))).toEqual([]);

    const report = await w.apply(desired({ speed: 'slow', emotion: 'calm', voice_id: 'v2' }));
    expect(lastBody(w)).toEqual({ tts_config: { speed: 'fast', emotion: null, voice_id: 'v2' } });
    expect(report.warnings, 'nobody changed what was sent').toEqual([
      { address: 'Agent/a', message: expect.stringMatching(/^This resends all of tts_config: /) },
    ]);
    expect(actionsIn(await w.plan(desired({ speed: 'slow', emotion: 'calm', voice_id: 'v2' })))).toEqual([]);

    const strict = desired({ speed: 'slow', emotion: 'calm', voice_id: 'v2' }, []);
    expect(at(await w.plan(strict), 'Agent/a').changes.map(({ path }) => path)).toEqual([
      'tts_config.emotion',
      'tts_config.speed',
    ]);
  });

  it('go out from the manifest when the manifest changes them', async () => {
    const w = await Workspace.open({ shows: { read: [...everything] } });
    await w.apply(desired({ speed: 'slow' }));
    const [id = ''] = w.emulator.world.agents.keys();
    w.emulator.dashboard.edit('agents', id, { tts_config: { speed: 'fast' } });
    await w.apply(desired({ speed: 'normal' }));
    expect(lastBody(w)).toEqual({ tts_config: { speed: 'normal' } });
    expect(actionsIn(await w.plan(desired({ speed: 'normal' })))).toEqual([]);
  });

  it('go out as recorded where nobody shows them', async () => {
    const w = await Workspace.open({ shows: { read: [], update: [] } });
    await w.apply(desired({ speed: 'slow', voice_id: 'v1' }));
    await w.apply(desired({ speed: 'slow', voice_id: 'v2' }));
    expect(lastBody(w)).toEqual({ tts_config: { speed: 'slow', voice_id: 'v2' } });
  });
});

describe('an update of a user', () => {
  it.each(['merge', 'replace'] as const)(
    'carries what the manifest leaves out, where a PUT would %s',
    async (put) => {
      const w = await Workspace.open({ put });
      const { id } = w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'admin' });
      w.emulator.dashboard.edit('users', id, { modules: ['agents', 'analytics'] });
      const desired = [agent('a'), user('ada', { agent_ids: [ref('Agent/a')] })];
      await w.apply(desired);
      const [agentId] = w.emulator.world.agents.keys();
      expect(w.emulator.world.users.get(id)).toMatchObject({
        role: 'admin',
        modules: ['agents', 'analytics'],
        agent_ids: [agentId],
      });
      expect(actionsIn(await w.plan(desired))).toEqual([]);
    },
  );
});

describe('without a refresh', () => {
  it('reads no recorded record, and looks again before it writes', async () => {
    const w = await Workspace.open({ shows: { read: ['llm_config'] } });
    await w.apply([agent('a', { llm_config: { model: 'm' } })]);
    const [id = ''] = w.emulator.world.agents.keys();
    w.emulator.dashboard.edit('agents', id, { llm_config: { max_tokens: 5 } });
    w.emulator.clearRequests();
    const desired = [agent('a', { llm_config: { model: 'n' } })];
    expect(actionsIn(await w.plan(desired, { refresh: false }))).toEqual(['update Agent/a']);
    expect(w.emulator.requests).toEqual([]);
    await w.apply(desired, { refresh: false });
    expect(lastBody(w)).toEqual({ llm_config: { model: 'n', max_tokens: 5 } });
  });

  it('takes a new role for one that may be an owner’s', async () => {
    const w = await Workspace.open();
    w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'owner' });
    await w.apply([user('ada', { role: 'owner' })]);
    const desired = [user('ada', { role: 'member' })];
    for (const refresh of [true, false]) {
      const { guards } = await w.plan(desired, { refresh });
      expect(new Set(guards.map(({ flag }) => flag)), `refresh: ${refresh}`).toEqual(
        new Set(['--allow-owner-change']),
      );
    }
  });
});

describe('a run over a user whose role only the platform knows', () => {
  it('does not send an update that has none', async () => {
    const w = await Workspace.open();
    const { id } = w.emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'admin' });
    await w.apply([user('ada', { modules: ['agents'] })]);
    w.emulator.world.users.set(id, { ...w.emulator.world.users.get(id), role: null } as never);
    w.emulator.clearRequests();
    const report = await w.apply([user('ada', { modules: ['analytics'] })], { refresh: false });
    expect(outcomes(report)['WorkspaceUser/ada']).toContain('set spec.role');
    expect(w.writes).toEqual([]);
  });
});

describe('the answer to a create', () => {
  it('is compared with all that was sent, the nickname of a number included', async () => {
    const w = await Workspace.open();
    const answer = { data: { id: 'N1', number: 49301, nickname: 'Other', inbound_agent_id: null } };
    w.emulator.faults.add({
      match: { method: 'POST' },
      fault: { status: 201, headers: { 'content-type': 'application/json' }, body: answer },
    });
    const report = await w.apply([
      number('n', { number: '+49301', nickname: 'Desk', inbound_agent_id: null }),
    ]);
    expect(report.warnings).toEqual([
      { address: 'PhoneNumber/n', message: 'the platform changed nickname from "Desk" to "Other"' },
    ]);
  });
});
