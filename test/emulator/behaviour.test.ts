import { describe, expect, it } from 'vitest';
import { type BehaviourPatch, emulatorBehaviour } from '../../src/emulator/behaviour.ts';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { call, newAgent } from './call.ts';

describe('a PUT of a config object', () => {
  const first = {
    llm_config: { model: 'a', temperature: 0.5, api_key: 'sk-first-key' },
    stt_config: { model: 's' },
  };

  it('is merged into the stored object and keeps the key in the mode merge', async () => {
    await using emulator = await startEmulator({ behaviour: { put: 'merge' } });
    const id = await newAgent(emulator, first);
    await call(emulator, ['PUT', `/api/v1/agents/${id}`, { llm_config: { model: 'b' } }]);
    expect(emulator.world.agents.get(id)).toMatchObject({
      llm_config: { model: 'b', temperature: 0.5 },
      stt_config: { model: 's' },
    });
    expect(emulator.dashboard.holdsApiKey(id, 'sk-first-key')).toBe(true);
  });

  it('replaces the stored object and loses the key in the mode replace', async () => {
    await using emulator = await startEmulator({ behaviour: { put: 'replace' } });
    const id = await newAgent(emulator, first);
    await call(emulator, ['PUT', `/api/v1/agents/${id}`, { llm_config: { model: 'b' } }]);
    const { llm_config, stt_config, api_key } = emulator.world.agents.get(id) ?? {};
    expect({ llm_config, stt_config, api_key }).toEqual({
      llm_config: { model: 'b' },
      stt_config: { model: 's' },
      api_key: null,
    });
  });

  it('sets a new key in both modes', async () => {
    for (const put of ['merge', 'replace'] as const) {
      await using emulator = await startEmulator({ behaviour: { put } });
      const id = await newAgent(emulator, first);
      const answer = await call(emulator, [
        'PUT',
        `/api/v1/agents/${id}`,
        { llm_config: { api_key: 'sk-second-key' } },
      ]);
      expect(answer.text).not.toMatch(/api_key|sk-/);
      expect(emulator.dashboard.holdsApiKey(id, 'sk-second-key')).toBe(true);
      expect(emulator.dashboard.holdsApiKey(id, 'sk-first-key')).toBe(false);
    }
  });

  it('empties omitted lists of a user in the mode replace', async () => {
    for (const [put, modules] of [
      ['merge', ['agents']],
      ['replace', []],
    ] as const) {
      await using emulator = await startEmulator({ behaviour: { put } });
      const { id } = emulator.dashboard.inviteUser({ email: 'ada@example.com' });
      emulator.dashboard.edit('users', id, { modules: ['agents'] });
      const path = `/api/v1/workspaces/${emulator.workspaceId}/users/${id}`;
      const answer = await call(emulator, ['PUT', path, { role: 'member' }]);
      expect(answer.at('data.modules')).toEqual(modules);
    }
  });
});

describe('responses', () => {
  it('contain only the configured config objects', async () => {
    await using emulator = await startEmulator({
      behaviour: { shows: { read: [], update: ['stt_config'] } },
    });
    const id = await newAgent(emulator);
    const read = await call(emulator, ['GET', `/api/v1/agents/${id}`]);
    const updated = await call(emulator, ['PUT', `/api/v1/agents/${id}`, {}]);
    expect(read.text).not.toMatch(/_config/);
    expect(updated.text.match(/\w+_config/g)).toEqual(['stt_config']);
  });

  it('contain numbers as JSON numbers, alone and within an agent', async () => {
    await using emulator = await startEmulator({ behaviour: { numericNumbers: true } });
    const agentId = await newAgent(emulator);
    const created = await call(emulator, ['POST', '/api/v1/numbers', { number: '+49 30 12-34' }]);
    emulator.dashboard.linkNumber(String(created.at('data.id')), { inbound_agent_id: agentId });
    const agent = await call(emulator, ['GET', `/api/v1/agents/${agentId}`]);
    expect(created.at('data.number')).toBe(49_301_234);
    expect(agent.at('data.numbers')).toMatchObject([{ number: 49_301_234 }]);
    expect((await call(emulator, ['GET', '/api/v1/numbers'])).text).toContain('"number":49301234');
  });

  it('have the configured status for the create of an agent', async () => {
    await using emulator = await startEmulator({ behaviour: { agentCreateStatus: 200 } });
    expect((await call(emulator, ['POST', '/api/v1/agents', {}])).status).toBe(200);
  });

  it('contain all users at once if configured', async () => {
    await using emulator = await startEmulator({ behaviour: { users: 'whole' } });
    for (let i = 0; i < 21; i++) emulator.dashboard.inviteUser({ email: `u${i}@example.com` });
    const path = `/api/v1/workspaces/${emulator.workspaceId}/users`;
    const answer = await call(emulator, ['GET', `${path}?per_page=5`]);
    expect(answer.at('data')).toHaveLength(21);
    expect(answer.at('meta.next_cursor')).toBeNull();
    emulator.setBehaviour({ users: 'paged' });
    expect((await call(emulator, ['GET', path])).at('data')).toHaveLength(20);
  });

  it('ignore the cursor of users, or refuse every query, if configured', async () => {
    await using emulator = await startEmulator({ behaviour: { users: 'ignoresCursor' } });
    for (let i = 0; i < 21; i++) emulator.dashboard.inviteUser({ email: `u${i}@example.com` });
    const path = `/api/v1/workspaces/${emulator.workspaceId}/users`;
    const first = await call(emulator, ['GET', path]);
    expect(first.at('data')).toHaveLength(21);
    const second = await call(emulator, ['GET', `${path}?cursor=${String(first.at('meta.next_cursor'))}`]);
    expect(second.body).toEqual(first.body);
    emulator.setBehaviour({ users: 'refusesQuery' });
    expect((await call(emulator, ['GET', `${path}?per_page=5`])).status).toBe(422);
    expect((await call(emulator, ['GET', path])).at('data')).toHaveLength(21);
  });

  it('refuse a limit of invoices if configured', async () => {
    await using emulator = await startEmulator({ behaviour: { invoiceLimit: 'refused' } });
    const path = `/api/v1/workspaces/${emulator.workspaceId}/billing/history`;
    expect((await call(emulator, ['GET', `${path}?limit=10`])).status).toBe(422);
    expect((await call(emulator, ['GET', path])).status).toBe(200);
  });

  it('contain an unexpected meta object if configured', async () => {
    await using emulator = await startEmulator({ behaviour: { meta: 'odd' } });
    for (let i = 0; i < 3; i++) emulator.dashboard.addKnowledgeBase({ name: `k${i}` });
    const path = '/api/v1/knowledge-bases?per_page=2';
    const first = await call(emulator, ['GET', path]);
    const meta = { per_page: '2', prev_cursor: false };
    expect(first.at('meta')).toEqual({ ...meta, next_cursor: expect.any(String) });
    const cursor = String(first.at('meta.next_cursor'));
    expect((await call(emulator, ['GET', `${path}&cursor=${cursor}`])).at('meta')).toEqual(meta);
  });

  it.each([
    ['prev_cursor', ['prev_cursor']],
    ['previous_cursor', ['previous_cursor']],
    ['both', ['prev_cursor', 'previous_cursor']],
  ] as const)('spell the previous cursor as configured: %s', async (previousCursorSpelling, names) => {
    await using emulator = await startEmulator({ behaviour: { previousCursorSpelling } });
    const { meta } = (await call(emulator, ['GET', '/api/v1/numbers'])).body as { meta: object };
    expect(Object.keys(meta)).toEqual(['per_page', 'next_cursor', ...names]);
  });
});

describe('normalising', () => {
  it('trims every string except a key, before it checks limits', async () => {
    await using emulator = await startEmulator({ behaviour: { normalise: { trim: true } } });
    const id = await newAgent(emulator, {
      name: '  A ',
      llm_config: { model: ' m\n', api_key: ' sk-blank ' },
    });
    expect(emulator.world.agents.get(id)).toMatchObject({ name: 'A', llm_config: { model: 'm' } });
    expect(emulator.dashboard.holdsApiKey(id, ' sk-blank ')).toBe(true);
    const number = await call(emulator, ['POST', '/api/v1/numbers', { number: '  +49301234567 ', nickname: ' N ' }]);
    expect(number.at('data')).toMatchObject({ number: '+49301234567', nickname: 'N' });
    const blank = await call(emulator, ['POST', '/api/v1/numbers', { number: '1', nickname: '   ' }]);
    expect(blank.status).toBe(422);
  });

  it('stores sets in its own order, and keeps the order of other lists', async () => {
    await using emulator = await startEmulator({ behaviour: { normalise: { reorderSets: true } } });
    const id = await newAgent(emulator, {
      llm_config: { knowledge_base_ids: ['c', 'a', 'b'], tools: ['z', 'y'] },
      tts_config: { backchannel_words: ['yes', 'mm'] },
    });
    expect(emulator.world.agents.get(id)).toMatchObject({
      llm_config: { knowledge_base_ids: ['a', 'b', 'c'], tools: ['z', 'y'] },
      tts_config: { backchannel_words: ['yes', 'mm'] },
    });
    const { id: userId } = emulator.dashboard.inviteUser({ email: 'ada@example.com' });
    const answer = await call(emulator, [
      'PUT',
      `/api/v1/workspaces/${emulator.workspaceId}/users/${userId}`,
      { role: 'member', modules: ['phone_numbers', 'agents'] },
    ]);
    expect(answer.at('data.modules')).toEqual(['agents', 'phone_numbers']);
  });

  it('adds defaults for omitted fields', async () => {
    await using emulator = await startEmulator({
      behaviour: { normalise: { defaults: true }, put: 'replace' },
    });
    const id = await newAgent(emulator, { llm_config: { temperature: 0 } });
    const path = `/api/v1/agents/${id}`;
    expect((await call(emulator, ['GET', path])).at('data.llm_config')).toMatchObject({
      temperature: 0,
      provider: 'internal',
    });
    await call(emulator, ['PUT', path, { llm_config: { provider: 'x' } }]);
    expect((await call(emulator, ['GET', path])).at('data.llm_config')).toMatchObject({
      temperature: 0.7,
      provider: 'x',
    });
  });
});

describe('refusing', () => {
  it('accepts a second number with the same digits unless configured otherwise', async () => {
    await using emulator = await startEmulator();
    const create = async (number: string) => (await call(emulator, ['POST', '/api/v1/numbers', { number }])).status;
    expect([await create('+49301'), await create('49301')]).toEqual([201, 201]);
    emulator.setBehaviour({ uniqueNumbers: true });
    expect([await create('+49 301'), await create('+49302')]).toEqual([422, 201]);
  });

  it.each([
    ['message', { message: expect.any(String) }, { message: 'Agent not found' }],
    ['errors', { message: expect.any(String), errors: { name: [expect.any(String)] } }, { message: 'Agent not found' }],
    [
      'detail',
      { detail: [{ loc: ['body', 'name'], msg: expect.any(String), type: 'value_error' }] },
      { detail: 'Agent not found' },
    ],
  ] as const)('returns errors in the style %s', async (errorStyle, validation, missing) => {
    await using emulator = await startEmulator({ behaviour: { errorStyle } });
    expect((await call(emulator, ['POST', '/api/v1/agents', { name: 1 }])).body).toEqual(validation);
    expect((await call(emulator, ['GET', '/api/v1/agents/x'])).body).toEqual(missing);
  });

  it('returns errors as a page that escapes strings of the request', async () => {
    await using emulator = await startEmulator({ behaviour: { errorStyle: 'html' } });
    const answer = await call(emulator, ['GET', '/api/v1/nothing/%3Cscript%3E']);
    expect(answer.headers['content-type']).toContain('text/html');
    expect(answer.status).toBe(404);
    expect(answer.text).toContain('<h1>404</h1>');
    expect(answer.text).not.toContain('<script>');
  });

  it.each([
    ['seconds', /^\d+$/],
    ['date', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/],
    ['none', undefined],
  ] as const)('responds with 429 beyond the limit, with Retry-After as %s', async (retryAfter, form) => {
    const rateLimit = { requests: 2, perSeconds: 3600, retryAfter };
    await using emulator = await startEmulator({ behaviour: { rateLimit } });
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await call(emulator, ['POST', '/api/v1/numbers', { number: `${i}` }]));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 429]);
    expect(emulator.world.numbers.size).toBe(2);
    const header = answers[2]?.headers['retry-after'];
    if (form === undefined) expect(header).toBeUndefined();
    else expect(header).toMatch(form);
    emulator.setBehaviour({ rateLimit: null });
    expect((await call(emulator, ['GET', '/api/v1/numbers'])).status).toBe(200);
  });
});

describe('setBehaviour', () => {
  it('changes only the fields of the patch', async () => {
    await using emulator = await startEmulator({
      behaviour: { put: 'replace', shows: { read: ['stt_config'] } },
    });
    const before = emulator.behaviour;
    emulator.setBehaviour({ normalise: { trim: true } });
    expect(emulator.behaviour).toEqual({ ...before, normalise: { ...before.normalise, trim: true } });
    expect(emulator.behaviour.shows.read).toEqual(['stt_config']);
  });

  it.each([{ put: 'patch' }, { latencyMs: -1 }, { shows: { read: ['api_key'] } }, { colour: 1 }])(
    'refuses %j',
    async (patch) => {
      expect(emulatorBehaviour.safeParse(patch).success).toBe(false);
      await using emulator = await startEmulator();
      const before = emulator.behaviour;
      expect(() => emulator.setBehaviour(patch as BehaviourPatch)).toThrow();
      expect(emulator.behaviour).toEqual(before);
    },
  );
});
