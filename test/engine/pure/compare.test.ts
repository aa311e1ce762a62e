import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareLeaf, type LeafState, sameValue, type Verdict } from '../../../src/engine/decide/compare.ts';
import { mask } from '../../../src/state/fingerprint.ts';
import type { Json } from '../../../src/values/json.ts';
import { Join, Reference, Secret, type Value } from '../../../src/values/value.ts';
import { json } from '../../values/arbitrary.ts';
import { fingerprints, numberKind } from './facts.ts';

const D = 'desired';
const OLD = 'before';
const RENDERED = 'Desired, as the server writes it';
const FOREIGN = "someone else's";

const secret = new Secret('KEY', 'sk-secret');
const fingerprint = (text: string): Json => ({ $fingerprint: fingerprints.of(text) });
const joined = new Join(['Bearer', secret], ' ');
const unresolved = new Reference('Agent', 'new');

interface Row extends Partial<Omit<LeafState, 'desired'>> {
  readonly reason: string;
  readonly desired?: Value;
  readonly verdict: string;
}

function leaf({ desired = D, ...rest }: Partial<LeafState>): LeafState {
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
    referentMoved: false,
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
  { reason: 'O = D = R = B', recorded: D, observed: D, baseline: D, verdict: 'equal' },
  { reason: 'O = D, whatever was recorded', recorded: OLD, observed: D, baseline: OLD, verdict: 'equal' },
  { reason: 'O = D with nothing recorded', observed: D, verdict: 'equal' },
  {
    reason: 'D = R and O = B: the server renders what was sent',
    recorded: D,
    observed: RENDERED,
    baseline: RENDERED,
    verdict: 'rendering',
  },
  {
    reason: 'D = R and B unknown: first seen after our own write',
    recorded: D,
    observed: RENDERED,
    verdict: 'first look',
  },
  {
    reason: 'D = R, O = B, and the platform kept its own when D was sent',
    recorded: D,
    observed: OLD,
    baseline: OLD,
    kept: true,
    verdict: 'kept',
  },
  { reason: 'the same, hidden by now', recorded: D, baseline: OLD, kept: true, verdict: 'kept?' },
  {
    reason: 'the same, and by now the platform has what was sent',
    recorded: D,
    observed: D,
    baseline: OLD,
    kept: true,
    verdict: 'equal',
  },
  {
    reason: 'the same, and somebody moved it',
    recorded: D,
    observed: FOREIGN,
    baseline: OLD,
    kept: true,
    verdict: 'drift',
  },
  {
    reason: 'the same, and the manifest changed',
    recorded: RENDERED,
    observed: OLD,
    baseline: OLD,
    kept: true,
    verdict: 'manifest',
  },
  {
    reason: 'the same, and others may move it',
    recorded: D,
    observed: OLD,
    baseline: OLD,
    kept: true,
    ignoreDrift: true,
    verdict: 'ignored',
  },
  { reason: 'D = R and O differs from B = D', recorded: D, observed: FOREIGN, baseline: D, verdict: 'drift' },
  {
    reason: 'D = R and O differs from the rendering',
    recorded: D,
    observed: FOREIGN,
    baseline: RENDERED,
    verdict: 'drift',
  },
  { reason: 'only the manifest moved', recorded: OLD, observed: OLD, baseline: OLD, verdict: 'manifest' },
  {
    reason: 'only the manifest moved, away from a rendering',
    recorded: OLD,
    observed: RENDERED,
    baseline: RENDERED,
    verdict: 'manifest',
  },
  {
    reason: 'the manifest moved and nobody knows what the platform had',
    recorded: OLD,
    observed: FOREIGN,
    verdict: 'manifest',
  },
  { reason: 'both moved', recorded: OLD, observed: FOREIGN, baseline: OLD, verdict: 'both' },
  { reason: 'a field that is new in the manifest', observed: OLD, verdict: 'manifest' },
  { reason: 'null is a value', desired: null, recorded: D, observed: D, baseline: D, verdict: 'manifest' },
  { reason: 'a shown null is a value', recorded: D, observed: null, baseline: D, verdict: 'drift' },
  { reason: 'null shown and null desired', desired: null, observed: null, verdict: 'equal' },
  // O hidden
  { reason: 'hidden, D = R', recorded: D, verdict: 'equal?' },
  { reason: 'hidden, D differs from R', recorded: OLD, verdict: 'manifest?' },
  { reason: 'hidden, never sent', verdict: 'manifest?' },
  { reason: 'hidden null that was sent', desired: null, recorded: null, verdict: 'equal?' },
  { reason: 'hidden null that was not', desired: null, verdict: 'manifest?' },
  {
    reason: 'hidden now, though it was shown: nobody can say that it moved',
    recorded: D,
    baseline: RENDERED,
    verdict: 'equal?',
  },
  // Sets and normalising
  {
    reason: 'a set in another order',
    rule: { set: true },
    desired: ['a', 'b'],
    recorded: ['a', 'b'],
    observed: ['b', 'a'],
    baseline: ['a', 'b'],
    verdict: 'equal',
  },
  {
    reason: 'a set with something said twice',
    rule: { set: true },
    desired: ['a', 'b', 'a'],
    observed: ['b', 'a'],
    verdict: 'equal',
  },
  {
    reason: 'a set that lost a member',
    rule: { set: true },
    desired: ['a', 'b'],
    recorded: ['b', 'a'],
    observed: ['b'],
    baseline: ['a', 'b'],
    verdict: 'drift',
  },
  {
    reason: 'a set, hidden, recorded in another order',
    rule: { set: true },
    desired: ['a', 'b'],
    recorded: ['b', 'a'],
    verdict: 'equal?',
  },
  {
    reason: 'a set that the platform shows in an order of its own, and the manifest changed',
    rule: { set: true },
    desired: ['a', 'c'],
    recorded: ['a', 'b'],
    observed: ['b', 'a'],
    baseline: ['a', 'b'],
    verdict: 'manifest',
  },
  {
    reason: 'a list in another order',
    desired: ['a', 'b'],
    recorded: ['a', 'b'],
    observed: ['b', 'a'],
    baseline: ['a', 'b'],
    verdict: 'drift',
  },
  {
    reason: 'keys of an object in another order',
    desired: { a: 1, b: [{ c: 2, d: 3 }] },
    observed: { b: [{ d: 3, c: 2 }], a: 1 },
    verdict: 'equal',
  },
  {
    reason: 'a number that came back without its plus',
    rule: numberKind.fields.number ?? {},
    desired: '+49 30 1234',
    recorded: '+49 30 1234',
    observed: 49301234,
    baseline: '+49 30 1234',
    verdict: 'equal',
  },
  {
    reason: 'another number',
    rule: numberKind.fields.number ?? {},
    desired: '+49 30 1234',
    recorded: '+49 30 1234',
    observed: '49301235',
    baseline: '+49301234',
    verdict: 'drift',
  },
  // Secrets
  {
    reason: 'a secret that nobody shows, as it was sent',
    desired: secret,
    recorded: fingerprint('sk-secret'),
    verdict: 'equal?',
  },
  {
    reason: 'a secret that nobody shows, and another was sent',
    desired: secret,
    recorded: fingerprint('sk-old'),
    verdict: 'manifest?',
  },
  { reason: 'plain text was sent where now a secret is', desired: secret, recorded: 'sk-secret', verdict: 'manifest?' },
  {
    reason: 'a secret that is shown as it is',
    desired: secret,
    recorded: fingerprint('sk-secret'),
    observed: 'sk-secret',
    baseline: fingerprint('sk-secret'),
    verdict: 'equal',
  },
  {
    reason: 'a secret that is shown as a mask, as ever',
    desired: secret,
    recorded: fingerprint('sk-secret'),
    observed: 'sk-***',
    baseline: fingerprint('sk-***'),
    verdict: 'rendering',
  },
  {
    reason: 'a secret whose mask is another one now',
    desired: secret,
    recorded: fingerprint('sk-secret'),
    observed: 'ab-***',
    baseline: fingerprint('sk-***'),
    verdict: 'drift',
  },
  {
    reason: 'a new secret over the shown old one',
    desired: secret,
    recorded: fingerprint('sk-old'),
    observed: 'sk-old',
    baseline: fingerprint('sk-old'),
    verdict: 'manifest',
  },
  {
    reason: 'a new secret over a text that someone else put there',
    desired: secret,
    recorded: fingerprint('sk-old'),
    observed: FOREIGN,
    baseline: fingerprint('sk-old'),
    verdict: 'both',
  },
  {
    reason: 'a secret in place of a plain text that nobody touched',
    desired: secret,
    recorded: OLD,
    observed: OLD,
    baseline: OLD,
    verdict: 'manifest',
  },
  {
    reason: 'a plain text in place of a secret that nobody touched',
    recorded: fingerprint('sk-old'),
    observed: 'sk-old',
    baseline: fingerprint('sk-old'),
    verdict: 'manifest',
  },
  {
    reason: 'a text joined with a secret, shown as it was sent',
    desired: joined,
    recorded: mask(joined, fingerprints),
    observed: 'Bearer sk-secret',
    baseline: fingerprint('Bearer sk-secret'),
    verdict: 'equal',
  },
  {
    reason: 'another text joined with a secret over one that nobody touched',
    desired: joined,
    recorded: mask(new Join(['Basic', secret], ' '), fingerprints),
    observed: 'Basic sk-secret',
    baseline: fingerprint('Basic sk-secret'),
    verdict: 'manifest',
  },
  {
    reason: 'keys with a dollar sign are remembered in another form than they are shown',
    desired: { $schema: 'new' },
    recorded: { $literal: { $schema: 'old' } },
    observed: { $schema: 'old' },
    baseline: { $literal: { $schema: 'old' } },
    verdict: 'manifest',
  },
  {
    reason: 'such an object, moved by someone else',
    desired: { $schema: 'new' },
    recorded: { $literal: { $schema: 'new' } },
    observed: { $schema: 'other' },
    baseline: { $literal: { $schema: 'new' } },
    verdict: 'drift',
  },
  // ignore_drift
  { reason: 'others may move it', ignoreDrift: true, recorded: D, observed: FOREIGN, baseline: D, verdict: 'ignored' },
  {
    reason: 'others may move it, and the manifest was edited',
    ignoreDrift: true,
    recorded: OLD,
    observed: FOREIGN,
    baseline: OLD,
    verdict: 'both',
  },
  {
    reason: 'others may move it, and did not; the manifest was edited',
    ignoreDrift: true,
    recorded: OLD,
    observed: OLD,
    baseline: OLD,
    verdict: 'manifest',
  },
  {
    reason: 'others may move it, and it is new in the manifest',
    ignoreDrift: true,
    observed: OLD,
    verdict: 'manifest',
  },
  {
    reason: 'others may move it, and it is found so',
    ignoreDrift: true,
    adopting: true,
    observed: FOREIGN,
    verdict: 'ignored',
  },
  { reason: 'others may move it, and it is found hidden', ignoreDrift: true, adopting: true, verdict: 'equal?' },
  {
    reason: 'others may move it, it is hidden, and the manifest was edited',
    ignoreDrift: true,
    recorded: OLD,
    verdict: 'manifest?',
  },
  // Adopting
  { reason: 'adopted as it is', adopting: true, observed: D, verdict: 'equal' },
  { reason: 'adopted, and other than the manifest', adopting: true, observed: OLD, verdict: 'manifest' },
  { reason: 'adopted, hidden, published as desired', adopting: true, published: D, verdict: 'equal?' },
  { reason: 'adopted, hidden, published otherwise', adopting: true, published: OLD, verdict: 'manifest?' },
  { reason: 'adopted, hidden, never published', adopting: true, verdict: 'manifest?' },
  {
    reason: 'what is shown counts more than what is published',
    adopting: true,
    observed: OLD,
    published: D,
    verdict: 'manifest',
  },
  { reason: 'what was sent counts more than what is published', recorded: OLD, published: D, verdict: 'manifest?' },
  // References to what does not exist yet
  {
    reason: 'an id that nobody knows is no id that is shown',
    desired: unresolved,
    observed: 'A1',
    verdict: 'manifest',
  },
  { reason: 'an id that nobody knows is not null', desired: unresolved, recorded: null, verdict: 'manifest?' },
  {
    reason: 'an id that nobody knows is not what is published',
    desired: unresolved,
    adopting: true,
    published: 'A1',
    verdict: 'manifest?',
  },
];

describe('comparing one leaf', () => {
  it.each(rows)('$reason: $verdict', ({ reason, verdict, ...facts }) => {
    expect(spoken(compareLeaf(leaf(facts))), reason).toBe(verdict);
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
