import { describe, expect, it } from 'vitest';
import { leavesOf } from '../../../src/engine/decide/field-rules.ts';
import { differencesFromSent, valuesAfterCreate } from '../../../src/engine/decide/write-response.ts';
import type { Kind } from '../../../src/kinds/kind.ts';
import { remarkText } from '../../../src/output/next-steps.ts';
import { Secret } from '../../../src/values/value.ts';
import { agentKind, numberKind, type Spec, userKind } from './facts.ts';

function warnings(kind: Kind, spec: Spec, answer: object): string[] {
  const remarks = differencesFromSent(kind, leavesOf(kind, spec), valuesAfterCreate(kind, { id: 'R1', ...answer }));
  return remarks.map((each) => remarkText(each, undefined));
}

describe('differencesFromSent', () => {
  it.each<{ reason: string; spec: Spec; answer: object }>([
    { reason: 'the sent values', spec: { name: 'Ada' }, answer: { name: 'Ada' } },
    { reason: 'an omitted config object', spec: { llm_config: { model: 'm' } }, answer: {} },
    {
      reason: 'a config object with the value null',
      spec: { llm_config: { model: 'm' } },
      answer: { llm_config: null },
    },
    {
      reason: 'a set in another order',
      spec: { llm_config: { knowledge_base_ids: ['K1', 'K2'] } },
      answer: { llm_config: { knowledge_base_ids: ['K2', 'K1'] } },
    },
    {
      reason: 'a mask in place of the key',
      spec: { llm_config: { api_key: new Secret('KEY', 'sk-secret') } },
      answer: { llm_config: { api_key: '***' } },
    },
    {
      reason: 'a field that is never returned',
      spec: { knowledge_base_config: { chunks_to_retrieve: 3 } },
      answer: { knowledge_base_config: {} },
    },
    {
      reason: 'undeclared fields',
      spec: { tts_config: { emotion: null } },
      answer: { tts_config: { voice_id: 'v' } },
    },
  ])('returns no difference for $reason', ({ spec, answer }) => {
    expect(warnings(agentKind, spec, answer)).toEqual([]);
  });

  it('returns no difference for a normalised number and for links that were not sent', () => {
    const spec = { number: '+49 301', inbound_agent_id: 'A1' };
    expect(warnings(numberKind, spec, { number: '49301', inbound_agent_id: null })).toEqual([]);
    expect(warnings(numberKind, { ...spec, nickname: 'Desk' }, { number: 49301, nickname: 'Other' })).toEqual([
      'the platform changed nickname from "Desk" to "Other"',
    ]);
  });

  it('lists ignored and changed fields in order', () => {
    const spec = { tts_config: { voice_id: 'v', speed: ' fast ' }, name: 'Ada' };
    const answer = { name: 'ADA', tts_config: { speed: 'fast' } };
    expect(warnings(agentKind, spec, answer)).toEqual([
      'the platform changed name from "Ada" to "ADA"',
      'the platform changed tts_config.speed from " fast " to "fast"',
      'the platform ignored tts_config.voice_id',
    ]);
  });

  it('contains a missing member of a set', () => {
    const found = warnings(userKind, { modules: ['agents', 'analytics'] }, { modules: ['agents'] });
    expect(found).toEqual(['the platform changed modules from ["agents","analytics"] to ["agents"]']);
  });

  it('contains no secret that was sent or returned', () => {
    const spec = { prompt_config: { prompt: new Secret('KEY', 'sk-secret') } };
    const found = warnings(agentKind, spec, { prompt_config: { prompt: 'sk-secret, trimmed' } });
    expect(found).toEqual(['the platform changed the secret prompt_config.prompt']);
  });

  it('shortens long values', () => {
    const [found = ''] = warnings(agentKind, { name: 'x'.repeat(200) }, { name: 'y'.repeat(200) });
    expect(found.length).toBeLessThan(200);
    expect(found).toContain('…');
  });
});
