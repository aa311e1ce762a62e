import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { kinds } from '../../src/kinds/index.ts';
import { allManifestsJsonSchema, manifestJsonSchema } from '../../src/manifests/manifest-json-schema.ts';
import type { JsonObject } from '../../src/values/json.ts';

function compiled(schema: JsonObject): ValidateFunction {
  return new Ajv2020({ strict: true, allowUnionTypes: true, formats: { uri: true } }).compile(schema);
}

const ofAll = compiled(allManifestsJsonSchema(kinds.values()));
const ofKind = new Map([...kinds].map(([name, kind]) => [name, compiled(manifestJsonSchema(kind))]));

function document(kind: string, spec: string, metadata = '{ name: a }'): unknown {
  return parse(`apiVersion: voxform/v1\nkind: ${kind}\nmetadata: ${metadata}\nspec: ${spec}`);
}

interface Row {
  readonly reason: string;
  readonly kind: string;
  readonly spec: string;
  readonly metadata?: string;
}

const right: readonly Row[] = [
  {
    reason: 'an agent with plain values',
    kind: 'Agent',
    spec: '{ name: A, llm_config: { temperature: 0.2, tools: [{ a: [1] }, x] } }',
  },
  {
    reason: 'all metadata',
    kind: 'Agent',
    spec: '{}',
    metadata:
      '{ name: a, labels: { x: y }, id: 01J, previous_names: [b], ignore_drift: [tts_config.speed, tts_config], replace: allow }',
  },
  {
    reason: 'a form for every type',
    kind: 'Agent',
    spec: '{ name: { $env: X, default: y }, llm_config: { api_key: { $secret: K }, max_tokens: { $var: n }, knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ one }, plain-id] }, prompt_config: { prompt: { $file: p.md }, ai_speak_after_silence: { $var: b } }, tts_config: { $var: tts }, stt_config: { provider: { $join: [a, 1, { $ref: Agent/b }], separator: "" } } }',
  },
  {
    reason: 'null with a meaning',
    kind: 'Agent',
    spec: '{ tts_config: { emotion: null, speed_alpha: null } }',
  },
  {
    reason: 'forms inside tools',
    kind: 'Agent',
    spec: '{ llm_config: { tools: [{ to: { $ref: Agent/b }, raw: { $literal: { $schema: x } } }] } }',
  },
  {
    reason: 'a number without its digits, which a patch may add',
    kind: 'PhoneNumber',
    spec: '{ nickname: Main }',
  },
  {
    reason: 'an agent with a number',
    kind: 'PhoneNumber',
    spec: '{ number: "+491", inbound_agent_id: { $ref: Agent/a }, outbound_agent_id: null }',
  },
  {
    reason: 'a webhook',
    kind: 'Webhook',
    spec: '{ url: https://example.com, payload: { data: { k: { $var: x } } }, retries: 10, timeout: { $var: t } }',
  },
  { reason: 'an empty payload', kind: 'Webhook', spec: '{ url: { $env: URL }, payload: null }' },
  {
    reason: 'a user',
    kind: 'WorkspaceUser',
    spec: '{ email: a@b.c, role: { $env: ROLE }, modules: [agents, { $env: M }], agent_ids: { $var: ids } }',
  },
];

const wrong: readonly Row[] = [
  { reason: 'a misspelled field', kind: 'Agent', spec: '{ nmae: A }' },
  { reason: 'a misspelled nested field', kind: 'Agent', spec: '{ tts_config: { voise: x } }' },
  { reason: 'a number instead of a string', kind: 'Agent', spec: '{ name: 5 }' },
  { reason: 'a long name', kind: 'Agent', spec: `{ name: ${'x'.repeat(256)} }` },
  { reason: 'a literal secret', kind: 'Agent', spec: '{ llm_config: { api_key: sk-1 } }' },
  {
    reason: 'a secret from an environment variable',
    kind: 'Agent',
    spec: '{ llm_config: { api_key: { $env: K } } }',
  },
  {
    reason: 'an environment variable for a number',
    kind: 'Agent',
    spec: '{ llm_config: { max_tokens: { $env: N } } }',
  },
  { reason: 'an unknown form', kind: 'Agent', spec: '{ name: { $secert: K } }' },
  { reason: 'a form with an extra key', kind: 'Agent', spec: '{ name: { $var: K, default: x } }' },
  {
    reason: 'a reference of the wrong kind',
    kind: 'PhoneNumber',
    spec: '{ number: "1", inbound_agent_id: { $ref: Webhook/w } }',
  },
  { reason: 'a reference in place of a plain value', kind: 'PhoneNumber', spec: '{ number: { $ref: Agent/a } }' },
  { reason: 'too many retries', kind: 'Webhook', spec: '{ url: https://example.com, retries: 11 }' },
  { reason: 'an unknown role', kind: 'WorkspaceUser', spec: '{ email: a@b.c, role: chief }' },
  { reason: 'an unknown kind', kind: 'Agnet', spec: '{}' },
  { reason: 'a name with capitals', kind: 'Agent', spec: '{}', metadata: '{ name: A }' },
  {
    reason: 'an ignored field of another kind',
    kind: 'Webhook',
    spec: '{}',
    metadata: '{ name: a, ignore_drift: [name] }',
  },
];

describe('JSON Schema of manifests', () => {
  it.each(right)('accepts $reason', ({ kind, spec, metadata }) => {
    const value = document(kind, spec, metadata);
    expect([ofAll(value), ofAll.errors]).toEqual([true, null]);
    expect(ofKind.get(kind)?.(value)).toBe(true);
  });

  it.each(wrong)('refuses $reason', ({ kind, spec, metadata }) => {
    const value = document(kind, spec, metadata);
    expect(ofAll(value)).toBe(false);
    expect(ofKind.get(kind)?.(value) ?? false).toBe(false);
  });

  it('describes every field', () => {
    for (const kind of kinds.values()) {
      const { properties } = manifestJsonSchema(kind) as unknown as { properties: Record<string, Described> };
      expect(undescribed(properties.spec as Described, kind.name)).toEqual([]);
      expect(undescribed(properties.metadata as Described, kind.name)).toEqual([]);
    }
  });
});

interface Described {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly anyOf?: readonly Described[];
}

function undescribed(schema: Described, path: string): string[] {
  const own = (schema.description ?? '').length > 10 ? [] : [path];
  const objects = [schema, ...(schema.anyOf ?? [])];
  const fields = objects.flatMap(({ properties = {} }) => Object.entries(properties));
  return [...own, ...fields.flatMap(([key, field]) => undescribed(field, `${path}.${key}`))];
}
