import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareLeaf, type LeafState, sameValue, type Verdict } from '../../../src/engine/decide/compare.ts';
import { mask } from '../../../src/state/fingerprint.ts';
import type { Json } from '../../../src/values/json.ts';
import { Join, Reference, type Value } from '../../../src/values/value.ts';
import { json } from '../../values/arbitrary.ts';
import { fingerprint, fingerprints, numberKind, secret } from './facts.ts';

const SENT = 'desired';
const OLD = 'before';
const RENDERED = 'Desired, as the server writes it';
const FOREIGN = "someone else's";

const joined = new Join(['Bearer', secret], ' ');
const unresolved = new Reference('Agent', 'new');

const SET = { set: true } as const;
const NUMBER = numberKind.fields.number ?? {};

/** The letters of `LeafState`. */
interface Row extends Partial<LeafState> {
  readonly reason: string;
  readonly D?: Value;
  readonly R?: Json;
  readonly O?: unknown;
  readonly B?: Json;
  readonly is: string;
}

function leaf({ desired = SENT, ...rest }: Partial<LeafState>): LeafState {
  const isOpen = desired instanceof Reference;
  return {
    rule: {},
    desired,
    masked: isOpen ? null : mask(desired, fingerprints),
    recorded: undefined,
    observed: undefined,
    baseline: undefined,
    ignoreDrift: false,
    adopting: false,
    kept: false,
    referentReplaced: false,
    published: undefined,
    fingerprintOf: (shown) => fingerprints.of(String(shown)),
    formOf: (shown) => mask(shown as Json, fingerprints),
    ...rest,
  };
}

/** Returns `equal`, `rendering`, `ignored`, or who changed the value, with `?` if the value is not verified. */
function summaryOf(verdict: Verdict): string {
  return `${verdict.inSync ? verdict.because : verdict.cause}${verdict.verified ? '' : '?'}`;
}

const rows: Row[] = [
  // O is returned.
  { reason: 'O = D = R = B', R: SENT, O: SENT, B: SENT, is: 'equal' },
  { reason: 'O = D with another recorded value', R: OLD, O: SENT, B: OLD, is: 'equal' },
  { reason: 'O = D without a recorded value', O: SENT, is: 'equal' },
  {
    reason: 'D = R and O = B: the platform normalised the sent value',
    R: SENT,
    O: RENDERED,
    B: RENDERED,
    is: 'rendering',
  },
  { reason: 'D = R and B unknown: first read after our write', R: SENT, O: RENDERED, is: 'first look' },
  {
    reason: 'D = R, O = B, and the platform ignored D',
    R: SENT,
    O: OLD,
    B: OLD,
    kept: true,
    is: 'kept',
  },
  { reason: 'the same, now hidden', R: SENT, B: OLD, kept: true, is: 'kept?' },
  { reason: 'the same, and now the platform has the sent value', R: SENT, O: SENT, B: OLD, kept: true, is: 'equal' },
  { reason: 'the same, and another person changed it', R: SENT, O: FOREIGN, B: OLD, kept: true, is: 'drift' },
  { reason: 'the same, and the manifest changed', R: RENDERED, O: OLD, B: OLD, kept: true, is: 'manifest' },
  { reason: 'the same, with ignore_drift', R: SENT, O: OLD, B: OLD, kept: true, ignoreDrift: true, is: 'ignored' },
  { reason: 'D = R and O differs from B = D', R: SENT, O: FOREIGN, B: SENT, is: 'drift' },
  { reason: 'D = R and O differs from the normalised value', R: SENT, O: FOREIGN, B: RENDERED, is: 'drift' },
  { reason: 'only the manifest changed', R: OLD, O: OLD, B: OLD, is: 'manifest' },
  { reason: 'only the manifest changed, from a normalised value', R: OLD, O: RENDERED, B: RENDERED, is: 'manifest' },
  { reason: 'the manifest changed, without a known baseline', R: OLD, O: FOREIGN, is: 'manifest' },
  { reason: 'both changed', R: OLD, O: FOREIGN, B: OLD, is: 'both' },
  { reason: 'a new field in the manifest', O: OLD, is: 'manifest' },
  { reason: 'null is a value', D: null, R: SENT, O: SENT, B: SENT, is: 'manifest' },
  { reason: 'a returned null is a value', R: SENT, O: null, B: SENT, is: 'drift' },
  { reason: 'null returned and null desired', D: null, O: null, is: 'equal' },
  // O is hidden.
  { reason: 'hidden, D = R', R: SENT, is: 'equal?' },
  { reason: 'hidden, D differs from R', R: OLD, is: 'manifest?' },
  { reason: 'hidden, never sent', is: 'manifest?' },
  { reason: 'a hidden null that was sent', D: null, R: null, is: 'equal?' },
  { reason: 'a hidden null that was not sent', D: null, is: 'manifest?' },
  { reason: 'a hidden null that no update can send', rule: { immutable: true }, D: null, is: 'equal?' },
  {
    reason: 'a hidden null instead of a sent value',
    rule: { immutable: true },
    D: null,
    R: OLD,
    is: 'manifest?',
  },
  { reason: 'now hidden, so that drift is not known', R: SENT, B: RENDERED, is: 'equal?' },
  // Sets and normalising
  {
    reason: 'a set in another order',
    rule: SET,
    D: ['a', 'b'],
    R: ['a', 'b'],
    O: ['b', 'a'],
    B: ['a', 'b'],
    is: 'equal',
  },
  { reason: 'a set with a repeated member', rule: SET, D: ['a', 'b', 'a'], O: ['b', 'a'], is: 'equal' },
  { reason: 'a set that lost a member', rule: SET, D: ['a', 'b'], R: ['b', 'a'], O: ['b'], B: ['a', 'b'], is: 'drift' },
  { reason: 'a hidden set that was recorded in another order', rule: SET, D: ['a', 'b'], R: ['b', 'a'], is: 'equal?' },
  {
    reason: 'a set in an order of the platform, and the manifest changed',
    rule: SET,
    D: ['a', 'c'],
    R: ['a', 'b'],
    O: ['b', 'a'],
    B: ['a', 'b'],
    is: 'manifest',
  },
  { reason: 'a list in another order', D: ['a', 'b'], R: ['a', 'b'], O: ['b', 'a'], B: ['a', 'b'], is: 'drift' },
  {
    reason: 'keys of an object in another order',
    D: { a: 1, b: [{ c: 2, d: 3 }] },
    O: { b: [{ d: 3, c: 2 }], a: 1 },
    is: 'equal',
  },
  {
    reason: 'a number that was returned without its plus',
    rule: NUMBER,
    D: '+49 30 1234',
    R: '+49 30 1234',
    O: 49301234,
    B: '+49 30 1234',
    is: 'equal',
  },
  {
    reason: 'another number',
    rule: NUMBER,
    D: '+49 30 1234',
    R: '+49 30 1234',
    O: '49301235',
    B: '+49301234',
    is: 'drift',
  },
  // Secrets
  { reason: 'a hidden secret that was sent', D: secret, R: fingerprint('sk-secret'), is: 'equal?' },
  { reason: 'a hidden secret, and another one was sent', D: secret, R: fingerprint('sk-old'), is: 'manifest?' },
  { reason: 'a secret in place of a sent plain string', D: secret, R: 'sk-secret', is: 'manifest?' },
  {
    reason: 'a secret that is returned in full',
    D: secret,
    R: fingerprint('sk-secret'),
    O: 'sk-secret',
    B: fingerprint('sk-secret'),
    is: 'equal',
  },
  {
    reason: 'a secret that is returned as the same mask',
    D: secret,
    R: fingerprint('sk-secret'),
    O: 'sk-***',
    B: fingerprint('sk-***'),
    is: 'rendering',
  },
  {
    reason: 'a secret whose mask changed',
    D: secret,
    R: fingerprint('sk-secret'),
    O: 'ab-***',
    B: fingerprint('sk-***'),
    is: 'drift',
  },
  {
    reason: 'a new secret over the returned old one',
    D: secret,
    R: fingerprint('sk-old'),
    O: 'sk-old',
    B: fingerprint('sk-old'),
    is: 'manifest',
  },
  {
    reason: 'a new secret over a value of another person',
    D: secret,
    R: fingerprint('sk-old'),
    O: FOREIGN,
    B: fingerprint('sk-old'),
    is: 'both',
  },
  {
    reason: 'a secret in place of an unchanged plain string',
    D: secret,
    R: OLD,
    O: OLD,
    B: OLD,
    is: 'manifest',
  },
  {
    reason: 'a plain string in place of an unchanged secret',
    R: fingerprint('sk-old'),
    O: 'sk-old',
    B: fingerprint('sk-old'),
    is: 'manifest',
  },
  {
    reason: 'a string joined with a secret, returned in full',
    D: joined,
    R: mask(joined, fingerprints),
    O: 'Bearer sk-secret',
    B: fingerprint('Bearer sk-secret'),
    is: 'equal',
  },
  {
    reason: 'another string joined with a secret over an unchanged one',
    D: joined,
    R: mask(new Join(['Basic', secret], ' '), fingerprints),
    O: 'Basic sk-secret',
    B: fingerprint('Basic sk-secret'),
    is: 'manifest',
  },
  {
    reason: 'keys with a dollar sign, which are recorded in another form',
    D: { $schema: 'new' },
    R: { $literal: { $schema: 'old' } },
    O: { $schema: 'old' },
    B: { $literal: { $schema: 'old' } },
    is: 'manifest',
  },
  {
    reason: 'such an object, changed by another person',
    D: { $schema: 'new' },
    R: { $literal: { $schema: 'new' } },
    O: { $schema: 'other' },
    B: { $literal: { $schema: 'new' } },
    is: 'drift',
  },
  // ignore_drift
  { reason: 'changed with ignore_drift', ignoreDrift: true, R: SENT, O: FOREIGN, B: SENT, is: 'ignored' },
  {
    reason: 'changed with ignore_drift, and the manifest changed',
    ignoreDrift: true,
    R: OLD,
    O: FOREIGN,
    B: OLD,
    is: 'both',
  },
  {
    reason: 'unchanged with ignore_drift, and the manifest changed',
    ignoreDrift: true,
    R: OLD,
    O: OLD,
    B: OLD,
    is: 'manifest',
  },
  { reason: 'new in the manifest with ignore_drift', ignoreDrift: true, O: OLD, is: 'manifest' },
  { reason: 'adopted with ignore_drift', ignoreDrift: true, adopting: true, O: FOREIGN, is: 'ignored' },
  { reason: 'adopted with ignore_drift, hidden', ignoreDrift: true, adopting: true, is: 'equal?' },
  {
    reason: 'hidden with ignore_drift, and the manifest changed',
    ignoreDrift: true,
    R: OLD,
    is: 'manifest?',
  },
  // Adopting
  { reason: 'adopted unchanged', adopting: true, O: SENT, is: 'equal' },
  { reason: 'adopted with a difference', adopting: true, O: OLD, is: 'manifest' },
  { reason: 'adopted, hidden, published as desired', adopting: true, published: SENT, is: 'equal?' },
  { reason: 'adopted, hidden, published with a difference', adopting: true, published: OLD, is: 'manifest?' },
  { reason: 'adopted, hidden, never published', adopting: true, is: 'manifest?' },
  {
    reason: 'a returned value before a published one',
    adopting: true,
    O: OLD,
    published: SENT,
    is: 'manifest',
  },
  { reason: 'a sent value before a published one', R: OLD, published: SENT, is: 'manifest?' },
  // References to what does not exist yet
  { reason: 'an unknown id differs from a returned one', D: unresolved, O: 'A1', is: 'manifest' },
  { reason: 'an unknown id differs from null', D: unresolved, R: null, is: 'manifest?' },
  {
    reason: 'an unknown id differs from a published one',
    D: unresolved,
    adopting: true,
    published: 'A1',
    is: 'manifest?',
  },
];

describe('compareLeaf', () => {
  it.each(rows)('returns for $reason: $is', ({ reason, is, D: desired = SENT, R, O, B, ...facts }) => {
    const verdict = compareLeaf(leaf({ desired, recorded: R, observed: O, baseline: B, ...facts }));
    expect(summaryOf(verdict), reason).toBe(is);
  });

  it('finds no change in a sent value after any normalisation', () => {
    fc.assert(
      fc.property(json, fc.option(json, { nil: undefined }), fc.boolean(), (sent, shown, known) => {
        const verdict = compareLeaf(
          leaf({
            desired: sent,
            recorded: mask(sent, fingerprints),
            observed: shown,
            baseline: known && shown !== undefined ? mask(shown, fingerprints) : undefined,
          }),
        );
        expect(verdict.inSync).toBe(true);
      }),
    );
  });

  it('detects every difference from the baseline, and its cause', () => {
    fc.assert(
      fc.property(json, json, json, (sent, before, now) => {
        fc.pre(!sameValue({}, before, now) && !sameValue({}, sent, now) && sent !== 'another text');
        const facts = { observed: now, baseline: mask(before, fingerprints) };
        const unchanged = compareLeaf(leaf({ desired: sent, recorded: mask(sent, fingerprints), ...facts }));
        expect(summaryOf(unchanged)).toBe('drift');
        const untouched = compareLeaf(
          leaf({ desired: sent, recorded: 'another text', observed: now, baseline: mask(now, fingerprints) }),
        );
        expect(summaryOf(untouched)).toBe('manifest');
      }),
    );
  });
});
