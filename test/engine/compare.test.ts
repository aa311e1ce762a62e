import { describe, expect, it } from 'vitest';
import { compareLeaf, isFingerprint, type LeafState, sameValue } from '../../src/engine/compare.ts';
import { kinds } from '../../src/kinds/index.ts';
import type { FieldRule } from '../../src/manifests/kind-schema.ts';
import type { Json } from '../../src/values/json.ts';
import { Join, type Value } from '../../src/values/value.ts';
import { ref, secret } from './resources.ts';

/** A fingerprint that a reader of these tests can check. */
const print = (text: unknown): string => `print of ${typeof text === 'string' ? text : JSON.stringify(text)}`;

interface Case extends Partial<LeafState> {
  readonly reason: string;
  readonly is: string;
}

function verdictOf(leaf: Partial<LeafState>): string {
  const verdict = compareLeaf({
    rule: {},
    desired: 'd',
    masked: maskOf(leaf.desired ?? 'd'),
    recorded: undefined,
    observed: undefined,
    baseline: undefined,
    ignoreDrift: false,
    adopting: false,
    published: undefined,
    fingerprintOf: print,
    formOf: (shown) => shown as Json,
    ...leaf,
  });
  const unverified = verdict.verified ? '' : ', unverified';
  return verdict.inSync ? `in sync: ${verdict.because}${unverified}` : `${verdict.cause}${unverified}`;
}

function maskOf(value: Value): Json {
  return value === secretValue ? { $fingerprint: print('sk-first-secret') } : (value as Json);
}

const secretValue = secret();
const masked = { $fingerprint: print('sk-first-secret') };
const set: FieldRule = { set: true };

const table: Case[] = [
  // The seven rows.
  { reason: 'shown as desired', observed: 'd', recorded: 'd', baseline: 'd', is: 'in sync: equal' },
  {
    reason: 'shown as desired although something else was recorded: somebody made the change by hand',
    observed: 'd',
    recorded: 'r',
    baseline: 'r',
    is: 'in sync: equal',
  },
  {
    reason: "shown otherwise, as it was right after the last apply: the server's own rendering",
    observed: 'D.',
    recorded: 'd',
    baseline: 'D.',
    is: 'in sync: rendering',
  },
  { reason: 'only the platform moved', observed: 'x', recorded: 'd', baseline: 'd', is: 'drift' },
  { reason: 'only the manifest moved', observed: 'r', recorded: 'r', baseline: 'r', is: 'manifest' },
  {
    reason: 'the manifest moved from a rendering',
    observed: 'R.',
    recorded: 'r',
    baseline: 'R.',
    is: 'manifest',
  },
  { reason: 'both moved', observed: 'x', recorded: 'r', baseline: 'r', is: 'both' },
  { reason: 'hidden, and nothing moved', recorded: 'd', is: 'in sync: equal, unverified' },
  { reason: 'hidden, and the manifest moved', recorded: 'r', is: 'manifest, unverified' },
  // What is not known.
  {
    reason: "first seen after our own write: the server's rendering of it",
    observed: 'D.',
    recorded: 'd',
    is: 'in sync: rendering',
  },
  { reason: 'a baseline that nobody saw cannot tell of drift', observed: 'x', recorded: 'r', is: 'manifest' },
  { reason: 'a field that the manifest names for the first time', observed: 'x', is: 'manifest' },
  { reason: 'the same, hidden', is: 'manifest, unverified' },
  { reason: 'null is a value', desired: null, observed: null, recorded: null, is: 'in sync: equal' },
  { reason: 'null is not hidden', observed: null, recorded: 'd', baseline: 'd', is: 'drift' },
  { reason: 'text is no number', desired: '1', observed: 1, recorded: '1', baseline: '1', is: 'drift' },
  // Adopting.
  { reason: 'adopting: shown as desired', adopting: true, observed: 'd', is: 'in sync: equal' },
  { reason: 'adopting: shown otherwise', adopting: true, observed: 'x', is: 'manifest' },
  {
    reason: 'adopting: hidden, and published as desired',
    adopting: true,
    published: 'd',
    is: 'in sync: equal, unverified',
  },
  {
    reason: 'adopting: hidden, and published otherwise',
    adopting: true,
    published: 'x',
    is: 'manifest, unverified',
  },
  { reason: 'adopting: hidden, and never published', adopting: true, is: 'manifest, unverified' },
  {
    reason: 'adopting: what is shown counts, not what was published',
    adopting: true,
    observed: 'x',
    published: 'd',
    is: 'manifest',
  },
  // Others may move it.
  {
    reason: 'others moved what they may',
    ignoreDrift: true,
    observed: 'x',
    recorded: 'd',
    baseline: 'd',
    is: 'in sync: ignored',
  },
  {
    reason: 'the manifest moved what others may move too',
    ignoreDrift: true,
    observed: 'r',
    recorded: 'r',
    baseline: 'r',
    is: 'manifest',
  },
  {
    reason: 'both moved what others may move: the edit goes out',
    ignoreDrift: true,
    observed: 'x',
    recorded: 'r',
    baseline: 'r',
    is: 'both',
  },
  {
    reason: 'adopting leaves alone what others may move',
    ignoreDrift: true,
    adopting: true,
    observed: 'x',
    is: 'in sync: ignored',
  },
  // Sets and arrays.
  {
    reason: 'a set has no order',
    rule: set,
    desired: ['a', 'b'],
    observed: ['b', 'a'],
    is: 'in sync: equal',
  },
  { reason: 'a set has no doubles', rule: set, desired: ['a', 'a'], observed: ['a'], is: 'in sync: equal' },
  {
    reason: 'another member is another set',
    rule: set,
    desired: ['a'],
    recorded: ['a'],
    observed: ['a', 'b'],
    baseline: ['a'],
    is: 'drift',
  },
  {
    reason: 'an array has an order',
    desired: ['a', 'b'],
    recorded: ['a', 'b'],
    observed: ['b', 'a'],
    baseline: ['a', 'b'],
    is: 'drift',
  },
  {
    reason: 'an object has none',
    desired: { a: 1, b: 2 },
    observed: { b: 2, a: 1 },
    is: 'in sync: equal',
  },
  // References that do not exist yet.
  {
    reason: 'a reference to a record that is yet to be created',
    desired: ref('Agent/new'),
    observed: null,
    recorded: 'id-of-the-old',
    baseline: null,
    is: 'manifest',
  },
  {
    reason: 'the same, hidden',
    desired: ref('Agent/new'),
    recorded: 'id-of-the-old',
    is: 'manifest, unverified',
  },
  // Secrets.
  {
    reason: 'the same secret',
    desired: secretValue,
    masked,
    recorded: masked,
    is: 'in sync: equal, unverified',
  },
  {
    reason: 'another secret',
    desired: secretValue,
    masked,
    recorded: { $fingerprint: print('old') },
    is: 'manifest, unverified',
  },
  {
    reason: 'a secret that is shown',
    desired: secretValue,
    masked,
    observed: 'sk-first-secret',
    is: 'in sync: equal',
  },
  {
    reason: 'a secret that is shown changed, and the manifest too',
    desired: secretValue,
    masked,
    observed: 'someone else',
    recorded: { $fingerprint: print('old') },
    baseline: { $fingerprint: print('old') },
    is: 'both',
  },
  {
    reason: 'only the secret in the manifest changed',
    desired: secretValue,
    masked,
    observed: 'old',
    recorded: { $fingerprint: print('old') },
    baseline: { $fingerprint: print('old') },
    is: 'manifest',
  },
  {
    reason: 'a plain value became a secret one, and nobody else changed it',
    desired: secretValue,
    masked,
    observed: 'plain',
    recorded: 'plain',
    baseline: 'plain',
    is: 'manifest',
  },
  {
    reason: 'a secret became a plain value, and nobody else changed it',
    observed: 'old',
    recorded: { $fingerprint: print('old') },
    baseline: { $fingerprint: print('old') },
    is: 'manifest',
  },
];

describe('the comparison of a leaf', () => {
  it.each(table)('$reason: $is', ({ reason, is, ...leaf }) => {
    expect(verdictOf(leaf), reason).toBe(is);
  });

  it('takes a text with a secret in it as one secret', () => {
    const text = new Join(['Bearer ', secretValue], '');
    expect(verdictOf({ desired: text, masked: null, observed: 'Bearer sk-first-secret' })).toBe(
      'in sync: equal',
    );
  });
});

describe("each kind's own equality", () => {
  it.each([
    ['PhoneNumber', 'number', '+49 (30) 123-45', 493012345, true, 'digits count'],
    ['PhoneNumber', 'number', '004930', '4930', true, 'leading zeros do not'],
    ['PhoneNumber', 'number', '4930', '4931', false, 'other digits are another number'],
    ['PhoneNumber', 'nickname', ' Desk ', 'Desk', true, 'nobody can put blanks back by hand'],
    ['PhoneNumber', 'nickname', 'Desk', 'desk', false, 'case counts in a name'],
    [
      'WorkspaceUser',
      'email',
      'Ada@Example.com',
      ' ada@example.COM',
      true,
      'case does not count in an address',
    ],
    ['WorkspaceUser', 'modules', ['agents', 'analytics'], ['analytics', 'agents'], true, 'modules are a set'],
    ['WorkspaceUser', 'agent_ids', ['a'], [], false, 'an empty set is another'],
    ['Webhook', 'url', 'https://Example.com', 'https://example.com/', true, 'one place, two spellings'],
    ['Webhook', 'url', 'https://example.com/a', 'https://example.com/A', false, 'paths have case'],
    ['Webhook', 'payload', { a: [1, 2] }, { a: [2, 1] }, false, 'a payload is taken as it is'],
    ['Agent', 'llm_config.knowledge_base_ids', ['a', 'b'], ['b', 'a'], true, 'knowledge bases are a set'],
    ['Agent', 'llm_config.tools', [1, 2], [2, 1], false, 'tools have an order'],
    ['Agent', 'tts_config.backchannel_words', ['a', 'b'], ['b', 'a'], false, 'words have an order'],
  ])('%s %s: %j and %j are the same: %s, because %s', (kind, path, a, b, same, reason) => {
    expect(sameValue(kinds.get(kind)?.fields[path] ?? {}, a, b), reason).toBe(same);
  });
});

describe('a fingerprint', () => {
  it('is an object with one, and nothing else is', () => {
    expect([{ $fingerprint: 'x' }, { $fingerprint: 1 }, 'x', null, ['x']].map(isFingerprint)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});
