import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CompareInput,
  creationOf,
  type Differences,
  differencesOf,
} from '../../../src/engine/decide/differences.ts';
import { leavesOf } from '../../../src/engine/decide/field-rules.ts';
import { stateEntryOf } from '../../../src/engine/decide/state-entry.ts';
import type { Kind } from '../../../src/kinds/kind.ts';
import { mask } from '../../../src/state/fingerprint.ts';
import { isObject, type Json } from '../../../src/values/json.ts';
import { Join, symbolicLeaves, Unset, type Value } from '../../../src/values/value.ts';
import { value } from '../../values/arbitrary.ts';
import { ref } from '../resources.ts';
import {
  agentKind,
  entryOf,
  fingerprint,
  fingerprints,
  numberKind,
  type Spec,
  secret,
  userKind,
  webhookKind,
} from './facts.ts';

interface Case extends Partial<Omit<CompareInput, 'kind' | 'leaves' | 'record'>> {
  readonly kind?: Kind;
  readonly record?: object | undefined;
}

function differences(spec: Spec, { kind = agentKind, record, ...rest }: Case): Differences {
  return differencesOf({
    kind,
    leaves: leavesOf(kind, spec),
    record: record === undefined ? undefined : { id: 'R1', ...record },
    entry: undefined,
    published: undefined,
    adopting: false,
    ignoreDrift: [],
    retryIgnored: false,
    fingerprints,
    owners: new Map(),
    ...rest,
  });
}

describe('the differences of a record', () => {
  it('are sorted by path, with the old and the new value', () => {
    const { changes } = differences(
      { tts_config: { speed: 'fast', emotion: null }, name: 'Ada' },
      { record: { name: 'Eve', tts_config: { speed: null, emotion: 'calm' } } },
    );
    expect(changes).toEqual([
      { path: 'name', before: 'Eve', after: 'Ada', cause: 'manifest', verified: true, sensitive: false },
      { path: 'tts_config.emotion', before: 'calm', after: null, cause: 'manifest', verified: true, sensitive: false },
      { path: 'tts_config.speed', before: null, after: 'fast', cause: 'manifest', verified: true, sensitive: false },
    ]);
  });

  it('have no unknown old value, and the recorded one for a hidden field', () => {
    const spec = { stt_config: { model: 'new', provider: 'p' } };
    const entry = entryOf({ 'stt_config.model': 'old' });
    const { changes } = differences(spec, { record: {}, entry });
    expect(changes).toMatchObject([
      { path: 'stt_config.model', before: 'old', verified: false },
      { path: 'stt_config.provider', verified: false },
    ]);
    expect(changes[1]).not.toHaveProperty('before');
  });

  it.each<{ reason: string; spec: Spec; recorded: Json; shown: object }>([
    {
      reason: 'a hidden secret',
      spec: { llm_config: { api_key: secret } },
      recorded: fingerprint('sk-old'),
      shown: { llm_config: { api_key: 'sk-old' } },
    },
    {
      reason: 'a returned secret',
      spec: { prompt_config: { prompt: secret } },
      recorded: fingerprint('sk-old'),
      shown: { prompt_config: { prompt: 'sk-old' } },
    },
    {
      reason: 'a plain string in place of a secret',
      spec: { prompt_config: { prompt: 'no secret' } },
      recorded: fingerprint('sk-old'),
      shown: { prompt_config: { prompt: 'sk-old' } },
    },
    {
      reason: 'a secret in place of a plain string',
      spec: { prompt_config: { prompt: secret } },
      recorded: 'sk-old',
      shown: { prompt_config: { prompt: 'sk-old' } },
    },
    {
      reason: 'a secret inside a list',
      spec: { llm_config: { tools: [{ header: new Join(['Bearer', secret], ' ') }] } },
      recorded: [{ header: 'Bearer sk-old' }],
      shown: { llm_config: { tools: [{ header: 'Bearer sk-old' }] } },
    },
  ])('contain neither value of $reason', ({ spec, recorded, shown }) => {
    const path = [...leavesOf(agentKind, spec).keys()][0] ?? '';
    for (const record of [shown, {}, undefined]) {
      const { changes } = differences(spec, { record, entry: entryOf({ [path]: recorded }) });
      expect(changes).toHaveLength(1);
      expect(changes[0]).toMatchObject({ path, sensitive: true });
      expect(changes[0]).not.toHaveProperty('before');
      expect(changes[0]).not.toHaveProperty('after');
      expect(JSON.stringify(changes)).not.toContain('sk-');
    }
  });

  it.each<Case & { reason: string; spec: Spec; changes: readonly object[]; released?: readonly string[] }>([
    {
      reason: 'the published value of a hidden field in an import',
      spec: { stt_config: { model: 'new' } },
      record: {},
      published: { record: { id: 'R1', stt_config: { model: 'old' } }, ahead: false },
      adopting: true,
      changes: [{ before: 'old', after: 'new', verified: false }],
    },
    {
      reason: 'recorded values in the form of the platform',
      spec: { llm_config: { tools: [{ $schema: 'new' }] } },
      record: {},
      entry: entryOf({ 'llm_config.tools': [{ $literal: { $schema: 'old' } }] }),
      changes: [{ before: [{ $schema: 'old' }], after: [{ $schema: 'new' }] }],
    },
    {
      reason: 'the fingerprints of the old and the new secret',
      spec: { llm_config: { api_key: secret } },
      record: {},
      entry: entryOf({ 'llm_config.api_key': fingerprint('sk-old') }),
      changes: [{ fingerprints: { before: fingerprints.of('sk-old'), after: fingerprints.of('sk-secret') } }],
    },
    ...[entryOf({ 'prompt_config.prompt': fingerprint('sk-secret') }), undefined].map((entry) => ({
      reason: `the fingerprint of a returned value in place of a secret, ${entry ? 'if it drifted' : 'in an import'}`,
      spec: { prompt_config: { prompt: secret } },
      record: { prompt_config: { prompt: 'sk-edited' } },
      entry,
      changes: [{ fingerprints: { before: fingerprints.of('sk-edited'), after: fingerprints.of('sk-secret') } }],
    })),
    {
      reason: 'the address of a record that does not exist yet',
      spec: { email: 'ada@example.com', agent_ids: ['A1', ref('Agent/new')] },
      kind: userKind,
      record: { email: 'ada@example.com', agent_ids: [] },
      changes: [{ path: 'agent_ids', before: [], after: ['A1', { unknown_until_apply: 'Agent/new' }] }],
    },
    {
      reason: 'manual changes',
      spec: { number: '+49301', nickname: 'Desk', inbound_agent_id: 'A1' },
      kind: numberKind,
      record: { number: '49301', nickname: 'Old', inbound_agent_id: null },
      changes: ['inbound_agent_id', 'nickname'].map((path) => ({ path, manual: true })),
    },
    {
      reason: 'fields that left the manifest',
      spec: { name: 'Ada' },
      record: { name: 'Ada' },
      entry: entryOf({ name: 'Ada', 'stt_config.model': 'm', 'call_config.ring_duration_ms': 1 }),
      changes: [],
      released: ['call_config.ring_duration_ms', 'stt_config.model'],
    },
  ])('contain $reason', ({ spec, changes, released = [], ...facts }) => {
    expect(differences(spec, facts)).toMatchObject({ changes, released });
  });

  it('list fields that are in sync only according to the state', () => {
    const { unverified, settled, changes } = differences(
      { name: 'Ada', stt_config: { model: 'm' }, knowledge_base_config: { chunks_to_retrieve: 3 } },
      {
        record: { name: 'Ada' },
        entry: entryOf({ 'stt_config.model': 'm', 'knowledge_base_config.chunks_to_retrieve': 3 }),
      },
    );
    expect(changes).toEqual([]);
    expect(unverified).toEqual(['knowledge_base_config.chunks_to_retrieve', 'stt_config.model']);
    expect([...settled.keys()]).toEqual(['knowledge_base_config.chunks_to_retrieve', 'name', 'stt_config.model']);
  });

  it('ignore drift with ignore_drift, and record it', () => {
    const { changes, driftIgnored, settled } = differences(
      { tts_config: { speed: 'fast', emotion: 'calm' } },
      {
        record: { tts_config: { speed: 'slow', emotion: 'calm' } },
        entry: entryOf({ 'tts_config.speed': 'fast', 'tts_config.emotion': 'calm' }),
        ignoreDrift: ['tts_config'],
      },
    );
    expect(changes).toEqual([]);
    expect([...driftIgnored]).toEqual(['tts_config.speed']);
    expect(settled.get('tts_config.speed')).toBe('fast');
  });

  it('record no unknown value, also with ignore_drift', () => {
    const { changes, open, settled } = differences(
      { email: 'ada@example.com', agent_ids: [ref('Agent/new')] },
      {
        kind: userKind,
        record: { email: 'ada@example.com', agent_ids: ['A1'] },
        adopting: true,
        ignoreDrift: ['agent_ids'],
      },
    );
    expect(changes).toEqual([]);
    expect(open).toEqual(['agent_ids']);
    expect([...settled.keys()]).toEqual(['email']);
  });

  it('compare with the state if the record was not read, and are unverified', () => {
    const entry = entryOf(
      { name: ' Ada ', 'stt_config.model': 'm', 'llm_config.api_key': fingerprint('sk-secret') },
      { observed: { name: 'Ada' }, unobserved: ['stt_config.model'] },
    );
    const spec = { name: ' Ada ', stt_config: { model: 'm' }, llm_config: { api_key: secret } };
    expect(differences(spec, { entry }).changes).toEqual([]);
    expect(differences({ ...spec, name: 'Ada' }, { entry }).changes).toEqual([]);
    expect(differences({ ...spec, name: 'Eve' }, { entry }).changes).toMatchObject([
      { path: 'name', before: 'Ada', after: 'Eve', cause: 'manifest', verified: false },
    ]);
  });

  it('compare a payload as one value', () => {
    const spec = { url: 'https://example.com', payload: { data: { a: 1 } } };
    const shown = (payload: Json) =>
      differences(spec, { kind: webhookKind, record: { url: 'https://example.com/', payload } }).changes;
    expect(shown({ data: { a: 1 } })).toEqual([]);
    expect(shown({ data: { a: 1, b: 2 } })).toMatchObject([{ path: 'payload' }]);
  });
});

/** Specs of agents in manifests, whose leaves are complete. Some contain secrets. */
const spec: fc.Arbitrary<Spec> = fc
  .record({
    name: fc.option(fc.string(), { nil: undefined }),
    tools: fc.option(fc.array(value, { maxLength: 3 }), { nil: undefined }),
    prompt: fc.option(fc.oneof(fc.string(), fc.constant(secret), fc.constant(new Join(['a', secret], ' '))), {
      nil: undefined,
    }),
    emotion: fc.option(fc.string()),
    ids: fc.array(fc.constantFrom('K1', 'K2', 'K3'), { maxLength: 4 }),
  })
  .map(({ name, tools, prompt, emotion, ids }) => ({
    ...(name !== undefined && { name }),
    llm_config: { knowledge_base_ids: ids, ...(tools !== undefined && { tools }), api_key: secret },
    ...(prompt !== undefined && { prompt_config: { prompt } }),
    tts_config: { emotion },
  }))
  .filter((found) => [...leavesOf(agentKind, found).values()].every(isKnown));

function isKnown(leaf: Value): boolean {
  try {
    mask(leaf, { prepare: () => Promise.resolve(), of: () => 'x' });
    return true;
  } catch {
    return false;
  }
}

/** Records as a platform may return them: with fewer fields, other values, or the same. */
const shown: fc.Arbitrary<object> = fc.record(
  {
    name: fc.oneof(fc.string(), fc.constant(null)),
    llm_config: fc.oneof(
      fc.constant(null),
      fc.object({ maxDepth: 1 }),
      fc.constant({ api_key: '***', tools: [{ $schema: 1 }] }),
    ),
    prompt_config: fc.record({ prompt: fc.string() }),
    tts_config: fc.record({ emotion: fc.constantFrom(null, 'calm') }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

describe('state entry and comparison', () => {
  const json = (record: object): object => JSON.parse(JSON.stringify(record)) as object;

  it('find no change in sent values after any response', () => {
    fc.assert(
      fc.property(spec, shown, (sent, answer) => {
        const record = { id: 'R1', ...json(answer) };
        const entry = stateEntryOf({
          kind: agentKind,
          record,
          settled: leavesOf(agentKind, sent),
          carried: [],
          driftIgnored: new Set(),
          previous: undefined,
          adopted: false,
          fingerprints,
        });
        expect(JSON.stringify(entry)).not.toContain('sk-secret');
        for (const look of [record, undefined]) {
          const found = differences(sent, { record: look, entry });
          expect(found.changes).toEqual([]);
          expect(found.released).toEqual([]);
        }
      }),
    );
  });

  it('are stable: a second refresh does not change the state entry', () => {
    fc.assert(
      fc.property(spec, shown, shown, (sent, answer, look) => {
        const facts = { kind: agentKind, carried: [], adopted: false, fingerprints, driftIgnored: new Set<string>() };
        const first = stateEntryOf({
          ...facts,
          record: { id: 'R1', ...json(answer) },
          settled: leavesOf(agentKind, sent),
          previous: undefined,
        });
        const record = { id: 'R1', ...json(look) };
        const seen = differences(sent, { record, entry: first });
        const next = stateEntryOf({
          ...facts,
          record,
          settled: seen.settled,
          carried: seen.changes.map(({ path }) => path),
          previous: first,
        });
        const again = differences(sent, { record, entry: next });
        expect(again.changes).toEqual(seen.changes);
        expect(
          stateEntryOf({
            ...facts,
            record,
            settled: again.settled,
            carried: again.changes.map(({ path }) => path),
            previous: next,
          }),
        ).toEqual(next);
      }),
    );
  });

  it('attribute a change of the manifest to the manifest', () => {
    fc.assert(
      fc.property(spec, spec, shown, (before, after, answer) => {
        const record = { id: 'R1', ...json(answer) };
        const entry = stateEntryOf({
          kind: agentKind,
          record,
          settled: leavesOf(agentKind, before),
          carried: [],
          driftIgnored: new Set(),
          previous: undefined,
          adopted: false,
          fingerprints,
        });
        const causes = differences(after, { record, entry }).changes.map(({ cause }) => cause);
        expect(causes.filter((cause) => cause !== 'manifest')).toEqual([]);
      }),
    );
  });
});

describe('creationOf', () => {
  it('lists every field without an old value, secrets as fingerprints, and manual changes', () => {
    const leaves = leavesOf(numberKind, { number: '+49301', nickname: secret, inbound_agent_id: ref('Agent/a') });
    expect(creationOf(numberKind, leaves, fingerprints)).toEqual([
      {
        path: 'inbound_agent_id',
        after: { unknown_until_apply: 'Agent/a' },
        cause: 'manifest',
        verified: true,
        sensitive: false,
        manual: true,
      },
      {
        path: 'nickname',
        cause: 'manifest',
        verified: true,
        sensitive: true,
        fingerprints: { after: fingerprints.of('sk-secret') },
      },
      { path: 'number', after: '+49301', cause: 'manifest', verified: true, sensitive: false },
    ]);
  });

  it('requests no removal of a link from a new number', () => {
    const leaves = leavesOf(numberKind, { number: '+49301', inbound_agent_id: null });
    expect(creationOf(numberKind, leaves, fingerprints).filter(({ manual }) => manual)).toEqual([]);
  });

  it('is always plain JSON', () => {
    fc.assert(
      fc.property(value, (tool) => {
        const leaves = leavesOf(agentKind, { llm_config: { tools: [tool] } });
        fc.pre(!symbolicLeaves([tool]).some((special) => special instanceof Unset));
        const known = { prepare: () => Promise.resolve(), of: (text: string) => `of ${text.length}` };
        const [change] = creationOf(agentKind, leaves, known);
        expect(isObject(change)).toBe(true);
        expect(JSON.parse(JSON.stringify(change))).toEqual(change);
      }),
    );
  });
});
