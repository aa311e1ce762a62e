import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { type CallOptions, call, newAgent } from './call.ts';

interface Refused {
  readonly reason: string;
  readonly request: readonly [method: Dispatcher.HttpMethod, path: string, body?: unknown];
  readonly status: number;
  /** The field that the response must name. */
  readonly field?: string;
}

const UNKNOWN = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const hook = (fields: object) => ['POST', '/api/v1/webhooks', { url: 'https://example.com', ...fields }] as const;
const numbered = (fields: object) => ['POST', '/api/v1/numbers', { number: '+49301', ...fields }] as const;
const user = (body: unknown) => ['PUT', '/api/v1/workspaces/{workspace}/users/{user}', body] as const;
const agent = (body: unknown) => ['PUT', '/api/v1/agents/{agent}', body] as const;
const calls = (body: unknown) => ['GET', '/api/v1/call-histories', body] as const;
const invalid = (reason: string, request: Refused['request'], field: string): Refused => ({
  reason,
  request,
  status: 422,
  field,
});
const missing = (reason: string, request: Refused['request']): Refused => ({ reason, request, status: 404 });

const table: readonly Refused[] = [
  invalid('a name over 255 characters', ['POST', '/api/v1/agents', { name: 'n'.repeat(256) }], 'name'),
  invalid('a name that is not a string', ['POST', '/api/v1/agents', { name: 5 }], 'name'),
  invalid('an update with a name over 255 characters', agent({ name: 'n'.repeat(256) }), 'name'),
  invalid('an update with a null name', agent({ name: null }), 'name'),
  invalid('a config object that is a string', agent({ llm_config: 'gpt' }), 'llm_config'),
  invalid('a config object that is a list', agent({ stt_config: [] }), 'stt_config'),
  invalid('a config object that is null', agent({ tts_config: null }), 'tts_config'),
  invalid(
    'an integer with a fraction',
    agent({ call_config: { ring_duration_ms: 1.5 } }),
    'call_config.ring_duration_ms',
  ),
  invalid('a number as a string', agent({ llm_config: { temperature: '1' } }), 'llm_config.temperature'),
  invalid('a string as a number', agent({ tts_config: { speed: 1 } }), 'tts_config.speed'),
  invalid(
    'a flag as a string',
    agent({ prompt_config: { ai_speak_after_silence: 'yes' } }),
    'prompt_config.ai_speak_after_silence',
  ),
  invalid('an endpoint that is not a URL', agent({ llm_config: { endpoint: 'here' } }), 'llm_config.endpoint'),
  invalid('a base_url that is not a URL', agent({ llm_config: { base_url: 'here' } }), 'llm_config.base_url'),
  invalid(
    'knowledge base ids that are not strings',
    agent({ llm_config: { knowledge_base_ids: [1] } }),
    'llm_config.knowledge_base_ids.0',
  ),
  invalid('tools that are not a list', agent({ llm_config: { tools: {} } }), 'llm_config.tools'),
  invalid(
    'a null in a field that does not accept it',
    agent({ prompt_config: { prompt: null } }),
    'prompt_config.prompt',
  ),
  invalid(
    'backchannel words that are not a list',
    agent({ tts_config: { backchannel_words: 'ok' } }),
    'tts_config.backchannel_words',
  ),
  invalid(
    'chunks with a fraction',
    agent({ knowledge_base_config: { chunks_to_retrieve: 0.5 } }),
    'knowledge_base_config.chunks_to_retrieve',
  ),
  invalid('a number without its number', ['POST', '/api/v1/numbers', { nickname: 'n' }], 'number'),
  invalid('an empty number', numbered({ number: '' }), 'number'),
  invalid('a number of 13 characters', numbered({ number: '+493012345678' }), 'number'),
  invalid('a number with letters', numbered({ number: '+49CALLME' }), 'number'),
  invalid('a number without digits', numbered({ number: '+--' }), 'number'),
  invalid('a number that is a JSON number', numbered({ number: 49301 }), 'number'),
  invalid('an empty nickname', numbered({ nickname: '' }), 'nickname'),
  invalid('a nickname over 255 characters', numbered({ nickname: 'n'.repeat(256) }), 'nickname'),
  invalid('a webhook without url', ['POST', '/api/v1/webhooks', {}], 'url'),
  invalid('a webhook with an invalid url', hook({ url: 'example' }), 'url'),
  invalid('a payload that is a list', hook({ payload: [] }), 'payload'),
  invalid('a payload whose data is a string', hook({ payload: { data: 'x' } }), 'payload.data'),
  invalid('a payload whose event is a number', hook({ payload: { event: 1 } }), 'payload.event'),
  invalid('a payload whose timestamp is a number', hook({ payload: { timestamp: 1 } }), 'payload.timestamp'),
  invalid('a flag of a webhook as a number', hook({ check_https: 1 }), 'check_https'),
  invalid('logging_enabled as a string', hook({ logging_enabled: 'true' }), 'logging_enabled'),
  invalid('retries below 0', hook({ retries: -1 }), 'retries'),
  invalid('retries over 10', hook({ retries: 11 }), 'retries'),
  invalid('retries with a fraction', hook({ retries: 1.5 }), 'retries'),
  invalid('a timeout below 1', hook({ timeout: 0 }), 'timeout'),
  invalid('a timeout over 1800', hook({ timeout: 1801 }), 'timeout'),
  invalid('a user without role', user({ modules: [] }), 'role'),
  invalid('a role that is null', user({ role: null }), 'role'),
  invalid('an unknown role', user({ role: 'boss' }), 'role'),
  invalid('an unknown module', user({ role: 'admin', modules: ['billing'] }), 'modules.0'),
  invalid('an agent that does not exist', user({ role: 'admin', agent_ids: [UNKNOWN] }), 'agent_ids.0'),
  invalid('agent ids that are not a list', user({ role: 'admin', agent_ids: 'x' }), 'agent_ids'),
  ...['numbers', 'knowledge-bases', 'api-keys', 'agents/{agent}/versions', 'workspaces/{workspace}/users'].flatMap(
    (path) => [
      ...['0', '101', '-1', '1.5', 'ten', ''].map((perPage) =>
        invalid(`${path}: ${perPage || 'nothing'} a page`, ['GET', `/api/v1/${path}?per_page=${perPage}`], 'per_page'),
      ),
      invalid(`${path}: an unknown cursor`, ['GET', `/api/v1/${path}?cursor=abc`], 'cursor'),
    ],
  ),
  invalid('0 calls a page', calls({ per_page: 0 }), 'per_page'),
  invalid('101 calls a page', calls({ per_page: 101 }), 'per_page'),
  invalid('a page size as a string', calls({ per_page: '5' }), 'per_page'),
  invalid('an unknown cursor of calls', calls({ cursor: 'abc' }), 'cursor'),
  invalid('a cursor of calls that is a number', calls({ cursor: 1 }), 'cursor'),
  invalid('an invalid date', calls({ date_from: 'yesterday' }), 'date_from'),
  invalid('a day that does not exist', calls({ date_from: '2026-02-31' }), 'date_from'),
  invalid('date_to before date_from', calls({ date_from: '2026-01-02', date_to: '2026-01-01' }), 'date_to'),
  invalid('0 invoices', ['GET', '/api/v1/workspaces/{workspace}/billing/history?limit=0'], 'limit'),
  invalid('a limit that is a word', ['GET', '/api/v1/workspaces/{workspace}/billing/history?limit=all'], 'limit'),
  invalid(
    'an unknown invoice',
    ['GET', `/api/v1/workspaces/{workspace}/billing/history?starting_after=${UNKNOWN}`],
    'starting_after',
  ),
  invalid(
    'an unknown end',
    ['GET', `/api/v1/workspaces/{workspace}/billing/history?ending_before=${UNKNOWN}`],
    'ending_before',
  ),
  missing('an unknown agent', ['GET', `/api/v1/agents/${UNKNOWN}`]),
  missing('an update of an unknown agent', ['PUT', `/api/v1/agents/${UNKNOWN}`, {}]),
  missing('versions of an unknown agent', ['GET', `/api/v1/agents/${UNKNOWN}/versions`]),
  missing('the latest version of an agent without any', ['GET', '/api/v1/agents/{agent}/versions/latest']),
  missing('a version that does not exist', ['GET', '/api/v1/agents/{agent}/versions/1']),
  missing('a version that is not a number', ['GET', '/api/v1/agents/{agent}/versions/first']),
  missing('an unknown webhook', ['GET', `/api/v1/webhooks/${UNKNOWN}`]),
  missing('an unknown call', ['GET', `/api/v1/call-histories/${UNKNOWN}`]),
  missing('an unknown user', ['PUT', `/api/v1/workspaces/{workspace}/users/${UNKNOWN}`, { role: 'admin' }]),
  missing('users of another workspace', ['GET', `/api/v1/workspaces/${UNKNOWN}/users`]),
  missing('a user of another workspace', ['PUT', `/api/v1/workspaces/${UNKNOWN}/users/{user}`, { role: 'admin' }]),
  missing('invoices of another workspace', ['GET', `/api/v1/workspaces/${UNKNOWN}/billing/history`]),
  missing('a list of agents', ['GET', '/api/v1/agents']),
  missing('a list of webhooks', ['GET', '/api/v1/webhooks']),
  missing('the removal of an agent', ['DELETE', '/api/v1/agents/{agent}']),
  missing('an update of a webhook', ['PUT', `/api/v1/webhooks/${UNKNOWN}`, {}]),
  missing('an update of a number', ['PUT', `/api/v1/numbers/${UNKNOWN}`, {}]),
  missing('a new user', ['POST', '/api/v1/workspaces/{workspace}/users', {}]),
];

describe('refused requests', () => {
  it.each(table)('$status for $reason', async ({ request: [method, path, body], status, field }) => {
    await using emulator = await startEmulator({ seed: 7 });
    const filled = await fillIn(emulator, path);
    const before = JSON.stringify(emulator.world.toData());
    const answer = await call(emulator, [method, filled, body]);
    expect(answer.status).toBe(status);
    expect(answer.at('message')).toMatch(/./);
    if (field !== undefined) expect(Object.keys(answer.at('errors') as object)).toContain(field);
    expect(JSON.stringify(emulator.world.toData())).toBe(before);
  });

  const bodies: readonly { reason: string; options: CallOptions; status: number }[] = [
    { reason: 'invalid JSON', options: { raw: '{"name":' }, status: 400 },
    { reason: 'a list', options: { raw: '[]' }, status: 422 },
    { reason: 'a string', options: { raw: '"name"' }, status: 422 },
    {
      reason: 'a form',
      options: { raw: 'name=a', headers: { authorization: 'Bearer x', 'content-type': 'text/plain' } },
      status: 415,
    },
  ];

  it.each(bodies)('$status for a body that is $reason', async ({ options, status }) => {
    await using emulator = await startEmulator();
    const answer = await call(emulator, ['POST', '/api/v1/agents'], options);
    expect(answer.status).toBe(status);
    expect(emulator.world.agents.size).toBe(0);
  });

  const keys = [
    { reason: 'no key', headers: {}, apiKey: undefined, status: 401 },
    { reason: 'another scheme', headers: { authorization: 'Basic eA==' }, apiKey: undefined, status: 401 },
    { reason: 'an empty key', headers: { authorization: 'Bearer ' }, apiKey: undefined, status: 401 },
    {
      reason: 'any key if none is configured',
      headers: { authorization: 'Bearer x' },
      apiKey: undefined,
      status: 200,
    },
    { reason: 'the wrong key', headers: { authorization: 'Bearer x' }, apiKey: 'right', status: 401 },
    { reason: 'the right key', headers: { authorization: 'Bearer right' }, apiKey: 'right', status: 200 },
  ];

  it.each(keys)('$status with $reason', async ({ headers, apiKey, status }) => {
    await using emulator = await startEmulator({ apiKey });
    expect((await call(emulator, ['GET', '/api/v1/numbers'], { headers: { ...headers } })).status).toBe(status);
    expect(JSON.stringify(emulator.requests)).not.toMatch(/bearer|basic|right/i);
  });

  const limits: readonly { reason: string; request: Refused['request'] }[] = [
    { reason: 'a name of 255 characters', request: ['POST', '/api/v1/agents', { name: 'n'.repeat(255) }] },
    { reason: 'an agent without anything', request: ['POST', '/api/v1/agents', {}] },
    { reason: 'an update without anything', request: agent(undefined) },
    { reason: 'a number of 1 character', request: numbered({ number: '1' }) },
    { reason: 'a number of 12 characters', request: numbered({ number: '+49301234567' }) },
    { reason: 'a nickname of 255 characters', request: numbered({ nickname: 'n'.repeat(255) }) },
    { reason: '10 retries, timeout 1', request: hook({ retries: 10, timeout: 1, payload: null }) },
    { reason: 'no retries, timeout 1800', request: hook({ retries: 0, timeout: 1800, payload: {} }) },
    { reason: 'the same date twice', request: calls({ date_from: '2026-01-01', date_to: '2026-01-01' }) },
    { reason: 'a null message', request: agent({ prompt_config: { welcome_message: null } }) },
  ];

  it.each(limits)('do not include $reason', async ({ request: [method, path, body] }) => {
    await using emulator = await startEmulator();
    const answer = await call(emulator, [method, await fillIn(emulator, path), body]);
    expect(answer.status, answer.text).toBeLessThan(300);
  });
});

async function fillIn(emulator: Emulator, path: string): Promise<string> {
  const agentId = await newAgent(emulator);
  const { id } = emulator.dashboard.inviteUser({ email: 'ada@example.com' });
  return path.replace('{workspace}', emulator.workspaceId).replace('{agent}', agentId).replace('{user}', id);
}
