import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf, parseInParts, parseState } from '../../src/state/document-text.ts';
import { emptyDocument } from '../../src/state/fold.ts';
import type { StateDocument, WrittenDocument } from '../../src/state/state-document.ts';
import { canonicalJson, type Json, jsonEqual } from '../../src/values/json.ts';
import { stateText } from './temporary-state.ts';

const DEEPEST = 500;
const SMALL = { id: '1', recorded: { name: 'n', tools: [{ a: 1 }] }, observed: {}, unobserved: ['x'] };

function documentOf(resources: StateDocument['resources']): StateDocument {
  return { ...emptyDocument({ lineage: 'L', salt: 'S' }, 'W', '0'), resources };
}

/** About a megabyte, in several parts. */
const LARGE = documentOf(
  Object.fromEntries(
    Array.from({ length: 400 }, (_, index) => [
      `Agent/a-${String(index).padStart(3, '0')}`,
      {
        id: `id-${index}`,
        recorded: {
          'prompt_config.prompt': `é\n    },\n  }${'x'.repeat(2500)}`,
          tools: [{ a: { b: [{}] } }],
        },
        observed: {},
        unobserved: ['x'],
      },
    ]),
  ),
);
const TEXT = stateText(LARGE);

function withDigest(document: StateDocument): WrittenDocument {
  return { ...document, write_digest: digestOf(document) };
}

function read(text: string): WrittenDocument | undefined {
  return parseInParts(Buffer.from(text), DEEPEST);
}

describe('a state that is read in parts', () => {
  it('is what was written', () => {
    expect(jsonEqual(read(TEXT), withDigest(LARGE))).toBe(true);
    const one = documentOf({ 'Agent/a': { id: '1', recorded: {}, observed: {}, unobserved: [] } });
    expect(read(stateText(one))).toEqual(withDigest(one));
  });

  it('is, for any state, what it is read as a whole', () => {
    const leaves = fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<Json>, { maxKeys: 3 });
    const entry = fc.record({
      id: fc.string({ minLength: 1 }),
      recorded: leaves,
      observed: leaves,
      unobserved: fc.array(fc.string(), { maxLength: 2 }),
    });
    const pending = fc.record({ since: fc.string(), recorded: leaves });
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), entry, { minKeys: 1, maxKeys: 4 }),
        fc.dictionary(fc.string(), pending, { maxKeys: 2 }),
        (resources, waiting) => {
          const document = { ...documentOf(resources), pending: waiting };
          const text = stateText(document);
          fc.pre(!text.includes('__proto__'));
          const whole = parseState(Buffer.from(JSON.stringify(JSON.parse(text))), 'x', '');
          expect(whole).toEqual(document);
          expect(read(text)).toEqual(withDigest(document));
        },
      ),
    );
  });

  it('is never other than its text says, whatever byte of it is changed', () => {
    const text = Buffer.from(stateText(documentOf({ 'Agent/a': SMALL, 'Agent/b': { ...SMALL, id: '2' } })));
    for (let at = 0; at < text.length; at++) {
      for (const byte of [0x0a, 0x20, 0x22, 0x2c, 0x5c, 0x7b, 0x7d, 0x80]) {
        const harmed = Buffer.from(text);
        harmed[at] = byte;
        const found = parseInParts(harmed, DEEPEST);
        if (found === undefined) continue;
        expect(canonicalJson(found as unknown as Json)).toBe(canonicalJson(JSON.parse(harmed.toString()) as Json));
      }
    }
  });

  it.each<{ reason: string; harm(text: string): string; says: RegExp }>([
    {
      reason: 'an address in two parts',
      harm: (text) => text.replace('Agent/a-399', 'Agent/a-000'),
      says: /repeats the key "Agent\/a-000"/,
    },
    {
      reason: 'a reserved address in the last part',
      harm: (text) => text.replace('Agent/a-399', '__proto__'),
      says: /has the key "__proto__"/,
    },
    {
      reason: 'resources twice',
      harm: (text) => text.replace('"orphans"', '"resources"'),
      says: /repeats the key "resources"/,
    },
    {
      reason: 'half of it',
      harm: (text) => text.slice(0, text.length / 2),
      says: /invalid or truncated JSON/,
    },
    {
      reason: 'a comma too many',
      harm: (text) => text.replace('    }\n  },', '    },\n  },'),
      says: /invalid or truncated JSON/,
    },
    {
      reason: 'an entry without an id',
      harm: (text) => text.replace('"id": "id-399"', '"id": ""'),
      says: /at resources > Agent\/a-399 > id/,
    },
    {
      reason: 'an unresolved merge conflict',
      harm: (text) => text.replace('    "Agent/a-300"', '<<<<<<< ours\n    "Agent/a-300"'),
      says: /merge conflict/,
    },
    {
      reason: 'a value that nests too deeply',
      harm: (text) => text.replace('"observed": {}', `"observed": {"x": ${'['.repeat(600)}${']'.repeat(600)}}`),
      says: /is damaged/,
    },
    {
      reason: 'a newer format',
      harm: (text) => text.replace('"format_version": 2', '"format_version": 4'),
      says: /in format 4/,
    },
    {
      reason: 'resources under another name, which hold some',
      harm: (text) => `{"resources": {}, "other": ${text}}`,
      says: /is damaged/,
    },
  ])('is left to be read as a whole, which says what is wrong: $reason', ({ harm, says }) => {
    const harmed = harm(TEXT);
    expect(harmed === TEXT).toBe(false);
    expect(read(harmed) === undefined).toBe(true);
    expect(() => parseState(Buffer.from(harmed), 'x.json', 'Restore it.')).toThrow(says);
  });

  it.each<{ reason: string; other: string }>([
    { reason: 'in one line', other: JSON.stringify(withDigest(LARGE)) },
    { reason: 'with tabs', other: JSON.stringify(withDigest(LARGE), null, '\t') },
    { reason: "with another system's line breaks", other: TEXT.replaceAll('\n', '\r\n') },
    { reason: 'with a byte order mark', other: `\ufeff${TEXT}` },
  ])('is left to be read as a whole where it was laid out otherwise: $reason', ({ other }) => {
    expect(read(other) === undefined).toBe(true);
    expect(jsonEqual(parseState(Buffer.from(other), 'x.json', ''), LARGE)).toBe(true);
  });
});
