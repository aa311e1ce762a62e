import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withDigest } from '../../../src/engine/plan/plan-digest.ts';
import type { PlanDocument } from '../../../src/engine/plan/plan-document.ts';
import { parseSavedPlan } from '../../../src/engine/plan/saved-plan.ts';
import { UserError } from '../../../src/problems/user-error.ts';
import { isObject, type Json } from '../../../src/values/json.ts';
import { change, plan, resource } from '../../output/sample-plan.ts';
import { json } from '../../values/arbitrary.ts';

const options = { file: 'p.json', version: '0.1.0' };

const document: PlanDocument = withDigest(
  plan([
    resource('Agent/a', {
      action: 'update',
      changes: [change('name', { before: 'old', after: 'new' })],
      desired: { name: 'new', 'tts_config.emotion': null },
      depends_on: ['Agent/b'],
    }),
    resource('Agent/b', { action: 'create', id: null }),
  ]),
);

/** Returns the paths of all values, as lists of keys. */
function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const inner =
    Array.isArray(value) || isObject(value)
      ? Object.entries(value).flatMap(([key, item]) => placesIn(item, [...path, key]))
      : [];
  return path.length === 0 ? inner : [path, ...inner];
}

function edited(value: unknown, [key = '', ...rest]: readonly string[], replacement: Json | undefined): unknown {
  const copy = structuredClone(value) as Record<string, unknown>;
  if (rest.length > 0) copy[key] = edited(copy[key], rest, replacement);
  else if (replacement === undefined) delete copy[key];
  else copy[key] = replacement;
  return copy;
}

function shuffledKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffledKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, shuffledKeys(item)] as const)
      .reverse(),
  );
}

describe('the digest of a saved plan', () => {
  it('does not depend on the layout of the file', () => {
    for (const text of [JSON.stringify(document), JSON.stringify(shuffledKeys(document), null, 2)])
      expect(parseSavedPlan(text, options)).toEqual(document);
  });

  it('is deterministic, and excludes itself', () => {
    expect(withDigest(document)).toEqual(document);
    expect(withDigest({ ...document, digest: 'x' })).toEqual(document);
  });

  it('detects every edit', () => {
    const places = placesIn(document).filter((path) => path[0] !== 'digest');
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.option(json, { nil: undefined }), (place, replacement) => {
        const text = JSON.stringify(edited(document, place, replacement));
        fc.pre(text !== JSON.stringify(document));
        expect(() => parseSavedPlan(text, options)).toThrow(UserError);
      }),
    );
  });

  it('detects a truncated file', () => {
    const text = JSON.stringify(document);
    for (let length = 0; length < text.length; length += 7)
      expect(() => parseSavedPlan(text.slice(0, length), options)).toThrow(UserError);
  });

  const without = ({ digest: _, ...rest }: PlanDocument) => rest;
  const resealed = (edit: object) => JSON.stringify(withDigest({ ...document, ...edit } as PlanDocument));

  it.each([
    ['an empty file', '', /it is not JSON/],
    ['an encrypted file', 'age-encryption.org/v1\n-> X25519', /^p\.json is encrypted$/],
    ['an encrypted JSON', JSON.stringify({ ...document, sops: { mac: 'x' } }), /^p\.json is encrypted$/],
    ['a truncated file', JSON.stringify(document).slice(0, 300), /it is not JSON/],
    ['another JSON document', '[]', /is not a saved plan$/],
    ['a null', 'null', /is not a saved plan$/],
    ['a state', JSON.stringify({ format_version: 1, resources: {} }), /is not a saved plan$/],
    ['a missing digest', JSON.stringify(without(document)), /was edited, redacted or damaged/],
    [
      'an edited value',
      JSON.stringify(edited(document, ['resources', '0', 'reason'], 'x')),
      /was edited, redacted or damaged/,
    ],
    ['an unexpected shape', resealed({ resources: [{ address: 'x' }] }), /is not a saved plan$/],
    ['a newer format', resealed({ format_version: 3 }), /has plan format 3; this version of voxform reads format 1/],
    ['an older format', resealed({ format_version: 0 }), /has plan format 0; this version of voxform reads format 1/],
    [
      'steps that are strings',
      resealed({ resources: [{ ...document.resources[0], steps: ['Do it.'] }] }),
      /is not a saved plan$/,
    ],
    [
      'a newer version',
      resealed({ voxform_version: '0.10.0' }),
      /was made by voxform 0\.10\.0; this is voxform 0\.1\.0/,
    ],
  ])('rejects %s with its own message', (_, text, message) => {
    expect(() => parseSavedPlan(text, options)).toThrow(message);
  });

  it.each([
    { madeBy: '0.1.0', reads: '0.1.0', accepted: true },
    { madeBy: '0.0.9', reads: '0.1.0', accepted: true },
    { madeBy: '0.9.0', reads: '0.10.0', accepted: true },
    { madeBy: '0.10.0', reads: '0.9.0', accepted: false },
    { madeBy: '0.1.1', reads: '0.1.0', accepted: false },
    { madeBy: '1.0.0', reads: '0.9.9', accepted: false },
  ])('accepts a plan of version $madeBy in version $reads: $accepted', ({ madeBy, reads, accepted }) => {
    const text = JSON.stringify(withDigest({ ...document, voxform_version: madeBy }));
    const read = () => parseSavedPlan(text, { file: 'p.json', version: reads });
    if (accepted) expect(read().voxform_version).toBe(madeBy);
    else expect(read).toThrow(madeBy);
  });
});
