import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BodyFacts, createBody, resentFields, sentAtCreate, updateBody } from '../../../src/engine/decide/body.ts';
import { leavesOf } from '../../../src/engine/decide/field-rules.ts';
import type { Kind } from '../../../src/kinds/kind.ts';
import { isObject, type Json, type JsonObject } from '../../../src/values/json.ts';
import { agentKind, entryOf, fingerprints, numberKind, type Spec, secret, userKind, webhookKind } from './facts.ts';

interface Case extends Partial<Omit<BodyFacts, 'kind' | 'leaves' | 'record'>> {
  readonly spec: Spec;
  readonly record?: object;
}

function factsOf(kind: Kind, { spec, record = {}, ...rest }: Case): BodyFacts {
  return {
    kind,
    leaves: leavesOf(kind, spec),
    record: { id: 'R1', ...record },
    published: undefined,
    entry: undefined,
    changed: [],
    ignoreDrift: [],
    ...rest,
  };
}

function body(kind: Kind, facts: Case): JsonObject {
  return updateBody(factsOf(kind, facts));
}

describe('the body of an update', () => {
  it.each<Case & { reason: string; sent: Json }>([
    {
      reason: 'a single plain field',
      spec: { name: 'Ada', llm_config: { model: 'm' } },
      record: { name: 'Eve', llm_config: { model: 'm' } },
      changed: ['name'],
      sent: { name: 'Ada' },
    },
    {
      reason: 'a complete config object, desired over returned fields',
      spec: { llm_config: { model: 'm', temperature: 0 } },
      record: { llm_config: { model: 'old', region: 'eu', tools: [1] } },
      changed: ['llm_config.model'],
      sent: { llm_config: { model: 'm', temperature: 0, region: 'eu', tools: [1] } },
    },
    {
      reason: 'a hidden config object as the manifest has it',
      spec: { tts_config: { voice_id: 'v', speed: 'fast' } },
      changed: ['tts_config.speed'],
      sent: { tts_config: { voice_id: 'v', speed: 'fast' } },
    },
    {
      reason: 'no mask in place of a secret',
      spec: { llm_config: { model: 'm' } },
      record: {
        llm_config: {
          model: '****',
          region: '****',
          tools: [{ headers: { key: 'sk-****ef' } }],
          token: '••••',
          zone: '***',
        },
      },
      changed: ['llm_config.model'],
      sent: { llm_config: { model: 'm', region: '****', zone: '***' } },
    },
    {
      reason: 'the last sent value in place of a mask with ignore_drift',
      spec: { llm_config: { model: 'm', tools: [{ key: 'new' }] } },
      record: { llm_config: { tools: [{ key: '****' }] } },
      entry: entryOf({ 'llm_config.tools': [{ key: 'sent' }] }),
      changed: ['llm_config.model'],
      ignoreDrift: ['llm_config.tools'],
      sent: { llm_config: { model: 'm', tools: [{ key: 'sent' }] } },
    },
    {
      reason: 'plain secrets with their object',
      spec: { llm_config: { model: 'm', api_key: secret } },
      record: { llm_config: { model: 'old' } },
      changed: ['llm_config.model'],
      sent: { llm_config: { model: 'm', api_key: 'sk-secret' } },
    },
    {
      reason: 'no mask of an undeclared key',
      spec: { llm_config: { model: 'm' } },
      record: { llm_config: { model: 'old', api_key: 'sk-***' } },
      changed: ['llm_config.model'],
      sent: { llm_config: { model: 'm' } },
    },
    {
      reason: 'no mask of a key with ignore_drift',
      spec: { llm_config: { model: 'm', api_key: secret } },
      record: { llm_config: { model: 'old', api_key: 'sk-***' } },
      changed: ['llm_config.model'],
      ignoreDrift: ['llm_config.api_key'],
      entry: entryOf({ 'llm_config.api_key': { $fingerprint: fingerprints.of('sk-secret') } }),
      sent: { llm_config: { model: 'm', api_key: 'sk-secret' } },
    },
    {
      reason: 'the current values of fields with ignore_drift',
      spec: { tts_config: { voice_id: 'v', speed: 'fast' } },
      record: { tts_config: { voice_id: 'old', speed: 'slow' } },
      changed: ['tts_config.voice_id'],
      ignoreDrift: ['tts_config.speed'],
      sent: { tts_config: { voice_id: 'v', speed: 'slow' } },
    },
    {
      reason: 'the current values of fields with ignore_drift, also null',
      spec: { tts_config: { voice_id: 'v', emotion: 'calm' } },
      record: { tts_config: { voice_id: 'old', emotion: null } },
      changed: ['tts_config.voice_id'],
      ignoreDrift: ['tts_config'],
      entry: entryOf({ 'tts_config.emotion': 'calm' }),
      sent: { tts_config: { voice_id: 'v', emotion: null } },
    },
    {
      reason: 'recorded values of hidden fields with ignore_drift',
      spec: { tts_config: { voice_id: 'v', speed: 'fast' } },
      changed: ['tts_config.voice_id'],
      ignoreDrift: ['tts_config.speed'],
      entry: entryOf({ 'tts_config.speed': 'slow' }),
      sent: { tts_config: { voice_id: 'v', speed: 'slow' } },
    },
    {
      reason: 'recorded values in the form of the platform',
      spec: { llm_config: { model: 'm', tools: [] } },
      changed: ['llm_config.model'],
      ignoreDrift: ['llm_config.tools'],
      entry: entryOf({ 'llm_config.tools': [{ $literal: { $schema: 'x' } }] }),
      sent: { llm_config: { model: 'm', tools: [{ $schema: 'x' }] } },
    },
    {
      reason: 'the desired value of a field with ignore_drift that the manifest changed',
      spec: { tts_config: { speed: 'fast' } },
      record: { tts_config: { speed: 'slow' } },
      changed: ['tts_config.speed'],
      ignoreDrift: ['tts_config.speed'],
      sent: { tts_config: { speed: 'fast' } },
    },
    {
      reason: 'the published object if the record hides it',
      spec: { stt_config: { model: 's' } },
      published: { id: 'R1', stt_config: { provider: 'p', model: 'old' } },
      changed: ['stt_config.model'],
      sent: { stt_config: { provider: 'p', model: 's' } },
    },
    {
      reason: 'the published value of a field with ignore_drift during adoption',
      spec: { stt_config: { model: 's', provider: 'q' } },
      published: { id: 'R1', stt_config: { provider: 'p', model: 'old' } },
      changed: ['stt_config.model'],
      ignoreDrift: ['stt_config.provider'],
      sent: { stt_config: { provider: 'p', model: 's' } },
    },
    {
      reason: 'the returned object instead of the published one',
      spec: { stt_config: { model: 's' } },
      record: { stt_config: { model: 'old' } },
      published: { id: 'R1', stt_config: { provider: 'p' } },
      changed: ['stt_config.model'],
      sent: { stt_config: { model: 's' } },
    },
    {
      reason: 'no released field that is hidden',
      spec: { tts_config: { voice_id: 'v' } },
      changed: ['tts_config.voice_id'],
      entry: entryOf({ 'tts_config.voice_id': 'old', 'tts_config.speed': 'slow' }),
      sent: { tts_config: { voice_id: 'v' } },
    },
    {
      reason: 'no null and no empty string that the request rejects, and no null of an unknown field',
      spec: { llm_config: { model: 'm' } },
      record: { llm_config: { model: 'old', deployment: null, endpoint: '', region: '', later: null } },
      changed: ['llm_config.model'],
      sent: { llm_config: { model: 'm', region: '' } },
    },
    {
      reason: 'no null of a field with ignore_drift that the request rejects',
      spec: { llm_config: { model: 'm', region: 'eu' } },
      record: { llm_config: { model: 'old', region: null } },
      changed: ['llm_config.model'],
      ignoreDrift: ['llm_config.region'],
      sent: { llm_config: { model: 'm' } },
    },
    {
      reason: 'nulls that the request accepts',
      spec: { tts_config: { voice_id: 'v' } },
      record: { tts_config: { voice_id: 'old', emotion: null, speed: null } },
      changed: ['tts_config.voice_id'],
      sent: { tts_config: { voice_id: 'v', emotion: null } },
    },
    {
      reason: 'keys with a special meaning in JavaScript',
      spec: { llm_config: { model: 'm' } },
      record: { llm_config: JSON.parse('{ "__proto__": { "a": 1 }, "constructor": 2 }') },
      changed: ['llm_config.model'],
      sent: { llm_config: JSON.parse('{ "__proto__": { "a": 1 }, "constructor": 2, "model": "m" }') },
    },
  ])('contains $reason', ({ reason, sent, ...facts }) => {
    expect(JSON.parse(JSON.stringify(body(agentKind, facts))), reason).toEqual(sent);
  });

  it.each<Case & { reason: string; sent: Json }>([
    {
      reason: 'the other fields as observed',
      spec: { email: 'ada@example.com', role: 'admin' },
      record: { email: 'ada@example.com', role: 'member', modules: ['agents'], agent_ids: ['A1'] },
      changed: ['role'],
      sent: { role: 'admin', modules: ['agents'], agent_ids: ['A1'] },
    },
    {
      reason: 'the other fields as desired',
      spec: { email: 'ada@example.com', role: 'admin', modules: ['analytics'], agent_ids: [] },
      record: { role: 'admin', modules: ['analytics'], agent_ids: ['A1'] },
      changed: ['agent_ids'],
      sent: { role: 'admin', modules: ['analytics'], agent_ids: [] },
    },
    {
      reason: 'no role without a value',
      spec: { email: 'ada@example.com', modules: [] },
      record: { role: null, modules: ['agents'] },
      changed: ['modules'],
      sent: { modules: [] },
    },
    {
      reason: 'current agents with ignore_drift',
      spec: { email: 'ada@example.com', role: 'admin', agent_ids: ['A1'] },
      record: { role: 'member', modules: [], agent_ids: ['A2'] },
      changed: ['role'],
      ignoreDrift: ['agent_ids'],
      sent: { role: 'admin', modules: [], agent_ids: ['A2'] },
    },
  ])('contains role, modules and agents of a user: $reason', ({ reason, sent, ...facts }) => {
    expect(body(userKind, facts), reason).toEqual(sent);
  });

  it('has the same effect whether the platform merges or replaces', () => {
    const config = fc.record(
      {
        provider: fc.string(),
        region: fc.string(),
        temperature: fc.integer(),
        tools: fc.array(fc.string(), { maxLength: 2 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(config, config, (desired, shown) => {
        const changed = Object.keys(desired).map((key) => `llm_config.${key}`);
        fc.pre(changed.length > 0);
        const spec = { llm_config: desired } as Spec;
        const { llm_config } = body(agentKind, { spec, record: { llm_config: shown }, changed });
        expect(isObject(llm_config) && { ...shown, ...llm_config }).toEqual(llm_config);
        expect(llm_config).toMatchObject(desired);
      }),
    );
  });
});

describe('resentFields', () => {
  it.each<Case & { reason: string; kind: Kind; asks: readonly string[] }>([
    {
      reason: 'a config field of a type that the request rejects',
      kind: agentKind,
      spec: { llm_config: { model: 'm' } },
      record: { llm_config: { temperature: 'warm', region: 7, knowledge_base_ids: [1], max_tokens: 9 } },
      changed: ['llm_config.model'],
      asks: ['llm_config.temperature', 'llm_config.region', 'llm_config.knowledge_base_ids'],
    },
    {
      reason: 'no declared field, and no field of an unsent object',
      kind: agentKind,
      spec: { llm_config: { temperature: 1 } },
      record: { llm_config: { temperature: 'warm' }, tts_config: { speed: 1 } },
      changed: ['llm_config.temperature'],
      asks: [],
    },
    {
      reason: 'a field with ignore_drift',
      kind: agentKind,
      spec: { tts_config: { speed: 'fast', voice_id: 'v' } },
      record: { tts_config: { speed: { x: 2 } } },
      changed: ['tts_config.voice_id'],
      ignoreDrift: ['tts_config.speed'],
      asks: ['tts_config.speed'],
    },
    {
      reason: 'numbers that JSON.parse does not read exactly, at any depth',
      kind: agentKind,
      spec: { llm_config: { model: 'm' } },
      record: {
        llm_config: JSON.parse('{"tools":[{"id":12345678901234567890}],"zone":1e999,"region":"eu"}') as object,
      },
      changed: ['llm_config.model'],
      asks: ['llm_config.tools', 'llm_config.zone'],
    },
    {
      reason: 'a missing role, and modules that cannot be set',
      kind: userKind,
      spec: { email: 'ada@example.com', agent_ids: [] },
      record: { role: null, modules: ['agents', 'billing'], agent_ids: ['A1'] },
      changed: ['agent_ids'],
      asks: ['role', 'modules'],
    },
    {
      reason: 'a role that cannot be set, and lists of an unexpected type',
      kind: userKind,
      spec: { email: 'ada@example.com', agent_ids: [] },
      record: { role: 'billing', modules: { 0: 'agents' } },
      changed: ['agent_ids'],
      asks: ['role', 'modules'],
    },
    {
      reason: 'no lists that are hidden',
      kind: userKind,
      spec: { email: 'ada@example.com', role: 'admin' },
      record: { role: 'member', modules: null },
      changed: ['role'],
      asks: [],
    },
  ])('requests values in the manifest: $reason', ({ reason, kind, asks, ...facts }) => {
    const { problems } = resentFields(factsOf(kind, facts));
    expect(
      problems.map((problem) => problem.replace(/.*set spec\./, '')),
      reason,
    ).toEqual(asks);
  });
});

describe('the body of a create', () => {
  it('nests the leaves and contains plain secrets', () => {
    const spec = { name: 'Ada', llm_config: { model: 'm', api_key: secret }, tts_config: { emotion: null } };
    expect(createBody(leavesOf(agentKind, spec))).toEqual({
      name: 'Ada',
      llm_config: { model: 'm', api_key: 'sk-secret' },
      tts_config: { emotion: null },
    });
  });

  it('omits fields that no create accepts', () => {
    const spec = { number: '+49301', nickname: 'Desk', inbound_agent_id: 'A1', outbound_agent_id: null };
    const sent = sentAtCreate(numberKind, leavesOf(numberKind, spec));
    expect(createBody(sent)).toEqual({ number: '+49301', nickname: 'Desk' });
  });

  it('contains a complete payload, also an empty one', () => {
    const spec = { url: 'https://example.com', payload: { data: {}, event: 'x' } };
    expect(createBody(leavesOf(webhookKind, spec))).toEqual(spec);
    expect(createBody(leavesOf(webhookKind, { ...spec, payload: {} }))).toEqual({ ...spec, payload: {} });
  });
});
