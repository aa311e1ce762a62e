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

function entryFor(spec: Spec, record: object, rest: Partial<EntryFacts> = {}) {
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
  it('contains the sent values, and the returned ones only if they differ', () => {
    const spec = { name: ' Ada ', tts_config: { speed: 'fast' }, stt_config: { model: 'm' } };
    expect(entryFor(spec, { name: 'Ada', tts_config: { speed: 'fast' } })).toEqual({
      id: 'R1',
      recorded: { name: ' Ada ', 'tts_config.speed': 'fast', 'stt_config.model': 'm' },
      observed: { name: 'Ada' },
      unobserved: ['stt_config.model'],
    });
  });

  it('never contains a secret that was sent or returned', () => {
    const spec = {
      llm_config: { api_key: secret, tools: [{ header: new Join(['Bearer', secret], ' ') }] },
      prompt_config: { prompt: secret },
    };
    const entry = entryFor(spec, {
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

  it('keeps the baseline of hidden unchanged fields, but not of changed ones', () => {
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
    expect(entryFor(spec, {}, { previous })).toMatchObject({
      observed: { 'stt_config.model': 'm' },
      unobserved: ['name', 'tts_config.speed'],
    });
  });

  it("does not record another person's change as the normalised form of a sent value", () => {
    const previous = entryOf({ 'tts_config.speed': 'fast' });
    const entry = entryFor(
      { tts_config: { speed: 'fast' } },
      { tts_config: { speed: 'slow' } },
      { previous, driftIgnored: new Set(['tts_config.speed']) },
    );
    expect(baselineOf(entry, 'tts_config.speed')).toBe('fast');
    const adopted = entryFor(
      { tts_config: { speed: 'fast' } },
      { tts_config: { speed: 'slow' } },
      { driftIgnored: new Set(['tts_config.speed']), adopted: true },
    );
    expect(baselineOf(adopted, 'tts_config.speed')).toBe('fast');
    expect(adopted.adopted).toBe(true);
  });

  it('keeps the values of carried leaves, and removes the rest', () => {
    const previous = entryOf(
      { name: 'a', 'tts_config.speed': 'fast', 'stt_config.model': 'm' },
      { observed: { 'tts_config.speed': 'FAST' }, unobserved: ['stt_config.model'] },
    );
    const carried = ['tts_config.speed', 'stt_config.model', 'call_config.ring_duration_ms'];
    expect(entryFor({}, {}, { previous, carried })).toEqual({
      id: 'R1',
      recorded: { 'tts_config.speed': 'fast', 'stt_config.model': 'm' },
      observed: { 'tts_config.speed': 'FAST' },
      unobserved: ['stt_config.model'],
    });
  });

  it('does not depend on properties that every object has', () => {
    expect(recordedOf(entryOf({}), 'constructor')).toBeUndefined();
    expect(baselineOf(entryOf({}), 'toString')).toBeUndefined();
    expect(baselineOf(undefined, 'name')).toBeUndefined();
  });

  it('has a baseline for every returned leaf', () => {
    fc.assert(
      fc.property(json, json, (sent, shown) => {
        const entry = entryFor({ llm_config: { tools: [sent] } }, { llm_config: { tools: [shown] } });
        expect(plainOf(baselineOf(entry, 'llm_config.tools'))).toEqual([shown]);
        expect(plainOf(recordedOf(entry, 'llm_config.tools'))).toEqual([sent]);
      }),
    );
  });
});

describe('a masked value', () => {
  const known = { prepare: () => Promise.resolve(), of: (text: string) => `of ${text}` };

  it('can be unmasked only without a secret', () => {
    fc.assert(
      fc.property(value, (any) => {
        const masked = maskOf(any);
        fc.pre(masked !== undefined);
        expect(isMasked(masked)).toBe(isTainted(any));
        expect(plainOf(masked)).toEqual(isTainted(any) ? undefined : any);
      }),
    );
  });

  it('differs from a plain value of the same form', () => {
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

describe('valuesToMask', () => {
  it('returns the values of fields that contain or contained a secret', () => {
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
