import { describe, expect, it } from 'vitest';
import type { PlatformClient } from '../../src/platform/client.ts';
import { createClient } from '../../src/platform/http-client.ts';
import { webhookRecord } from '../../src/platform/records/webhook-records.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { collect } from './collect.ts';
import { listenHttp, type SeenRequest } from './listen.ts';
import { failureFrom, openTransport } from './open-transport.ts';

/** Returns a client of a server that sends these responses in order, and the requests to the server. */
async function clientFor(...answers: readonly unknown[]) {
  const { url, seen } = await listenHttp((_request, response, count) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[count - 1] ?? null));
  });
  const { transport } = openTransport({ baseUrl: url });
  const client = createClient({ transport, workspaceId: 'ws 1' });
  return { client, seen };
}

const lines = (seen: readonly SeenRequest[]) =>
  seen.map(({ method, url, body }) => [method, url, body].filter((part) => part !== '').join(' '));

const RECORD = { data: { id: '01A', number: '+4930123456', email: 'a@b.example' } };

describe('endpoint', () => {
  it.each<{ line: string; call: (client: PlatformClient) => Promise<unknown>; id?: string }>([
    { line: 'GET /api/v1/agents/01A', call: (client) => client.agents.get('01A') },
    { line: 'GET /api/v1/agents/a%2Fb%3Fc%20%25', call: (client) => client.agents.get('a/b?c %'), id: 'a/b?c %' },
    { line: 'POST /api/v1/agents {"name":"a"}', call: (client) => client.agents.create({ name: 'a' }) },
    { line: 'PUT /api/v1/agents/01A {"name":"b"}', call: (client) => client.agents.update('01A', { name: 'b' }) },
    { line: 'GET /api/v1/agents/01A/versions/3', call: (client) => client.agents.version('01A', 3) },
    { line: 'GET /api/v1/agents/01A/versions/latest', call: (client) => client.agents.latestVersion('01A') },
    {
      line: 'POST /api/v1/numbers {"number":"+4930123456"}',
      call: (client) => client.numbers.create({ number: '+4930123456' }),
    },
    { line: 'GET /api/v1/call-histories/01C', call: (client) => client.calls.get('01C'), id: '01C' },
    {
      line: 'GET /api/v1/webhooks/01W',
      call: (client) => client.collection('webhooks', webhookRecord).get('01W'),
      id: '01W',
    },
    {
      line: 'POST /api/v1/webhooks {"url":"https://x.example"}',
      call: (client) => client.collection('webhooks', webhookRecord).create({ url: 'https://x.example' }),
    },
    {
      line: 'PUT /api/v1/workspaces/ws%201/users/01U {"role":"admin"}',
      call: (client) => client.users.update('01U', { role: 'admin' }),
    },
  ])('$line', async ({ line, call, id = '01A' }) => {
    const { client, seen } = await clientFor({ data: { ...RECORD.data, id } });
    expect(await call(client)).toMatchObject({ id });
    expect(lines(seen)).toEqual([line]);
  });

  it.each(['', '.', '..'])('refuses the id "%s", which would change the path', async (id) => {
    const { client, seen } = await clientFor();
    await expect(client.agents.get(id)).rejects.toBeInstanceOf(UserError);
    expect(seen).toEqual([]);
  });
});

describe('list', () => {
  it.each<{ path: string; list: (client: PlatformClient) => AsyncIterable<unknown> }>([
    { path: '/api/v1/agents/01A/versions', list: (client) => client.agents.versions('01A') },
    { path: '/api/v1/numbers', list: (client) => client.numbers.list() },
    { path: '/api/v1/knowledge-bases', list: (client) => client.knowledgeBases.list() },
    { path: '/api/v1/workspaces/ws%201/users', list: (client) => client.users.list() },
    { path: '/api/v1/api-keys', list: (client) => client.apiKeys.list() },
  ])('of $path is read to its end with a hundred records per page', async ({ path, list }) => {
    const item = { id: '01A', number: '1', name: 'n', email: 'e', version: 1 };
    const numbered = (index: number) => ({
      ...item,
      id: path.endsWith('/api-keys') ? index : `01A${index}`,
      version: index,
    });
    // The second record is on two pages.
    const { client, seen } = await clientFor(
      { data: [numbered(1), numbered(2)], meta: { per_page: 100, next_cursor: 'a+b/c=', prev_cursor: null } },
      { data: [numbered(2)], meta: { per_page: 100, next_cursor: 'z', previous_cursor: 'a' } },
      { data: [numbered(3)], meta: { per_page: 100, next_cursor: null, previous_cursor: 'y' } },
    );
    expect(await collect(list(client))).toMatchObject([numbered(1), numbered(2), numbered(3)]);
    expect(lines(seen)).toEqual([
      `GET ${path}?per_page=100`,
      `GET ${path}?per_page=100&cursor=a%2Bb%2Fc%3D`,
      `GET ${path}?per_page=100&cursor=z`,
    ]);
  });

  it('of numbers ends if the link is missing or empty', async () => {
    const { client } = await clientFor({
      data: [
        { id: '01A', inbound_agent_id: '' },
        { id: '01B', inbound_agent_id: '01C' },
      ],
      meta: { next_cursor: null },
    });
    const links = (await collect(client.numbers.list())).map((each) => [each.inbound_agent_id, each.outbound_agent_id]);
    expect(links).toEqual([
      [null, null],
      ['01C', null],
    ]);
  });

  it('of calls sends filter and cursor in the body', async () => {
    const { client, seen } = await clientFor(
      { data: [{ id: '01C' }], meta: { next_cursor: 'c2' } },
      { data: [{ id: '01D' }], meta: { next_cursor: null } },
    );
    const calls = await collect(client.calls.list({ date_from: '2030-01-01', date_to: null }));
    expect(calls.map(({ id }) => id)).toEqual(['01C', '01D']);
    expect(seen.map(({ method, url, body }) => ({ method, url, body: JSON.parse(body) }))).toEqual([
      { method: 'GET', url: '/api/v1/call-histories', body: { per_page: 100, date_from: '2030-01-01', date_to: null } },
      {
        method: 'GET',
        url: '/api/v1/call-histories',
        body: { per_page: 100, cursor: 'c2', date_from: '2030-01-01', date_to: null },
      },
    ]);
  });

  it('of calls restarts without a cursor when the filters move to the query', async () => {
    const ignored = { data: [{ id: '01A' }], meta: { next_cursor: '20' } };
    const { client, seen } = await clientFor(
      ...[ignored, ignored],
      { data: [{ id: '01A' }, { id: '01B' }], meta: { next_cursor: '20' } },
      { data: [{ id: '01C' }], meta: { next_cursor: null } },
    );
    const calls = await collect(client.calls.list({ date_from: '2030-01-01', date_to: null }));
    expect(calls.map(({ id }) => id)).toEqual(['01A', '01B', '01C']);
    expect(seen.slice(2).map(({ url }) => url)).toEqual([
      '/api/v1/call-histories?date_from=2030-01-01&per_page=100',
      '/api/v1/call-histories?date_from=2030-01-01&per_page=100&cursor=20',
    ]);
  });

  it.each([
    { reason: 'a JSON error', status: 400, type: 'application/json', body: '{"message":"no"}' },
    { reason: 'an HTML page of a gateway', status: 403, type: 'text/html', body: '<h1>no</h1>' },
    { reason: 'an empty body', status: 411, type: 'text/plain', body: '' },
    { reason: 'a status that other requests retry', status: 501, type: 'text/html', body: '<h1>no</h1>' },
  ])('of calls tries the query once if its body is refused with $reason', async (refusal) => {
    let isQueryTaken = true;
    const { url, seen } = await listenHttp((request, response) => {
      const isTaken = isQueryTaken && request.headers['content-length'] === undefined;
      const { status, type, body } = isTaken
        ? { status: 200, type: 'application/json', body: '{"data":[{"id":"01A"}],"meta":{"next_cursor":null}}' }
        : refusal;
      response.writeHead(status, { 'content-type': type }).end(body);
    });
    const { transport } = openTransport({ baseUrl: url });
    const client = createClient({ transport, workspaceId: 'ws 1' });
    expect(await collect(client.calls.list({ date_from: '2030-01-01' }))).toMatchObject([{ id: '01A' }]);
    expect(lines(seen)).toEqual([
      'GET /api/v1/call-histories {"date_from":"2030-01-01","per_page":100}',
      'GET /api/v1/call-histories?date_from=2030-01-01&per_page=100',
    ]);
    isQueryTaken = false;
    const failure = await failureFrom(collect(client.calls.list({})));
    expect(failure).toMatchObject({ status: refusal.status, facts: { path: '/api/v1/call-histories' } });
    expect(seen).toHaveLength(4);
  });

  it('of invoices continues after the last record until a page is empty', async () => {
    const { client, seen } = await clientFor(
      { data: [{ id: 'in_1' }, { id: 'in_2' }] },
      { data: [{ id: 'in_3' }] },
      { data: [] },
    );
    const invoices = await collect(client.invoices.list());
    expect(invoices.map(({ id }) => id)).toEqual(['in_1', 'in_2', 'in_3']);
    const path = '/api/v1/workspaces/ws%201/billing/history';
    expect(lines(seen)).toEqual([
      `GET ${path}?limit=100`,
      `GET ${path}?limit=100&starting_after=in_2`,
      `GET ${path}?limit=100&starting_after=in_3`,
    ]);
  });

  it('of invoices with an ignored cursor is an error, not a loop', async () => {
    const page = { data: [{ id: 'in_1' }] };
    const { client } = await clientFor(page, page, page);
    expect(await failureFrom(collect(client.invoices.list()))).toMatchObject({ reason: 'cursor-loop' });
  });

  const many = (count: number, from = 1) => Array.from({ length: count }, (_, index) => ({ id: from + index }));

  it.each<{ reason: string; meta: unknown; cursor?: string }>([
    { reason: 'a size that is a string', meta: { per_page: '100', next_cursor: 'n' } },
    { reason: 'a previous cursor of another form', meta: { next_cursor: 'n', prev_cursor: {}, previous_cursor: 4 } },
    { reason: 'only the cursor', meta: { next_cursor: 'n' } },
    { reason: 'a cursor that is a number', meta: { per_page: 100, next_cursor: 17 }, cursor: '17' },
    { reason: 'a page that is not full', meta: { per_page: 100, next_cursor: 'n' } },
  ])('with $reason in its meta is read to its end', async ({ meta, cursor = 'n' }) => {
    const { client, seen } = await clientFor(
      { data: many(2), meta },
      { data: many(1, 3), meta: { per_page: [], next_cursor: null, prev_cursor: false } },
    );
    expect(await collect(client.apiKeys.list())).toEqual(many(3));
    expect(seen[1]?.url).toBe(`/api/v1/api-keys?per_page=100&cursor=${cursor}`);
  });

  it.each<{ reason: string; data: unknown[]; meta?: unknown }>([
    { reason: 'an empty cursor and fewer records', data: many(1), meta: { per_page: 2, next_cursor: '' } },
    { reason: 'no cursor and fewer records than a page has', data: many(19), meta: { per_page: 20 } },
    { reason: 'the same with a size that is text', data: many(19), meta: { per_page: '20', next_cursor: false } },
    { reason: 'no records and no meta', data: [] },
  ])('with $reason ends', async ({ data, meta }) => {
    const { client, seen } = await clientFor({ data, meta });
    expect(await collect(client.apiKeys.list())).toEqual(data);
    expect(seen).toHaveLength(1);
  });

  it.each<{ reason: string; data?: unknown[]; meta?: unknown }>([
    { reason: 'no meta', data: many(20) },
    { reason: 'no meta on a page of an unusual size', data: many(7) },
    { reason: 'a meta of null', data: many(100), meta: null },
    { reason: 'a meta that is a list', meta: [] },
    { reason: 'no cursor on a full page', data: many(20), meta: { per_page: 20 } },
    { reason: 'an empty cursor on a full page', data: many(2), meta: { per_page: 2, next_cursor: '' } },
    { reason: 'no cursor and a size of another form', meta: { per_page: {} } },
    { reason: 'a cursor of another form', meta: { per_page: 100, next_cursor: { after: 4 } } },
    { reason: 'a cursor that has lost digits', meta: { per_page: 100, next_cursor: 2 ** 60 } },
  ])('with $reason may be incomplete, which is an error', async ({ data = many(3), meta }) => {
    const { client } = await clientFor({ data, meta });
    const error = await failureFrom(collect(client.apiKeys.list()));
    expect(error).toMatchObject({ reason: 'malformed', outcome: 'not-done' });
    expect(error.message).toMatch(/so the list may be incomplete$/);
  });
});

describe('list of users, without documented paging', () => {
  const people = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ id: `01U${from + index}`, email: `${from + index}@a.example` }));
  const path = '/api/v1/workspaces/ws%201/users';

  it.each([
    { reason: 'without meta', meta: undefined },
    { reason: 'with an uninformative meta', meta: { per_page: 20 } },
  ])('is one list $reason', async ({ meta }) => {
    const { client } = await clientFor({ data: people(1, 20), meta });
    expect(await collect(client.users.list())).toHaveLength(20);
  });

  it('ends if the platform ignores the cursor and repeats the records', async () => {
    const page = { data: people(1, 3), meta: { per_page: 2, next_cursor: 'same' } };
    const { client, seen } = await clientFor(page, page, page);
    expect(await collect(client.users.list())).toEqual(page.data);
    expect(seen).toHaveLength(2);
  });

  it.each([
    { reason: 'as many', bare: people(1, 100), count: 100 },
    { reason: 'more', bare: people(1, 130), count: 130 },
    { reason: 'fewer', bare: people(1, 20), count: undefined },
  ])('of a hundred with an ignored cursor is requested once without a size: $reason', async ({ bare, count }) => {
    const meta = { per_page: 100, next_cursor: 'same' };
    const page = { data: people(1, 100), meta };
    const { client, seen } = await clientFor(page, page, { data: bare, meta });
    const shown = collect(client.users.list());
    if (count === undefined) expect(await failureFrom(shown)).toMatchObject({ reason: 'cursor-loop' });
    else expect(await shown).toEqual(people(1, count));
    expect(seen.map(({ url }) => url)).toEqual([`${path}?per_page=100`, `${path}?per_page=100&cursor=same`, path]);
  });

  it.each([
    { reason: 'as many', bare: { data: people(1, 100) }, count: 100 },
    { reason: 'more', bare: { data: people(1, 130) }, count: 130 },
    { reason: 'pages', bare: { data: people(1, 20), meta: { next_cursor: 'n' } }, count: 21 },
  ])('of a hundred without a cursor is read once without a size, which returns $reason', async ({ bare, count }) => {
    const { client, seen } = await clientFor({ data: people(1, 100) }, bare, { data: people(200, 1) });
    expect(await collect(client.users.list())).toHaveLength(count);
    expect(seen.slice(0, 2).map(({ url }) => url)).toEqual([`${path}?per_page=100`, path]);
  });

  it.each([
    { reason: 'fewer', bare: { data: people(1, 20) } },
    { reason: 'fewer as all', bare: { data: people(1, 20), meta: { next_cursor: null } } },
  ])('may be incomplete if it is a full page, and $reason without a size', async ({ bare }) => {
    const { client, seen } = await clientFor({ data: people(1, 100) }, bare);
    expect(await failureFrom(collect(client.users.list()))).toMatchObject({ reason: 'malformed' });
    expect(seen).toHaveLength(2);
  });

  it.each([400, 422])('is requested without a size if the platform answers that with %i', async (status) => {
    const { url, seen } = await listenHttp((request, response) => {
      const isSized = request.url?.includes('per_page') ?? false;
      response.statusCode = isSized ? status : 200;
      const isFirst = !request.url?.includes('cursor');
      const body = { data: isFirst ? people(1, 2) : people(3, 1), meta: { next_cursor: isFirst ? 'n' : null } };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(isSized ? {} : body));
    });
    const client = createClient({ transport: openTransport({ baseUrl: url }).transport, workspaceId: 'ws 1' });
    expect(await collect(client.users.list())).toEqual(people(1, 3));
    expect(lines(seen)).toEqual([`GET ${path}?per_page=100`, `GET ${path}`, `GET ${path}?cursor=n`]);
  });
});

describe('list of invoices', () => {
  it('is read with ten records per page if the platform refuses a limit', async () => {
    const { url, seen } = await listenHttp((request, response) => {
      const query = new URL(request.url ?? '', 'http://x.example').searchParams;
      response.statusCode = query.has('limit') ? 422 : 200;
      const after = Number(query.get('starting_after')?.slice(3) ?? 0);
      const data = Array.from({ length: Math.min(10, 23 - after) }, (_, index) => ({ id: `in_${after + index + 1}` }));
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ data }));
    });
    const client = createClient({ transport: openTransport({ baseUrl: url }).transport, workspaceId: 'ws 1' });
    expect(await collect(client.invoices.list())).toHaveLength(23);
    expect(seen.filter(({ url }) => url?.includes('limit='))).toHaveLength(1);
  });

  it('that is refused with and without a limit is an error', async () => {
    const { url, seen } = await listenHttp((_, response) => {
      response.writeHead(422, { 'content-type': 'application/json' }).end('{}');
    });
    const client = createClient({ transport: openTransport({ baseUrl: url }).transport, workspaceId: 'ws 1' });
    expect(await failureFrom(collect(client.invoices.list()))).toMatchObject({ status: 422 });
    expect(seen).toHaveLength(2);
  });
});

describe('record', () => {
  it('keeps unknown fields', async () => {
    const { client } = await clientFor({ data: { id: '01A', name: 'a', mood: { today: 'good' } } });
    expect(await client.agents.get('01A')).toEqual({ id: '01A', name: 'a', mood: { today: 'good' } });
  });

  it('keeps a JSON number as it is', async () => {
    const meta = { next_cursor: null };
    const { client } = await clientFor({ data: [{ id: '01N', number: 493012345678, nickname: 5 }], meta });
    expect(await collect(client.numbers.list())).toMatchObject([{ id: '01N', number: 493012345678, nickname: 5 }]);
  });

  it('of a version may have its number as a string, and its data may be null', async () => {
    const { client } = await clientFor(
      { data: [{ version: '12' }, { version: 3 }], meta: { next_cursor: null } },
      { data: { id: '01A', version: '12' } },
      ...[{ data: null }, { data: null }],
    );
    expect(await collect(client.agents.versions('01A'))).toMatchObject([{ version: 12 }, { version: 3 }]);
    expect(await client.agents.get('01A')).toMatchObject({ version: 12 });
    for (const read of [client.agents.latestVersion('01A'), client.agents.version('01A', 2)])
      expect(await failureFrom(read)).toMatchObject({ reason: 'empty', isMissing: true });
  });

  it('of another version than the requested one is an error', async () => {
    const { client } = await clientFor(
      ...[5, '5', 4, '4', null].map((version) => ({ data: { id: '01A', name: 'a', version } })),
    );
    const read = () => client.agents.version('01A', 4);
    for (const _ of ['number', 'text']) {
      const { message } = await failureFrom(read());
      expect(message).toContain('/versions/4: 200, but the response has another version, 5');
    }
    expect([await read(), await read(), await read()]).toMatchObject([{ version: 4 }, { version: 4 }, { name: 'a' }]);
  });

  it('accepts a boolean as a number or a string, and keeps any other value', async () => {
    const users = [1, '0', 'true', null, 'yes', true].map((is_owner, index) => ({ id: `01U${index}`, is_owner }));
    const { client } = await clientFor(
      { data: { id: '01A', tts_config: { enable_backchannel: 0, speed: '1', streaming_latency: '1' } } },
      { data: users, meta: {} },
    );
    expect((await client.agents.get('01A')).tts_config).toEqual({
      enable_backchannel: false,
      speed: '1',
      streaming_latency: 1,
    });
    const owners = (await collect(client.users.list())).map((each) => each.is_owner);
    expect(owners).toEqual([true, false, true, null, 'yes', true]);
  });

  it('keeps a number as a string if no number can represent it', async () => {
    const speeds = ['1e999', '1.5', '-1e999'].map((text) => ({
      data: { id: '01A', tts_config: { speed_alpha: text } },
    }));
    const { client } = await clientFor(...speeds);
    const shown = async () => (await client.agents.get('01A')).tts_config?.speed_alpha;
    expect([await shown(), await shown(), await shown()]).toEqual(['1e999', 1.5, '-1e999']);
  });

  it('treats a field of an unknown form as missing', async () => {
    const data = { id: '01A', name: 'a', llm_config: [], numbers: {}, version: 'two', status: 'draft' };
    const { client } = await clientFor({ data }, { data });
    expect(await client.agents.get('01A')).toEqual({ id: '01A', name: 'a', status: 'draft' });
    expect(await client.agents.create({})).toEqual({ id: '01A', name: 'a', status: 'draft' });
  });

  it('that is read for display keeps a field of an unknown form', async () => {
    const agent = { id: '01A', name: 'a', version: 'two', llm_config: [] };
    const users = [{ id: '01U', email: null, role: 5 }, { email: 'b@b.example' }];
    const { url } = await listenHttp((request, response) => {
      const data = request.url?.includes('users') ? users : agent;
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ data }));
    });
    const { transport } = openTransport({ baseUrl: url });
    const client = createClient({ transport, workspaceId: 'ws', unexpectedFields: 'kept' });
    expect(await client.agents.get('01A')).toEqual(agent);
    expect(await failureFrom(collect(client.users.list()))).toMatchObject({ reason: 'malformed' });
    users.pop();
    expect(await collect(client.users.list())).toEqual(users);
  });

  it.each([
    { reason: 'no data', answer: { id: '01A' }, problem: 'the response has no `data`' },
    { reason: 'a list as data', answer: { data: [] }, problem: '`data` is not a record' },
    { reason: 'null', answer: null, problem: 'the response has no `data`' },
    { reason: 'no id', answer: { data: { name: 'a' } }, problem: 'the record has no valid id' },
    { reason: 'an empty id', answer: { data: { id: '' } }, problem: 'the record has no valid id' },
  ])('with $reason is an error; a write is lost', async ({ answer, problem }) => {
    const { client } = await clientFor(answer, answer, answer);
    const read = await failureFrom(client.agents.get('01A'));
    expect(read).toMatchObject({ reason: 'malformed', status: 200, outcome: 'not-done' });
    expect(read.message).toBe(`GET /api/v1/agents/01A: 200, but ${problem}`);
    const lost = { reason: 'malformed', outcome: 'lost' };
    expect(await failureFrom(client.agents.create({ name: 'a' }))).toMatchObject(lost);
    expect(await failureFrom(client.agents.update('01A', { name: 'a' }))).toMatchObject(lost);
  });

  it.each<{ kind: string; call: (client: PlatformClient) => Promise<unknown>; path: string }>([
    { kind: 'agent', call: (client) => client.agents.get('01B'), path: 'agents/01B' },
    {
      kind: 'webhook',
      call: (client) => client.collection('webhooks', webhookRecord).get('01B'),
      path: 'webhooks/01B',
    },
    { kind: 'call', call: (client) => client.calls.get('01B'), path: 'call-histories/01B' },
  ])('in place of the requested $kind is an error', async ({ call, path }) => {
    const { client } = await clientFor(RECORD);
    const error = await failureFrom(call(client));
    expect(error).toMatchObject({ reason: 'malformed', outcome: 'not-done' });
    expect(error.message).toBe(`GET /api/v1/${path}: 200, but the response has another record, "01A"`);
  });

  it('of a list without an id is named by its position', async () => {
    const { client } = await clientFor({ data: [{ id: '01N', number: '1' }, { number: '2' }] });
    expect((await failureFrom(collect(client.numbers.list()))).message).toBe(
      'GET /api/v1/numbers?per_page=100: 200, but record 2: the record has no valid id',
    );
  });
});
