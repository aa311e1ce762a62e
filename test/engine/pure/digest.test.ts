import { describe, expect, it } from 'vitest';
import { digestOf } from '../../../src/engine/decide/compare.ts';
import { leavesOf } from '../../../src/engine/decide/field-rules.ts';
import type { ShownRecord } from '../../../src/kinds/kind.ts';
import type { Value } from '../../../src/values/value.ts';
import { agentKind, numberKind, secret, userKind, webhookKind } from './facts.ts';

const agent: ShownRecord = {
  id: 'A1',
  name: 'Ada',
  updated_at: '2030-01-01T00:00:00+00:00',
  llm_config: { model: 'm', api_key: 'sk-***', knowledge_base_ids: ['K1', 'K2'], tools: [{ $ref: 1 }] },
};

function digest(record: ShownRecord, kind = agentKind, spec: { readonly [key: string]: Value } = {}): string {
  return digestOf(kind, { record, leaves: leavesOf(kind, spec), salt: 'S1' });
}

function withLlm(change: object): ShownRecord {
  return { ...agent, llm_config: { ...(agent.llm_config as object), ...change } };
}

describe('the digest of a record', () => {
  it.each([
    { reason: 'fields that no manifest manages', record: { ...agent, updated_at: '2031', version: 3 } },
    { reason: 'the order of a set', record: withLlm({ knowledge_base_ids: ['K2', 'K1'] }) },
    { reason: 'the mask of a write-only field', record: withLlm({ api_key: '***' }) },
    { reason: 'a hidden write-only field', record: withLlm({ api_key: undefined }) },
    { reason: 'null in place of a missing field', record: { ...agent, tts_config: null } },
    { reason: 'the order of keys', record: Object.fromEntries(Object.entries(agent).reverse()) as ShownRecord },
  ])('ignores $reason', ({ record }) => {
    expect(digest(record)).toBe(digest(agent));
  });

  it.each([
    { reason: 'another id', record: { ...agent, id: 'A2' } },
    { reason: 'a managed field', record: { ...agent, name: 'Eve' } },
    { reason: 'a field that could be managed, in a config object', record: withLlm({ model: 'n' }) },
    { reason: 'a new config object', record: { ...agent, stt_config: {} } },
    { reason: 'a member of a set', record: withLlm({ knowledge_base_ids: ['K1'] }) },
    { reason: 'a value inside an opaque value', record: withLlm({ tools: [{ $ref: 2 }] }) },
  ])('includes $reason', ({ record }) => {
    expect(digest(record)).not.toBe(digest(agent));
  });

  it('ignores the returned value of a secret, and only that', () => {
    const spec = { prompt_config: { prompt: secret } };
    const shown = (prompt: string, first_speaker: string): string =>
      digest({ ...agent, prompt_config: { prompt, first_speaker } }, agentKind, spec);
    expect(shown('sk-secret', 'ai')).toBe(shown('sk-other', 'ai'));
    expect(shown('sk-secret', 'ai')).not.toBe(shown('sk-secret', 'user'));
  });

  it('ignores an opaque value with a secret', () => {
    const spec = { url: 'https://example.com', payload: { data: { key: secret } } };
    const shown = (key: string): string =>
      digest({ id: 'H1', url: 'https://example.com', payload: { data: { key } } }, webhookKind, spec);
    expect(shown('sk-secret')).toBe(shown('sk-other'));
  });

  it('is equal for equivalent values', () => {
    const numberDigest = (number: unknown): string => digest({ id: 'N1', number }, numberKind);
    expect(numberDigest('+49301')).toBe(numberDigest(49301));
    expect(numberDigest('+49301')).not.toBe(numberDigest('+49302'));
    const userDigest = (email: string, modules: string[]): string => digest({ id: 'U1', email, modules }, userKind);
    expect(userDigest('Ada@Example.com', ['a', 'b'])).toBe(userDigest('ada@example.com', ['b', 'a']));
  });

  it('differs with the salt', () => {
    const leaves = new Map();
    expect(digestOf(agentKind, { record: agent, leaves, salt: 'S1' })).not.toBe(
      digestOf(agentKind, { record: agent, leaves, salt: 'S2' }),
    );
  });
});
