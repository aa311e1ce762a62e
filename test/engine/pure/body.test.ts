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
      reason: 'a plain field alone',
      spec: { name: 'Ada', llm_config: { model: 'm' } },
      record: { name: 'Eve', llm_config: { model: 'm' } },
      changed: ['name'],
      sent: { name: 'Ada' },
    },
    {
      reason: 'a config object whole: desired over what is shown',
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
      reason: 'no mask that is shown in place of a secret',
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
      reason: 'what was last sent in place of a mask that others may change',
      spec: { llm_config: { model: 'm', tools: [{ key: 'new' }] } },
      record: { llm_config: { tools: [{ key: '****' }] } },
      entry: entryOf({ 'llm_config.tools': [{ key: 'sent' }] }),
      changed: ['llm_config.model'],
      ignoreDrift: ['llm_config.tools'],
      sent: { llm_config: { model: 'm', tools: [{ key: 'sent' }] } },
    },
    {
      reason: 'secrets in the clear with the object around them',
      spec: { llm_config: { model: 'm', api_key: secret } },
      record: { llm_config: { model: 'old' } },
      changed: ['llm_config.model'],
      sent: { llm_config: { model: 'm', api_key: 'sk-secret' } },
    },
    {
      reason: 'no mask of a key that the manifest does not have',
      spec: { llm_config: { model: 'm' } },
      record: { llm_config: { model: 'old', api_key: 'sk-***' } },
      changed: ['llm_config.model'],
      sent: { llm_config: { model: 'm' } },
    },
    {
      reason: 'no mask of a key that others may change',
      spec: { llm_config: { model: 'm', api_key: secret } },
      record: { llm_config: { model: 'old', api_key: 'sk-***' } },
      changed: ['llm_config.model'],
      ignoreDrift: ['llm_config.api_key'],
      entry: entryOf({ 'llm_config.api_key': { $fingerprint: fingerprints.of('sk-secret') } }),
      sent: { llm_config: { model: 'm', api_key: 'sk-secret' } },
    },
    {
      reason: 'what others may move as they set it',
      spec: { tts_config: { voice_id: 'v', speed: 'fast' } },
      record: { tts_config: { voice_id: 'old', speed: 'slow' } },
      changed: ['tts_config.voice_id'],
      ignoreDrift: ['tts_config.speed'],
      sent: { tts_config: { voice_id: 'v', speed: 'slow' } },
    },
    {
      reason: 'what others may move as they set it, null too',
      spec: { tts_config: { voice_id: 'v', emotion: 'calm' } },
      record: { tts_config: { voice_id: 'old', emotion: null } },
      changed: ['tts_config.voice_id'],
      ignoreDrift: ['tts_config'],
      entry: entryOf({ 'tts_config.emotion': 'calm' }),
      sent: { tts_config: { voice_id: 'v', emotion: null } },
    },
    {
      reason: 'what others may move and nobody shows as it was recorded',
      spec: { tts_config: { voice_id: 'v', speed: 'fast' } },
      changed: ['tts_config.voice_id'],
      ignoreDrift: ['tts_config.speed'],
      entry: entryOf({ 'tts_config.speed': 'slow' }),
      sent: { tts_config: { voice_id: 'v', speed: 'slow' } },
    },
    {
      reason: 'recorded values out of the form in which the state keeps them',
      spec: { llm_config: { model: 'm', tools: [] } },
      changed: ['llm_config.model'],
      ignoreDrift: ['llm_config.tools'],
      entry: entryOf({ 'llm_config.tools': [{ $literal: { $schema: 'x' } }] }),
      sent: { llm_config: { model: 'm', tools: [{ $schema: 'x' }] } },
    },
    {
      reason: 'what others may move, where the manifest changed it',
      spec: { tts_config: { speed: 'fast' } },
      record: { tts_config: { speed: 'slow' } },
      changed: ['tts_config.speed'],
      ignoreDrift: ['tts_config.speed'],
      sent: { tts_config: { speed: 'fast' } },
    },
    {
      reason: 'the published object where the record hides its own',
      spec: { stt_config: { model: 's' } },
      published: { id: 'R1', stt_config: { provider: 'p', model: 'old' } },
      changed: ['stt_config.model'],
      sent: { stt_config: { provider: 'p', model: 's' } },
    },
    {
      reason: 'the published value of what others may move, while adopting',
      spec: { stt_config: { model: 's', provider: 'q' } },
      published: { id: 'R1', stt_config: { provider: 'p', model: 'old' } },
      changed: ['stt_config.model'],
      ignoreDrift: ['stt_config.provider'],
      sent: { stt_config: { provider: 'p', model: 's' } },
    },
    {
      reason: 'the shown object rather than the published one',
      spec: { stt_config: { model: 's' } },
      record: { stt_config: { model: 'old' } },
      published: { id: 'R1', stt_config: { provider: 'p' } },
      changed: ['stt_config.model'],
      sent: { stt_config: { model: 's' } },
    },
    {
      reason: 'no released field that nobody shows',
      spec: { tts_config: { voice_id: 'v' } },
      changed: ['tts_config.voice_id'],
      entry: entryOf({ 'tts_config.voice_id': 'old', 'tts_config.speed': 'slow' }),
      sent: { tts_config: { voice_id: 'v' } },
    },
    {
      reason: 'no null and no empty text where the request takes none, nor a null of an unknown field',
      spec: { llm_config: { model: 'm' } },
      record: { llm_config: { model: 'old', deployment: null, endpoint: '', region: '', later: null } },
      changed: ['llm_config.model'],
      sent: { llm_config: { model: 'm', region: '' } },
    },
    {
      reason: 'no null of what others may move where the request takes none',
      spec: { llm_config: { model: 'm', region: 'eu' } },
      record: { llm_config: { model: 'old', region: null } },
      changed: ['llm_config.model'],
      ignoreDrift: ['llm_config.region'],
      sent: { llm_config: { model: 'm' } },
    },
    {
      reason: 'nulls that the request takes',
      spec: { tts_config: { voice_id: 'v' } },
      record: { tts_config: { voice_id: 'old', emotion: null, speed: null } },
      changed: ['tts_config.voice_id'],
      sent: { tts_config: { voice_id: 'v', emotion: null } },
    },
    {
      reason: 'keys that JavaScript treats in a special way',
      spec: { llm_config: { model: 'm' } },
      record: { llm_config: JSON.parse('{ "__proto__": { "a": 1 }, "constructor": 2 }') },
      changed: ['llm_config.model'],
      sent: { llm_config: JSON.parse('{ "__proto__": { "a": 1 }, "constructor": 2, "model": "m" }') },
    },
  ])('has $reason', ({ reason, sent, ...facts }) => {
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
      reason: 'nothing where neither says anything',
      spec: { email: 'ada@example.com', modules: [] },
      record: { role: null, modules: ['agents'] },
      changed: ['modules'],
      sent: { modules: [] },
    },
    {
      reason: 'the agents that others gave',
      spec: { email: 'ada@example.com', role: 'admin', agent_ids: ['A1'] },
      record: { role: 'member', modules: [], agent_ids: ['A2'] },
      changed: ['role'],
      ignoreDrift: ['agent_ids'],
      sent: { role: 'admin', modules: [], agent_ids: ['A2'] },
    },
  ])('of a user always carries role, modules and agents: $reason', ({ reason, sent, ...facts }) => {
    expect(body(userKind, facts), reason).toEqual(sent);
  });

  it('ends the same whether the platform merges or replaces', () => {
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

describe('what an update cannot send back as it is shown', () => {
  it.each<Case & { reason: string; kind: Kind; asks: readonly string[] }>([
    {
      reason: 'a config field of a type that the request does not take',
      kind: agentKind,
      spec: { llm_config: { model: 'm' } },
      record: { llm_config: { temperature: 'warm', region: 7, knowledge_base_ids: [1], max_tokens: 9 } },
      changed: ['llm_config.model'],
      asks: ['llm_config.temperature', 'llm_config.region', 'llm_config.knowledge_base_ids'],
    },
    {
      reason: 'not what the manifest sets, nor what is in an object that is not sent',
      kind: agentKind,
      spec: { llm_config: { temperature: 1 } },
      record: { llm_config: { temperature: 'warm' }, tts_config: { speed: 1 } },
      changed: ['llm_config.temperature'],
      asks: [],
    },
    {
      reason: 'what others may move',
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
      reason: 'a role that is missing, and modules that cannot be set',
      kind: userKind,
      spec: { email: 'ada@example.com', agent_ids: [] },
      record: { role: null, modules: ['agents', 'billing'], agent_ids: ['A1'] },
      changed: ['agent_ids'],
      asks: ['role', 'modules'],
    },
    {
      reason: 'a role that cannot be set, and lists of an odd form',
      kind: userKind,
      spec: { email: 'ada@example.com', agent_ids: [] },
      record: { role: 'billing', modules: { 0: 'agents' } },
      changed: ['agent_ids'],
      asks: ['role', 'modules'],
    },
    {
      reason: 'nothing where lists are not shown',
      kind: userKind,
      spec: { email: 'ada@example.com', role: 'admin' },
      record: { role: 'member', modules: null },
      changed: ['role'],
      asks: [],
    },
  ])('is named, and asked for in the manifest: $reason', ({ reason, kind, asks, ...facts }) => {
    const { problems } = resentFields(factsOf(kind, facts));
    expect(
      problems.map((problem) => problem.replace(/.*set spec\./, '')),
      reason,
    ).toEqual(asks);
  });
});

describe('the body of a create', () => {
  it('nests the leaves, with secrets in the clear', () => {
    const spec = { name: 'Ada', llm_config: { model: 'm', api_key: secret }, tts_config: { emotion: null } };
    expect(createBody(leavesOf(agentKind, spec))).toEqual({
      name: 'Ada',
      llm_config: { model: 'm', api_key: 'sk-secret' },
      tts_config: { emotion: null },
    });
  });

  it('leaves out what no create takes', () => {
    const spec = { number: '+49301', nickname: 'Desk', inbound_agent_id: 'A1', outbound_agent_id: null };
    const sent = sentAtCreate(numberKind, leavesOf(numberKind, spec));
    expect(createBody(sent)).toEqual({ number: '+49301', nickname: 'Desk' });
  });

  it('keeps a payload whole, empty ones too', () => {
    const spec = { url: 'https://example.com', payload: { data: {}, event: 'x' } };
    expect(createBody(leavesOf(webhookKind, spec))).toEqual(spec);
    expect(createBody(leavesOf(webhookKind, { ...spec, payload: {} }))).toEqual({ ...spec, payload: {} });
  });
});
