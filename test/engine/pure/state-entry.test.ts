import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leavesOf } from '../../../src/engine/decide/field-rules.ts';
import {
  baselineOf,
  type EntryFacts,
  plainOf,
  recordedOf,
  stateEntryOf,
  valuesToMask,
} from '../../../src/engine/decide/state-entry.ts';
import { isMasked, mask } from '../../../src/state/fingerprint.ts';
import { isTainted, Join, type Value } from '../../../src/values/value.ts';
import { json, value } from '../../values/arbitrary.ts';
import { agentKind, entryOf, fingerprint, fingerprints, type Spec, secret } from './facts.ts';

function remembered(spec: Spec, record: object, rest: Partial<EntryFacts> = {}) {
  return stateEntryOf({
    kind: agentKind,
    record: { id: 'R1', ...record },
    settled: leavesOf(agentKind, spec),
    carried: [],
    driftIgnored: new Set(),
    previous: undefined,
    adopted: false,
    fingerprints,
    ...rest,
  });
}

describe('the state entry of a record', () => {
  it('is what was sent, and what was shown only where that is something else', () => {
    const spec = { name: ' Ada ', tts_config: { speed: 'fast' }, stt_config: { model: 'm' } };
    expect(remembered(spec, { name: 'Ada', tts_config: { speed: 'fast' } })).toEqual({
      id: 'R1',
      recorded: { name: ' Ada ', 'tts_config.speed': 'fast', 'stt_config.model': 'm' },
      observed: { name: 'Ada' },
      unobserved: ['stt_config.model'],
    });
  });

  it('is never a secret, sent or shown', () => {
    const spec = {
      llm_config: { api_key: secret, tools: [{ header: new Join(['Bearer', secret], ' ') }] },
      prompt_config: { prompt: secret },
    };
    const entry = remembered(spec, {
      llm_config: { api_key: 'sk-***', tools: [{ header: 'Bearer sk-secret' }] },
      prompt_config: { prompt: 'sk-secret.' },
    });
    expect(JSON.stringify(entry)).not.toContain('sk-');
    expect(entry.recorded['prompt_config.prompt']).toEqual(fingerprint('sk-secret'));
    expect(entry.observed).toEqual({
      'llm_config.tools': fingerprint('[{"header":"Bearer sk-secret"}]'),
      'prompt_config.prompt': fingerprint('sk-secret.'),
    });
    expect(entry.unobserved).toEqual([]);
  });

  it('keeps the old baseline of what is hidden and unchanged, and none of what changed', () => {
    const previous = entryOf(
      { name: 'a ', 'stt_config.model': 'm ', 'tts_config.speed': 'fast', 'call_config.ring_duration_ms': 5 },
      { observed: { name: 'a', 'stt_config.model': 'm' }, unobserved: ['tts_config.speed'] },
    );
    const spec = {
      name: 'b ',
      stt_config: { model: 'm ' },
      tts_config: { speed: 'fast' },
      call_config: { ring_duration_ms: 5 },
    };
    expect(remembered(spec, {}, { previous })).toMatchObject({
      observed: { 'stt_config.model': 'm' },
      unobserved: ['name', 'tts_config.speed'],
    });
  });

  it('does not take what someone else set for the rendering of what was sent', () => {
    const previous = entryOf({ 'tts_config.speed': 'fast' });
    const entry = remembered(
      { tts_config: { speed: 'fast' } },
      { tts_config: { speed: 'slow' } },
      { previous, driftIgnored: new Set(['tts_config.speed']) },
    );
    expect(baselineOf(entry, 'tts_config.speed')).toBe('fast');
    const adopted = remembered(
      { tts_config: { speed: 'fast' } },
      { tts_config: { speed: 'slow' } },
      { driftIgnored: new Set(['tts_config.speed']), adopted: true },
    );
    expect(baselineOf(adopted, 'tts_config.speed')).toBe('fast');
    expect(adopted.adopted).toBe(true);
  });

  it('keeps what it knew of the leaves that are to be kept, and forgets the rest', () => {
    const previous = entryOf(
      { name: 'a', 'tts_config.speed': 'fast', 'stt_config.model': 'm' },
      { observed: { 'tts_config.speed': 'FAST' }, unobserved: ['stt_config.model'] },
    );
    const carried = ['tts_config.speed', 'stt_config.model', 'call_config.ring_duration_ms'];
    expect(remembered({}, {}, { previous, carried })).toEqual({
      id: 'R1',
      recorded: { 'tts_config.speed': 'fast', 'stt_config.model': 'm' },
      observed: { 'tts_config.speed': 'FAST' },
      unobserved: ['stt_config.model'],
    });
  });

  it('does not depend on what others have, nor on keys that every object has', () => {
    expect(recordedOf(entryOf({}), 'constructor')).toBeUndefined();
    expect(baselineOf(entryOf({}), 'toString')).toBeUndefined();
    expect(baselineOf(undefined, 'name')).toBeUndefined();
  });

  it('knows a baseline for every leaf that was shown', () => {
    fc.assert(
      fc.property(json, json, (sent, shown) => {
        const entry = remembered({ llm_config: { tools: [sent] } }, { llm_config: { tools: [shown] } });
        expect(plainOf(baselineOf(entry, 'llm_config.tools'))).toEqual([shown]);
        expect(plainOf(recordedOf(entry, 'llm_config.tools'))).toEqual([sent]);
      }),
    );
  });
});

describe('a masked value', () => {
  const known = { prepare: () => Promise.resolve(), of: (text: string) => `of ${text}` };

  it('is opened again where nothing in it is secret, and else not', () => {
    fc.assert(
      fc.property(value, (any) => {
        const masked = maskOf(any);
        fc.pre(masked !== undefined);
        expect(isMasked(masked)).toBe(isTainted(any));
        expect(plainOf(masked)).toEqual(isTainted(any) ? undefined : any);
      }),
    );
  });

  it('is told from one that only looks like it', () => {
    const own = { $fingerprint: 'a key of mine', $join: [{ $literal: 1 }] };
    const masked = mask(own, known);
    expect(isMasked(masked)).toBe(false);
    expect(plainOf(masked)).toEqual(own);
    expect(isMasked(mask({ $x: secret }, known))).toBe(true);
  });

  function maskOf(any: Value) {
    try {
      return mask(any, known);
    } catch {
      return undefined;
    }
  }
});

describe('the texts that need fingerprints', () => {
  it('are those shown where a secret is or was', () => {
    const spec = { name: 'Ada', prompt_config: { prompt: secret }, llm_config: { api_key: secret, tools: [1] } };
    const texts = valuesToMask(agentKind, {
      leaves: leavesOf(agentKind, spec),
      record: {
        id: 'R1',
        name: 'Ada',
        prompt_config: { prompt: 'shown' },
        llm_config: { api_key: 'sk-***', tools: [1] },
      },
      entry: entryOf({ 'llm_config.tools': [fingerprint('x')] }),
    });
    expect([...texts].sort()).toEqual(['[1]', 'shown']);
  });
});
