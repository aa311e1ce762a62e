import { describe, expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { call, newAgent } from './call.ts';

const noKey = { headers: { 'content-type': 'application/json' } };

async function newNumber(emulator: Emulator): Promise<string> {
  return String((await call(emulator, ['POST', '/api/v1/numbers', { number: '+49301' }])).at('data.id'));
}

describe('the dashboard over HTTP, without a key', () => {
  it('publishes an agent', async () => {
    await using emulator = await startEmulator();
    const id = await newAgent(emulator);
    const answer = await call(emulator, ['POST', `/__emulator/agents/${id}/publish`], noKey);
    expect(answer.status).toBe(200);
    const read = await call(emulator, ['GET', `/api/v1/agents/${id}`]);
    expect(read.at('data')).toMatchObject({ version: 1, published_at: expect.any(String) });
  });

  it('links a number that the agent then lists once', async () => {
    await using emulator = await startEmulator();
    const agentId = await newAgent(emulator);
    const id = await newNumber(emulator);
    const link = { inbound_agent_id: agentId, outbound_agent_id: agentId, nickname: 'Main' };
    const answer = await call(emulator, ['POST', `/__emulator/numbers/${id}/link`, link], noKey);
    expect(answer.at('data')).toMatchObject(link);
    const read = async () => (await call(emulator, ['GET', `/api/v1/agents/${agentId}`])).at('data.numbers');
    expect(await read()).toEqual([{ id, number: '+49301', nickname: 'Main' }]);
    await call(emulator, ['POST', `/__emulator/numbers/${id}/link`, { inbound_agent_id: null }], noKey);
    expect(emulator.world.numbers.get(id)).toMatchObject({
      inbound_agent_id: null,
      outbound_agent_id: agentId,
    });
    await call(emulator, ['POST', `/__emulator/numbers/${id}/link`, { outbound_agent_id: null }], noKey);
    expect(await read()).toEqual([]);
  });

  it.each([
    ['users', { email: 'ada@example.com', name: 'Ada', role: 'owner' }, { is_owner: true, modules: [] }],
    ['users', { email: 'bob@example.com' }, { name: 'bob', role: null, is_owner: false, agent_ids: [] }],
    ['knowledge-bases', { name: 'FAQ' }, { name: 'FAQ' }],
    ['calls', { agent_id: 'a', direction: 'outbound' }, { direction: 'outbound', duration: '00:03:00' }],
    ['invoices', { total: 1 }, { total: 1, currency: 'eur' }],
    ['api-keys', { name: 'ci' }, { id: 1, expires_at: null }],
  ] as const)('adds a record to %s: %j', async (collection, body, shown) => {
    await using emulator = await startEmulator();
    const answer = await call(emulator, ['POST', `/__emulator/${collection}`, body], noKey);
    expect(answer.status).toBe(201);
    expect(answer.at('data')).toMatchObject(shown);
    expect(emulator.world.records[collection].size).toBe(1);
  });

  it('edits a record', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    const id = await newAgent(emulator, {
      name: 'A',
      llm_config: { model: 'm', temperature: 1, api_key: 'sk-12345' },
    });
    const before = emulator.world.agents.get(id);
    const patch = { name: 'B', llm_config: { temperature: null, max_tokens: 5 } };
    const answer = await call(emulator, ['PATCH', `/__emulator/agents/${id}`, patch], noKey);
    expect(answer.status).toBe(200);
    expect(emulator.world.agents.get(id)).toEqual({
      ...before,
      name: 'B',
      llm_config: { model: 'm', max_tokens: 5 },
      updated_at: '2026-01-01T00:00:02+00:00',
    });
    emulator.dashboard.edit('agents', id, { llm_config: { api_key: 'sk-67890' } });
    expect(emulator.dashboard.holdsApiKey(id, 'sk-67890')).toBe(true);
  });

  it('can clear a field, but cannot change the id', async () => {
    await using emulator = await startEmulator();
    const { id } = emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'admin' });
    emulator.dashboard.edit('users', id, { role: null, id: 'other' });
    expect(emulator.world.users.get(id)).toMatchObject({ id, role: null });
  });

  it('removes an agent and all references to it', async () => {
    await using emulator = await startEmulator();
    const [gone, stays] = [await newAgent(emulator), await newAgent(emulator)];
    const number = await newNumber(emulator);
    emulator.dashboard.linkNumber(number, { inbound_agent_id: gone, outbound_agent_id: stays });
    const { id: user } = emulator.dashboard.inviteUser({ email: 'ada@example.com' });
    emulator.dashboard.edit('users', user, { agent_ids: [gone, stays] });
    expect((await call(emulator, ['DELETE', `/__emulator/agents/${gone}`], noKey)).status).toBe(204);
    expect((await call(emulator, ['GET', `/api/v1/agents/${gone}`])).status).toBe(404);
    expect(emulator.world.numbers.get(number)).toMatchObject({
      inbound_agent_id: null,
      outbound_agent_id: stays,
    });
    expect(emulator.world.users.get(user)?.agent_ids).toEqual([stays]);
  });

  it.each(['agents', 'numbers', 'knowledge-bases', 'calls', 'webhooks', 'users', 'invoices', 'api-keys', 'cars'])(
    'responds with 404 for missing %s',
    async (collection) => {
      await using emulator = await startEmulator();
      for (const method of ['PATCH', 'DELETE'] as const) {
        expect((await call(emulator, [method, `/__emulator/${collection}/x`, {}], noKey)).status).toBe(404);
      }
    },
  );

  const rejected: readonly (readonly ['POST' | 'PUT' | 'PATCH', string, unknown, string])[] = [
    ['POST', '/users', { email: 'nobody' }, 'an address without @'],
    ['POST', '/users', { email: 'a@b.c', role: 'boss' }, 'an unknown role'],
    ['POST', '/knowledge-bases', {}, 'a missing name'],
    ['POST', '/calls', { agent_id: 'a', direction: 'up' }, 'an unknown direction'],
    ['POST', '/faults', { fault: { cut: 'now' } }, 'an unknown fault'],
    ['PUT', '/behaviour', { put: 'patch' }, 'an unknown behaviour'],
    ['PATCH', '/agents/{agent}', { name: 5 }, 'a name that is not a string'],
    ['PATCH', '/agents/{agent}', { llm_config: { colour: 'red' } }, 'an unknown field'],
  ];

  it.each(rejected)('responds with 422 to %s %s %j: %s', async (method, path, body) => {
    await using emulator = await startEmulator();
    const id = await newAgent(emulator);
    const before = emulator.world.toData().records;
    const answer = await call(emulator, [method, `/__emulator${path.replace('{agent}', id)}`, body], noKey);
    expect(answer.status).toBe(422);
    expect(emulator.world.toData().records).toEqual(before);
  });

  it('returns and changes the behaviour, the faults and the requests', async () => {
    await using emulator = await startEmulator();
    const changed = await call(emulator, ['PUT', '/__emulator/behaviour', { put: 'replace' }], noKey);
    expect(changed.at('data')).toEqual(emulator.behaviour);
    expect(emulator.behaviour.put).toBe('replace');
    await call(emulator, ['POST', '/__emulator/faults', { fault: { status: 500 } }], noKey);
    expect((await call(emulator, ['GET', '/api/v1/numbers?per_page=3'])).status).toBe(500);
    await call(emulator, ['POST', '/__emulator/faults', { fault: { status: 500 } }], noKey);
    await call(emulator, ['DELETE', '/__emulator/faults'], noKey);
    expect((await call(emulator, ['GET', '/__emulator/faults'], noKey)).at('data')).toEqual([]);
    const requests = await call(emulator, ['GET', '/__emulator/requests'], noKey);
    expect(requests.body).toEqual({
      data: [{ method: 'GET', path: '/api/v1/numbers?per_page=3' }],
      count: 1,
    });
    await call(emulator, ['DELETE', '/__emulator/requests'], noKey);
    expect(emulator.requests).toEqual([]);
  });
});

describe('the record of requests', () => {
  it('contains bodies without the provider key, also that of a GET', async () => {
    await using emulator = await startEmulator();
    await newAgent(emulator, { name: 'A', llm_config: { model: 'm', api_key: 'sk-never-written' } });
    await newAgent(emulator, { llm_config: { tools: [{ auth: { api_key: 'sk-nor-this' } }] } });
    await call(emulator, ['GET', '/api/v1/call-histories', { per_page: 1 }]);
    expect(emulator.requests).toEqual([
      {
        method: 'POST',
        path: '/api/v1/agents',
        body: { name: 'A', llm_config: { model: 'm', api_key: '(secret)' } },
      },
      {
        method: 'POST',
        path: '/api/v1/agents',
        body: { llm_config: { tools: [{ auth: { api_key: '(secret)' } }] } },
      },
      { method: 'GET', path: '/api/v1/call-histories', body: { per_page: 1 } },
    ]);
  });
});
