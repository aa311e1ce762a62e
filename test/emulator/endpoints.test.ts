import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { agentRecord, versionSummary } from '../../src/platform/records/agent-records.ts';
import { callRecord } from '../../src/platform/records/call-records.ts';
import { numberRecord } from '../../src/platform/records/number-records.ts';
import { userRecord } from '../../src/platform/records/user-records.ts';
import { webhookRecord } from '../../src/platform/records/webhook-records.ts';
import { apiKeyRecord, invoiceRecord, knowledgeBaseRecord } from '../../src/platform/records/workspace-records.ts';
import { call, newAgent } from './call.ts';

const ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const OFFSET_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/;
const MICROSECOND_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const lastPage = { per_page: 20, next_cursor: null, prev_cursor: null };

/** Returns an emulator with one record of each type. */
async function furnished() {
  const emulator = await startEmulator({ seed: 'endpoints' });
  const agent = await newAgent(emulator, { name: 'One', call_config: { ring_duration_ms: 5 } });
  const number = await call(emulator, ['POST', '/api/v1/numbers', { number: '+4930123456' }]);
  const webhook = await call(emulator, ['POST', '/api/v1/webhooks', { url: 'https://example.com/hook' }]);
  emulator.dashboard.publishAgent(agent);
  const user = emulator.dashboard.inviteUser({ email: 'ada@example.com', role: 'owner' });
  emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
  const talk = emulator.dashboard.recordCall({ agent_id: agent });
  emulator.dashboard.addInvoice();
  emulator.dashboard.addApiKey({ name: 'ci' });
  return { emulator, agent, number, webhook, user, talk };
}

interface ListCase {
  readonly path: string;
  readonly record: () => z.ZodType;
  readonly times: RegExp | undefined;
  readonly meta: object | undefined;
}

describe('the lists', () => {
  const cases: readonly ListCase[] = [
    { path: '/api/v1/numbers', record: numberRecord, times: OFFSET_TIME, meta: lastPage },
    { path: '/api/v1/knowledge-bases', record: knowledgeBaseRecord, times: MICROSECOND_TIME, meta: lastPage },
    { path: '/api/v1/call-histories', record: callRecord, times: MICROSECOND_TIME, meta: lastPage },
    { path: '/api/v1/api-keys', record: apiKeyRecord, times: MICROSECOND_TIME, meta: lastPage },
    { path: '/api/v1/workspaces/{workspace}/users', record: userRecord, times: undefined, meta: lastPage },
    {
      path: '/api/v1/workspaces/{workspace}/billing/history',
      record: invoiceRecord,
      times: undefined,
      meta: undefined,
    },
    {
      path: '/api/v1/agents/{agent}/versions',
      record: versionSummary,
      times: undefined,
      meta: { per_page: 20, next_cursor: null, previous_cursor: null },
    },
  ];

  it.each(cases)('$path has its record and meta', async ({ path, record, times, meta }) => {
    const { emulator, agent } = await furnished();
    await using _ = emulator;
    const answer = await call(emulator, [
      'GET',
      path.replace('{workspace}', emulator.workspaceId).replace('{agent}', agent),
    ]);
    expect(answer.status).toBe(200);
    const data = answer.at('data') as readonly Record<string, unknown>[];
    expect(data).toHaveLength(1);
    expect(record().safeParse(data[0]).error).toBeUndefined();
    expect(answer.at('meta')).toEqual(meta);
    if (times !== undefined) expect(data[0]?.created_at).toMatch(times);
  });
});

describe('single records', () => {
  it('creates an agent as a draft, and returns all its config objects except the hidden one', async () => {
    await using emulator = await startEmulator();
    const body = {
      name: 'Desk',
      call_config: { max_call_duration_ms: 60_000 },
      knowledge_base_config: { chunks_to_retrieve: 3 },
      llm_config: { model: 'm', api_key: 'sk-not-to-be-seen', tools: [{ any: 'shape' }] },
      prompt_config: { prompt: 'Hello' },
      stt_config: { provider: 'p' },
      tts_config: { speed: 'fast' },
    };
    const answer = await call(emulator, ['POST', '/api/v1/agents', body]);
    expect(answer.status).toBe(201);
    expect(agentRecord().safeParse(answer.at('data')).error).toBeUndefined();
    expect(answer.at('data')).toEqual({
      id: expect.stringMatching(ID),
      name: 'Desk',
      status: 'draft',
      version: null,
      numbers: [],
      call_config: body.call_config,
      llm_config: { model: 'm', tools: [{ any: 'shape' }] },
      prompt_config: body.prompt_config,
      stt_config: body.stt_config,
      tts_config: body.tts_config,
      workspace_id: emulator.workspaceId,
      created_at: expect.stringMatching(OFFSET_TIME),
      updated_at: expect.stringMatching(OFFSET_TIME),
      published_at: null,
    });
  });

  it('returns only some config objects after a read or an update', async () => {
    await using emulator = await startEmulator();
    const id = await newAgent(emulator);
    const configsOf = (record: unknown) => Object.keys(record as object).filter((key) => key.endsWith('_config'));
    const read = await call(emulator, ['GET', `/api/v1/agents/${id}`]);
    const updated = await call(emulator, ['PUT', `/api/v1/agents/${id}`, { name: 'New' }]);
    expect(configsOf(read.at('data'))).toEqual(['call_config', 'llm_config', 'prompt_config']);
    expect(configsOf(updated.at('data'))).toEqual(['llm_config', 'prompt_config', 'tts_config']);
    expect(updated.at('data.name')).toBe('New');
  });

  it('keeps published versions unchanged when the draft changes', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    const id = await newAgent(emulator, { name: 'First', stt_config: { model: 'a' } });
    emulator.dashboard.publishAgent(id);
    await call(emulator, ['PUT', `/api/v1/agents/${id}`, { name: 'Second', stt_config: { model: 'b' } }]);
    const draft = await call(emulator, ['GET', `/api/v1/agents/${id}`]);
    expect(draft.at('data')).toMatchObject({ name: 'Second', status: 'draft', version: 1 });
    expect(Date.parse(String(draft.at('data.updated_at')))).toBeGreaterThan(
      Date.parse(String(draft.at('data.published_at'))),
    );
    emulator.dashboard.publishAgent(id);
    const first = await call(emulator, ['GET', `/api/v1/agents/${id}/versions/1`]);
    const latest = await call(emulator, ['GET', `/api/v1/agents/${id}/versions/latest`]);
    expect([first.at('data.name'), first.at('data.stt_config.model')]).toEqual(['First', 'a']);
    expect([latest.at('data.name'), latest.at('data.stt_config.model')]).toEqual(['Second', 'b']);
    const list = await call(emulator, ['GET', `/api/v1/agents/${id}/versions`]);
    expect(list.at('data')).toEqual([
      { version: 2, published_at: expect.stringMatching(MICROSECOND_TIME) },
      { version: 1, published_at: expect.stringMatching(MICROSECOND_TIME) },
    ]);
  });

  it('creates a number without links and with trunk and dispatch', async () => {
    const { emulator, number } = await furnished();
    await using _ = emulator;
    expect(number.status).toBe(201);
    expect(number.at('data')).toMatchObject({
      id: expect.stringMatching(ID),
      number: '+4930123456',
      inbound_agent_id: null,
      outbound_agent_id: null,
      telephony_trunk_id: expect.stringMatching(/./),
      telephony_dispatch_id: expect.stringMatching(/./),
      workspace_id: emulator.workspaceId,
    });
  });

  it('creates and reads a webhook', async () => {
    const { emulator } = await furnished();
    await using _ = emulator;
    const body = {
      url: 'https://example.com/x',
      payload: { data: { a: [1] }, event: 'e', timestamp: 't' },
      check_https: false,
      logging_enabled: true,
      retries: 0,
      timeout: 1800,
    };
    const created = await call(emulator, ['POST', '/api/v1/webhooks', body]);
    expect(created.status).toBe(201);
    const read = await call(emulator, ['GET', `/api/v1/webhooks/${created.at('data.id')}`]);
    expect(read.body).toEqual(created.body);
    expect(read.at('data')).toMatchObject(body);
    expect(webhookRecord().safeParse(read.at('data')).error).toBeUndefined();
  });

  it('updates a user and reads a call', async () => {
    const { emulator, user, agent, talk } = await furnished();
    await using _ = emulator;
    const body = { role: 'member', modules: ['analytics', 'agents'], agent_ids: [agent] };
    const updated = await call(emulator, ['PUT', `/api/v1/workspaces/${emulator.workspaceId}/users/${user.id}`, body]);
    expect(updated.status).toBe(200);
    expect(updated.at('data')).toEqual({ ...user, ...body, is_owner: false });
    const read = await call(emulator, ['GET', `/api/v1/call-histories/${talk.id}`]);
    expect(read.at('data')).toEqual(talk);
  });

  it('ignores unknown fields at any depth', async () => {
    await using emulator = await startEmulator();
    const id = await newAgent(emulator, { name: 'A', colour: 1, tts_config: { speed: 'x', pitch: 2 } });
    expect(emulator.world.agents.get(id)).toMatchObject({ name: 'A', tts_config: { speed: 'x' } });
    expect(JSON.stringify(emulator.world.toData())).not.toMatch(/colour|pitch/);
  });
});

describe('the filters of call histories', () => {
  const days = ['2026-03-01', '2026-03-02', '2026-03-03'];
  const cases = [
    { filter: {}, starts: [3, 2, 1], reason: 'all calls without a filter, newest first' },
    { filter: { date_from: null, date_to: null }, starts: [3, 2, 1], reason: 'null as no filter' },
    { filter: { date_from: '2026-03-02' }, starts: [3, 2], reason: 'the first day is included' },
    { filter: { date_to: '2026-03-02' }, starts: [2, 1], reason: 'a last day without a time is included' },
    {
      filter: { date_to: '2026-03-02T11:00:00Z' },
      starts: [1],
      reason: 'a date-time is exact',
    },
    {
      filter: { date_from: '2026-03-02', date_to: '2026-03-02' },
      starts: [2],
      reason: 'the same first and last day',
    },
    { filter: { per_page: 2 }, starts: [3, 2], reason: 'the page size in the body' },
  ];

  it.each(cases)('apply $filter: $reason', async ({ filter, starts }) => {
    await using emulator = await startEmulator();
    for (const day of days) {
      emulator.dashboard.recordCall({ agent_id: 'a', start_time: `${day}T12:00:00.000000Z` });
    }
    const answer = await call(emulator, ['GET', '/api/v1/call-histories', filter]);
    const data = answer.at('data') as readonly { start_time: string }[];
    expect(data.map(({ start_time }) => Number(start_time.slice(8, 10)))).toEqual(starts);
  });
});
