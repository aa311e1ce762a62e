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

/** The letters are those of `LeafState`. */
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

/** `equal`, `rendering`, `ignored`, or who moved; with `?` where nothing shows it. */
function spoken(verdict: Verdict): string {
  return `${verdict.inSync ? verdict.because : verdict.cause}${verdict.verified ? '' : '?'}`;
}

const rows: Row[] = [
  // O shown
  { reason: 'O = D = R = B', R: SENT, O: SENT, B: SENT, is: 'equal' },
  { reason: 'O = D, whatever was recorded', R: OLD, O: SENT, B: OLD, is: 'equal' },
  { reason: 'O = D with nothing recorded', O: SENT, is: 'equal' },
  { reason: 'D = R and O = B: the server renders what was sent', R: SENT, O: RENDERED, B: RENDERED, is: 'rendering' },
  { reason: 'D = R and B unknown: first seen after our own write', R: SENT, O: RENDERED, is: 'first look' },
  {
    reason: 'D = R, O = B, and the platform kept its own when D was sent',
    R: SENT,
    O: OLD,
    B: OLD,
    kept: true,
    is: 'kept',
  },
  { reason: 'the same, hidden by now', R: SENT, B: OLD, kept: true, is: 'kept?' },
  { reason: 'the same, and by now the platform has what was sent', R: SENT, O: SENT, B: OLD, kept: true, is: 'equal' },
  { reason: 'the same, and somebody moved it', R: SENT, O: FOREIGN, B: OLD, kept: true, is: 'drift' },
  { reason: 'the same, and the manifest changed', R: RENDERED, O: OLD, B: OLD, kept: true, is: 'manifest' },
  { reason: 'the same, and others may move it', R: SENT, O: OLD, B: OLD, kept: true, ignoreDrift: true, is: 'ignored' },
  { reason: 'D = R and O differs from B = D', R: SENT, O: FOREIGN, B: SENT, is: 'drift' },
  { reason: 'D = R and O differs from the rendering', R: SENT, O: FOREIGN, B: RENDERED, is: 'drift' },
  { reason: 'only the manifest moved', R: OLD, O: OLD, B: OLD, is: 'manifest' },
  { reason: 'only the manifest moved, away from a rendering', R: OLD, O: RENDERED, B: RENDERED, is: 'manifest' },
  { reason: 'the manifest moved and nobody knows what the platform had', R: OLD, O: FOREIGN, is: 'manifest' },
  { reason: 'both moved', R: OLD, O: FOREIGN, B: OLD, is: 'both' },
  { reason: 'a field that is new in the manifest', O: OLD, is: 'manifest' },
  { reason: 'null is a value', D: null, R: SENT, O: SENT, B: SENT, is: 'manifest' },
  { reason: 'a shown null is a value', R: SENT, O: null, B: SENT, is: 'drift' },
  { reason: 'null shown and null desired', D: null, O: null, is: 'equal' },
  // O hidden
  { reason: 'hidden, D = R', R: SENT, is: 'equal?' },
  { reason: 'hidden, D differs from R', R: OLD, is: 'manifest?' },
  { reason: 'hidden, never sent', is: 'manifest?' },
  { reason: 'hidden null that was sent', D: null, R: null, is: 'equal?' },
  { reason: 'hidden null that was not', D: null, is: 'manifest?' },
  { reason: 'hidden null that no update can send', rule: { immutable: true }, D: null, is: 'equal?' },
  {
    reason: 'hidden null instead of a value that was sent',
    rule: { immutable: true },
    D: null,
    R: OLD,
    is: 'manifest?',
  },
  { reason: 'hidden now, though it was shown: nobody can say that it moved', R: SENT, B: RENDERED, is: 'equal?' },
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
  { reason: 'a set with something said twice', rule: SET, D: ['a', 'b', 'a'], O: ['b', 'a'], is: 'equal' },
  { reason: 'a set that lost a member', rule: SET, D: ['a', 'b'], R: ['b', 'a'], O: ['b'], B: ['a', 'b'], is: 'drift' },
  { reason: 'a set, hidden, recorded in another order', rule: SET, D: ['a', 'b'], R: ['b', 'a'], is: 'equal?' },
  {
    reason: 'a set that the platform shows in an order of its own, and the manifest changed',
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
    reason: 'a number that came back without its plus',
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
  { reason: 'a secret that nobody shows, as it was sent', D: secret, R: fingerprint('sk-secret'), is: 'equal?' },
  { reason: 'a secret that nobody shows, and another was sent', D: secret, R: fingerprint('sk-old'), is: 'manifest?' },
  { reason: 'plain text was sent where now a secret is', D: secret, R: 'sk-secret', is: 'manifest?' },
  {
    reason: 'a secret that is shown as it is',
    D: secret,
    R: fingerprint('sk-secret'),
    O: 'sk-secret',
    B: fingerprint('sk-secret'),
    is: 'equal',
  },
  {
    reason: 'a secret that is shown as a mask, as ever',
    D: secret,
    R: fingerprint('sk-secret'),
    O: 'sk-***',
    B: fingerprint('sk-***'),
    is: 'rendering',
  },
  {
    reason: 'a secret whose mask is another one now',
    D: secret,
    R: fingerprint('sk-secret'),
    O: 'ab-***',
    B: fingerprint('sk-***'),
    is: 'drift',
  },
  {
    reason: 'a new secret over the shown old one',
    D: secret,
    R: fingerprint('sk-old'),
    O: 'sk-old',
    B: fingerprint('sk-old'),
    is: 'manifest',
  },
  {
    reason: 'a new secret over a text that someone else put there',
    D: secret,
    R: fingerprint('sk-old'),
    O: FOREIGN,
    B: fingerprint('sk-old'),
    is: 'both',
  },
  {
    reason: 'a secret in place of a plain text that nobody touched',
    D: secret,
    R: OLD,
    O: OLD,
    B: OLD,
    is: 'manifest',
  },
  {
    reason: 'a plain text in place of a secret that nobody touched',
    R: fingerprint('sk-old'),
    O: 'sk-old',
    B: fingerprint('sk-old'),
    is: 'manifest',
  },
  {
    reason: 'a text joined with a secret, shown as it was sent',
    D: joined,
    R: mask(joined, fingerprints),
    O: 'Bearer sk-secret',
    B: fingerprint('Bearer sk-secret'),
    is: 'equal',
  },
  {
    reason: 'another text joined with a secret over one that nobody touched',
    D: joined,
    R: mask(new Join(['Basic', secret], ' '), fingerprints),
    O: 'Basic sk-secret',
    B: fingerprint('Basic sk-secret'),
    is: 'manifest',
  },
  {
    reason: 'keys with a dollar sign are remembered in another form than they are shown',
    D: { $schema: 'new' },
    R: { $literal: { $schema: 'old' } },
    O: { $schema: 'old' },
    B: { $literal: { $schema: 'old' } },
    is: 'manifest',
  },
  {
    reason: 'such an object, moved by someone else',
    D: { $schema: 'new' },
    R: { $literal: { $schema: 'new' } },
    O: { $schema: 'other' },
    B: { $literal: { $schema: 'new' } },
    is: 'drift',
  },
  // ignore_drift
  { reason: 'others may move it', ignoreDrift: true, R: SENT, O: FOREIGN, B: SENT, is: 'ignored' },
  {
    reason: 'others may move it, and the manifest was edited',
    ignoreDrift: true,
    R: OLD,
    O: FOREIGN,
    B: OLD,
    is: 'both',
  },
  {
    reason: 'others may move it, and did not; the manifest was edited',
    ignoreDrift: true,
    R: OLD,
    O: OLD,
    B: OLD,
    is: 'manifest',
  },
  { reason: 'others may move it, and it is new in the manifest', ignoreDrift: true, O: OLD, is: 'manifest' },
  { reason: 'others may move it, and it is found so', ignoreDrift: true, adopting: true, O: FOREIGN, is: 'ignored' },
  { reason: 'others may move it, and it is found hidden', ignoreDrift: true, adopting: true, is: 'equal?' },
  {
    reason: 'others may move it, it is hidden, and the manifest was edited',
    ignoreDrift: true,
    R: OLD,
    is: 'manifest?',
  },
  // Adopting
  { reason: 'adopted as it is', adopting: true, O: SENT, is: 'equal' },
  { reason: 'adopted, and other than the manifest', adopting: true, O: OLD, is: 'manifest' },
  { reason: 'adopted, hidden, published as desired', adopting: true, published: SENT, is: 'equal?' },
  { reason: 'adopted, hidden, published otherwise', adopting: true, published: OLD, is: 'manifest?' },
  { reason: 'adopted, hidden, never published', adopting: true, is: 'manifest?' },
  {
    reason: 'what is shown counts more than what is published',
    adopting: true,
    O: OLD,
    published: SENT,
    is: 'manifest',
  },
  { reason: 'what was sent counts more than what is published', R: OLD, published: SENT, is: 'manifest?' },
  // References to what does not exist yet
  { reason: 'an id that nobody knows is no id that is shown', D: unresolved, O: 'A1', is: 'manifest' },
  { reason: 'an id that nobody knows is not null', D: unresolved, R: null, is: 'manifest?' },
  {
    reason: 'an id that nobody knows is not what is published',
    D: unresolved,
    adopting: true,
    published: 'A1',
    is: 'manifest?',
  },
];

describe('comparing one leaf', () => {
  it.each(rows)('$reason: $is', ({ reason, is, D: desired = SENT, R, O, B, ...facts }) => {
    const verdict = compareLeaf(leaf({ desired, recorded: R, observed: O, baseline: B, ...facts }));
    expect(spoken(verdict), reason).toBe(is);
  });

  it('finds no change in what was sent, whatever the platform made of it', () => {
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

  it('always tells a shown value that differs from what was last seen, and never blames both for one', () => {
    fc.assert(
      fc.property(json, json, json, (sent, before, now) => {
        fc.pre(!sameValue({}, before, now) && !sameValue({}, sent, now) && sent !== 'another text');
        const facts = { observed: now, baseline: mask(before, fingerprints) };
        const unchanged = compareLeaf(leaf({ desired: sent, recorded: mask(sent, fingerprints), ...facts }));
        expect(spoken(unchanged)).toBe('drift');
        const untouched = compareLeaf(
          leaf({ desired: sent, recorded: 'another text', observed: now, baseline: mask(now, fingerprints) }),
        );
        expect(spoken(untouched)).toBe('manifest');
      }),
    );
  });
});
