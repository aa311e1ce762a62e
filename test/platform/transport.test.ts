import nock from 'nock';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Transport, type TransportRequest } from '../../src/platform/transport.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { Secret } from '../../src/values/value.ts';
import { API_KEY, BASE_URL, failureFrom, openTransport } from './open-transport.ts';

const PATH = '/api/v1/agents/01A';
const GET: TransportRequest = { method: 'GET', path: PATH };
const PUT: TransportRequest = { method: 'PUT', path: PATH, body: { name: 'a' } };
const POST: TransportRequest = { method: 'POST', path: '/api/v1/agents', body: { name: 'a' } };

beforeAll(() => nock.disableNetConnect());
afterEach(() => {
  const left = nock.pendingMocks();
  nock.cleanAll();
  expect(left).toEqual([]);
});
afterAll(() => {
  nock.enableNetConnect();
  nock.restore();
});

describe('request', () => {
  it('sends the key and accepts JSON', async () => {
    nock(BASE_URL, { reqheaders: { authorization: `Bearer ${API_KEY}`, accept: 'application/json' } })
      .get(PATH)
      .reply(200, { data: { id: '01A' } }, { 'x-request-id': 'r-1' });
    const { transport, events } = openTransport();
    expect(await transport.send(GET)).toEqual({ status: 200, body: { data: { id: '01A' } }, requestId: 'r-1' });
    expect(events).toEqual([{ method: 'GET', path: PATH, status: 200, attempt: 1, milliseconds: 0 }]);
  });

  it('sends the content type of a GET with a body', async () => {
    // nock does not forward the body of a GET; a test with a socket shows that it arrives.
    nock(BASE_URL, { reqheaders: { 'content-type': 'application/json', 'content-length': '16' } })
      .get('/api/v1/call-histories')
      .reply(200, { data: [] });
    const { transport } = openTransport();
    const answer = await transport.send({ method: 'GET', path: '/api/v1/call-histories', body: { per_page: 100 } });
    expect(answer.body).toEqual({ data: [] });
  });

  it('is sent below the path of the base URL', async () => {
    nock(BASE_URL).get(`/eu${PATH}`).reply(200, { data: 1 });
    const { transport } = openTransport({ baseUrl: `${BASE_URL}/eu/` });
    expect((await transport.send(GET)).status).toBe(200);
  });
});

it('keeps no slot if no connection can be made', async () => {
  const proxy = { origin: 'nonsense', shown: 'nonsense', credentials: undefined, variable: 'HTTP_PROXY' };
  const { transport } = openTransport({ concurrency: 1, baseUrl: 'http://127.0.0.1:9', proxy });
  for (let tries = 1; tries <= 2; tries++) await expect(transport.send(GET)).rejects.toThrow('Invalid URL');
});

describe('temporary failure', () => {
  it.each([408, 429, 500, 502, 503, 504, 520])('%i is retried by GET and PUT', async (status) => {
    nock(BASE_URL).get(PATH).reply(status).get(PATH).reply(200, { data: 1 });
    nock(BASE_URL).put(PATH).times(2).reply(status).put(PATH).reply(200, { data: 2 });
    const { transport, clock, events } = openTransport();
    expect((await transport.send(GET)).body).toEqual({ data: 1 });
    expect((await transport.send(PUT)).body).toEqual({ data: 2 });
    expect(events.map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2, 3]);
    expect(clock.waits).toEqual([500, 500, 1000]);
  });

  it('is retried up to five attempts', async () => {
    nock(BASE_URL).get(PATH).times(5).reply(500, { message: 'out of order' });
    const { transport, clock } = openTransport();
    const error = await failureFrom(transport.send(GET));
    expect(error.message).toBe(`GET ${PATH}: 500 out of order (after 5 tries)`);
    expect(error).toMatchObject({ reason: 'status', status: 500, outcome: 'not-done' });
    expect(clock.waits).toEqual([500, 1000, 2000, 4000]);
  });

  it('makes a failing PUT unknown', async () => {
    nock(BASE_URL).put(PATH).reply(502).put(PATH).reply(404, { message: 'gone' });
    const { transport } = openTransport();
    expect(await failureFrom(transport.send(PUT))).toMatchObject({ status: 404, outcome: 'lost' });
  });

  const page = '<!doctype html><html><head><title>404</title></head><body><h1>404 Not Found</h1></body></html>';
  it.each([
    { body: 'default backend - 404', type: 'text/plain' },
    { body: '404', type: 'text/plain' },
    { body: page, type: 'text/html' },
    { body: page, type: 'application/json' },
    { body: page, type: 'text/html', status: 410 },
  ])('a 404 or 410 with $body as $type is retried', async ({ body, type, status = 404 }) => {
    const headers = { 'content-type': type };
    nock(BASE_URL).get(PATH).reply(status, body, headers).get(PATH).reply(200, { data: 1 });
    nock(BASE_URL).put(PATH).reply(status, body, headers).put(PATH).reply(200, { data: 2 });
    const { transport, clock } = openTransport();
    expect((await transport.send(GET)).body).toEqual({ data: 1 });
    expect((await transport.send(PUT)).body).toEqual({ data: 2 });
    expect(clock.waits).toEqual([500, 500]);
  });

  it('reports after all attempts that a 404 is not from the platform', async () => {
    nock(BASE_URL).get(PATH).times(5).reply(404, 'default backend - 404', { 'content-type': 'text/plain' });
    const { transport } = openTransport();
    const error = await failureFrom(transport.send(GET));
    expect(error.message).toBe(
      `GET ${PATH}: 404 from a gateway or another server, not the platform: default backend - 404 (after 5 tries)`,
    );
    expect(error).toMatchObject({ reason: 'gateway', status: 404, outcome: 'not-done', isMissing: false });
  });

  it("treats an HTML 403 as a gateway's, which is not retried", async () => {
    nock(BASE_URL).get(PATH).reply(403, '<h1>Forbidden</h1>', { 'content-type': 'text/html' });
    const { transport } = openTransport();
    const error = await failureFrom(transport.send(GET));
    expect(error).toMatchObject({ reason: 'gateway', status: 403, isForbidden: false });
    expect(error.message).not.toContain('API key');
  });

  it.each([
    { body: '', type: 'text/html', reason: 'an empty response' },
    { body: ' \n', type: 'text/plain', reason: 'a blank response' },
    { body: '{"message":"no such agent"}', type: 'text/html', reason: 'an object of any type' },
    { body: '"not found"', type: 'application/problem+json', reason: 'a JSON string' },
  ])('treats $reason as a 404 or 410 of the platform', async ({ body, type }) => {
    for (const status of [404, 410]) {
      nock(BASE_URL).get(PATH).reply(status, body, { 'content-type': type });
      const { transport, events } = openTransport();
      expect(await failureFrom(transport.send(GET))).toMatchObject({ reason: 'status', isMissing: true });
      expect(events).toHaveLength(1);
    }
  });

  it('never repeats a POST that a gateway answers with 404', async () => {
    nock(BASE_URL).post('/api/v1/agents').reply(404, page, { 'content-type': 'text/html' });
    const { transport, events } = openTransport();
    expect(await failureFrom(transport.send(POST))).toMatchObject({ reason: 'gateway', outcome: 'not-done' });
    expect(events).toHaveLength(1);
  });

  it.each([400, 401, 403, 404, 409, 422])('%i is final', async (status) => {
    nock(BASE_URL).get(PATH).reply(status);
    const { transport, events } = openTransport();
    expect(await failureFrom(transport.send(GET))).toMatchObject({ status, outcome: 'not-done' });
    expect(events).toHaveLength(1);
  });
});

describe('a POST', () => {
  it.each([
    { status: 408, outcome: 'lost' },
    { status: 500, outcome: 'lost' },
    { status: 502, outcome: 'lost' },
    { status: 503, outcome: 'lost' },
    { status: 504, outcome: 'lost' },
    { status: 302, outcome: 'lost' },
    { status: 303, outcome: 'lost' },
    { status: 307, outcome: 'not-done' },
    { status: 308, outcome: 'not-done' },
    { status: 400, outcome: 'not-done' },
    { status: 409, outcome: 'lost' },
    { status: 460, outcome: 'lost' },
    { status: 499, outcome: 'lost' },
    { status: 422, outcome: 'not-done' },
  ])('with response $status is $outcome and not repeated', async ({ status, outcome }) => {
    nock(BASE_URL).post('/api/v1/agents').reply(status, { message: 'no' }, { 'retry-after': '1' });
    const { transport, events } = openTransport();
    expect(await failureFrom(transport.send(POST))).toMatchObject({ status, outcome });
    expect(events).toHaveLength(1);
  });

  it('with response 429 is sent again', async () => {
    nock(BASE_URL).post('/api/v1/agents').times(3).reply(429).post('/api/v1/agents').reply(201, { data: 1 });
    const { transport, clock } = openTransport();
    expect((await transport.send(POST)).status).toBe(201);
    expect(clock.waits).toEqual([500, 1000, 2000]);
  });

  it.each([
    { reason: 'empty', body: '', problem: 'the response is empty' },
    { reason: 'blank', body: ' \n', problem: 'the response is empty' },
    { reason: 'truncated', body: '{"data":{"id":"01', problem: 'the response is invalid or truncated JSON' },
    {
      reason: 'an HTML page',
      body: '<html><head><title>Sign\u001b[31m in</title></head></html>',
      problem: 'the response is an HTML page, not JSON: Sign in',
    },
    { reason: 'text', body: 'OK', problem: 'the response is not JSON but text/plain' },
  ])('is lost if its success is $reason', async ({ body, problem }) => {
    nock(BASE_URL)
      .post('/api/v1/agents')
      .reply(201, body, { 'content-type': 'text/plain; charset=utf-8', 'x-request-id': 'r-9' });
    const { transport, events } = openTransport();
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'malformed', outcome: 'lost', status: 201 });
    expect(error.message).toBe(`POST /api/v1/agents: 201, but ${problem} (request id r-9); it may have succeeded`);
    expect(events).toHaveLength(1);
  });
});

describe('Retry-After', () => {
  it.each([
    { reason: 'seconds', header: '7', date: undefined, wait: 7000 },
    {
      reason: "a date, by the platform's clock",
      header: 'Tue, 01 Jan 2030 10:00:20 GMT',
      date: 'Tue, 01 Jan 2030 10:00:00 GMT',
      wait: 20_000,
    },
    {
      reason: 'a date, by our own clock if the platform sends none',
      header: 'Tue, 01 Jan 2030 00:00:30 GMT',
      date: undefined,
      wait: 30_000,
    },
    { reason: 'a date in the past', header: 'Mon, 31 Dec 2029 00:00:30 GMT', date: undefined, wait: 500 },
    { reason: 'an invalid value', header: 'soon', date: undefined, wait: 500 },
    { reason: 'a negative number', header: '-5', date: undefined, wait: 500 },
  ])('is parsed: $reason', async ({ header, date, wait }) => {
    nock(BASE_URL)
      .get(PATH)
      .reply(429, '', { 'retry-after': header, ...(date === undefined ? {} : { date }) })
      .get(PATH)
      .reply(200, { data: 1 });
    const { transport, clock, notices } = openTransport();
    await transport.send(GET);
    expect(clock.waits).toEqual([wait]);
    expect(notices).toEqual([]);
  });

  it.each([500, 502, 503])('is honored with %i too, by all requests', async (status) => {
    nock(BASE_URL).get(PATH).reply(status, '', { 'retry-after': '9' }).get(PATH).times(2).reply(200, { data: 1 });
    const { transport, clock } = openTransport({ concurrency: 1 });
    await Promise.all([transport.send(GET), transport.send(GET)]);
    expect(clock.waits).toEqual([9000]);
  });

  it('of more than a minute is announced', async () => {
    nock(BASE_URL).get(PATH).reply(429, '', { 'retry-after': '90' }).get(PATH).reply(200, { data: 1 });
    const { transport, clock, notices } = openTransport();
    await transport.send(GET);
    expect(notices).toEqual(['the platform asks for a pause of 90 s (status 429); waiting']);
    expect(clock.waits).toEqual([90_000]);
  });

  it('above the maximum wait fails at once, without waiting', async () => {
    nock(BASE_URL).post('/api/v1/agents').reply(429, '', { 'retry-after': '301' });
    const { transport, clock, notices } = openTransport();
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'status', status: 429, outcome: 'not-done' });
    expect(error.message).toContain('asks for another pause of 301 s; the limit for all pauses is 300 s');
    expect(clock.waits).toEqual([]);
    expect(notices).toEqual([]);
    // A request during the pause is refused without being sent.
    expect(await failureFrom(transport.send(GET))).toMatchObject({ status: 429, outcome: 'not-done' });
  });

  it.each([429, 503])('with %i ends when the pauses together exceed the maximum wait', async (status) => {
    nock(BASE_URL).get(PATH).times(4).reply(status, '', { 'retry-after': '30' });
    const { transport, clock } = openTransport({ maxWaitSeconds: 100 });
    const error = await failureFrom(transport.send(GET));
    expect(error.status).toBe(status);
    expect(error.message).toContain('the limit for all pauses is 100 s');
    expect(clock.waits).toEqual([30_000, 30_000, 30_000]);
  });

  it('is optional: a platform that refuses for the maximum wait is given up', async () => {
    nock(BASE_URL).get(PATH).reply(429).persist();
    const { transport, clock } = openTransport({ maxWaitSeconds: 60 });
    expect(await failureFrom(transport.send(GET))).toMatchObject({ status: 429 });
    expect(clock.waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThanOrEqual(60_000);
    expect(clock.waits.slice(0, 4)).toEqual([500, 1000, 2000, 4000]);
    nock.cleanAll();
  });
});

describe('redirect', () => {
  it.each([301, 302, 303, 307, 308])('%i is not followed', async (status) => {
    const elsewhere = nock('https://elsewhere.example.com').get(PATH).reply(200, {});
    nock(BASE_URL)
      .get(PATH)
      .reply(status, '', { location: `https://elsewhere.example.com${PATH}` });
    const { transport } = openTransport();
    const error = await failureFrom(transport.send(GET));
    expect(error).toMatchObject({ reason: 'redirect', status, outcome: 'not-done' });
    expect(error.message).toBe(`GET ${PATH}: ${status} redirect (https://elsewhere.example.com), not followed`);
    expect(elsewhere.isDone()).toBe(false);
    nock.cleanAll();
  });
});

describe('error', () => {
  it("contains the platform's message, without the key", async () => {
    nock(BASE_URL)
      .get(PATH)
      .reply(422, { errors: { name: [`bad token ${API_KEY}`] } }, { 'x-request-id': API_KEY });
    const { transport } = openTransport();
    const error = await failureFrom(transport.send(GET));
    expect(error.message).toBe(`GET ${PATH}: 422 name: bad token (secret) (request id (secret))`);
    expect(error.facts).toMatchObject({ field: 'name', detail: 'name: bad token (secret)' });
  });

  it('is redacted of secrets known to the caller', async () => {
    nock(BASE_URL).put(PATH).reply(400, { message: 'no such key: sk-openai-1' });
    const { transport } = openTransport({ redact: (text) => text.replaceAll('sk-openai-1', '(secret)') });
    expect((await failureFrom(transport.send(PUT))).message).toBe(`PUT ${PATH}: 400 no such key: (secret)`);
  });

  it.each([
    { status: 401, words: '401 the API key was rejected: Unauthenticated.' },
    { status: 403, words: '403 the API key lacks permission: Unauthenticated.' },
  ])('$status mentions the key', async ({ status, words }) => {
    nock(BASE_URL).get(PATH).reply(status, { message: 'Unauthenticated.' });
    const { transport } = openTransport();
    expect((await failureFrom(transport.send(GET))).message).toBe(`GET ${PATH}: ${words}`);
  });
});

describe('rate limit', () => {
  it('spaces the starts of requests', async () => {
    nock(BASE_URL).get(PATH).times(4).reply(200, {});
    const { transport, clock } = openTransport({ requestsPerSecond: 5 });
    await Promise.all([GET, GET, GET, GET].map((request) => transport.send(request)));
    expect(clock.waits).toEqual([200, 200, 200]);
  });
});

describe('signal', () => {
  it('before a request prevents it', async () => {
    const { transport, events } = openTransport({ signal: AbortSignal.abort() });
    expect(await failureFrom(transport.send(POST))).toMatchObject({ reason: 'aborted', outcome: 'not-done' });
    expect(events).toEqual([]);
  });

  it('during a pause ends it', async () => {
    nock(BASE_URL).get(PATH).reply(500);
    const controller = new AbortController();
    const { transport } = openTransport({
      signal: controller.signal,
      wait: (_milliseconds, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          controller.abort();
        }),
    });
    expect(await failureFrom(transport.send(GET))).toMatchObject({ reason: 'aborted' });
  });
});

describe('invalid option', () => {
  it.each([
    { reason: 'not a URL', baseUrl: 'platform', key: API_KEY, message: 'base_url is not a URL' },
    {
      reason: 'another protocol',
      baseUrl: 'ftp://a.example',
      key: API_KEY,
      message: 'base_url is neither http nor https',
    },
    {
      reason: 'credentials',
      baseUrl: 'https://u:p@a.example',
      key: API_KEY,
      message: 'base_url contains a user name or a password',
    },
    {
      reason: 'a query',
      baseUrl: 'https://a.example?x=1',
      key: API_KEY,
      message: 'base_url has a query or a fragment',
    },
    { reason: 'the API path', baseUrl: 'https://a.example/api/v1/', key: API_KEY, message: 'base_url ends in /api/v1' },
    { reason: 'an empty key', baseUrl: BASE_URL, key: '', message: 'the API key PLATFORM_KEY is empty' },
    {
      reason: 'a key with a line break',
      baseUrl: BASE_URL,
      key: `${API_KEY}\n`,
      message: 'the API key PLATFORM_KEY contains spaces, line breaks or invalid characters',
    },
  ])('$reason is refused', ({ baseUrl, key, message }) => {
    const open = () =>
      new Transport({
        baseUrl,
        apiKey: new Secret('PLATFORM_KEY', key),
        concurrency: 1,
        requestsPerSecond: null,
        timeoutSeconds: 1,
      });
    expect(open).toThrow(UserError);
    expect(open).toThrow(new UserError(message).message);
  });
});
