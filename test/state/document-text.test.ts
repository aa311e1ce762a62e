import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attempt } from '../../src/problems/attempt.ts';
import { digestOf, parseState } from '../../src/state/document-text.ts';
import { emptyDocument } from '../../src/state/fold.ts';
import type { StateDocument } from '../../src/state/state-document.ts';
import { type Json, jsonEqual, sortKeys } from '../../src/values/json.ts';
import { stateText } from './temporary-state.ts';

const SMALL = { id: '1', recorded: { name: 'n', tools: [{ a: 1 }] }, observed: {}, unobserved: ['x'] };

function documentOf(resources: StateDocument['resources']): StateDocument {
  return { ...emptyDocument({ lineage: 'L', salt: 'S' }, 'W', '0'), resources };
}

const TWO = documentOf({ 'Agent/a': SMALL, 'Agent/b': { ...SMALL, id: 'id-b' } });
const TEXT = stateText(TWO);

/** Replaces the digest of an edited text, as another program could do. */
function withDigest(edited: string): string {
  const content = edited.slice(0, edited.lastIndexOf(',\n  "write_digest"'));
  return `${content},\n  "write_digest": "sha256:${hash('sha256', content)}"\n}\n`;
}

function read(text: string | Uint8Array) {
  return parseState(Buffer.from(text), 'x.json', 'Restore it.');
}

describe('text of a state', () => {
  it('parses to the written state, for any state', () => {
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
        fc.dictionary(fc.string(), entry, { maxKeys: 4 }),
        fc.dictionary(fc.string(), pending, { maxKeys: 2 }),
        (resources, waiting) => {
          const document = { ...documentOf(resources), pending: waiting };
          const text = stateText(document);
          fc.pre(!text.includes('__proto__'));
          expect(read(text)).toEqual(document);
        },
      ),
    );
  });

  it.each([TWO, documentOf({})])('is JSON with sorted keys and an indentation of two spaces', (document) => {
    const text = stateText(document);
    expect(text).toBe(`${JSON.stringify(sortKeys(JSON.parse(text)), null, 2)}\n`);
  });

  it('is never read as another state if any byte is changed', () => {
    const text = Buffer.from(TEXT);
    for (let at = 0; at < text.length; at++) {
      for (const byte of [0x0a, 0x20, 0x22, 0x2c, 0x5c, 0x7b, 0x7d, 0x80]) {
        const harmed = Buffer.from(text);
        harmed[at] = byte;
        const found = attempt(() => read(harmed));
        if (found !== undefined) expect(found).toEqual(TWO);
      }
    }
  });

  it.each<{ reason: string; harm(text: string): string; says: RegExp }>([
    {
      reason: 'a duplicate address',
      harm: (text) => text.replace('Agent/b', 'Agent/a'),
      says: /repeats the key "Agent\/a"/,
    },
    {
      reason: 'a reserved address',
      harm: (text) => text.replace('Agent/b', '__proto__'),
      says: /has the key "__proto__"/,
    },
    {
      reason: 'duplicate resources',
      harm: (text) => text.replace('"orphans"', '"resources"'),
      says: /repeats the key "resources"/,
    },
    {
      reason: 'half of the text',
      harm: (text) => text.slice(0, text.length / 2),
      says: /invalid or truncated JSON/,
    },
    {
      reason: 'an extra comma',
      harm: (text) => text.replace('    }\n  },', '    },\n  },'),
      says: /invalid or truncated JSON/,
    },
    {
      reason: 'an entry without an id',
      harm: (text) => text.replace('"id": "id-b"', '"id": ""'),
      says: /at resources > Agent\/b > id/,
    },
    {
      reason: 'an unresolved merge conflict',
      harm: (text) => text.replace('    "Agent/b"', '<<<<<<< ours\n    "Agent/b"'),
      says: /merge conflict/,
    },
    {
      reason: 'a value that is nested too deeply',
      harm: (text) => text.replace('"observed": {}', `"observed": {"x": ${'['.repeat(600)}${']'.repeat(600)}}`),
      says: /is damaged/,
    },
    {
      reason: 'a newer format',
      harm: (text) => text.replace('"format_version": 2', '"format_version": 4'),
      says: /in format 4/,
    },
    {
      reason: 'resources under another name that are not empty',
      harm: (text) => `{"resources": {}, "other": ${text}}`,
      says: /is damaged/,
    },
  ])('is refused with the reason: $reason', ({ harm, says }) => {
    const harmed = harm(TEXT);
    expect(harmed === TEXT).toBe(false);
    expect(() => read(harmed)).toThrow(says);
  });

  const written = { ...TWO, write_digest: digestOf(TWO) };
  it.each<{ reason: string; other: string }>([
    { reason: 'in one line', other: JSON.stringify(written) },
    { reason: 'with tabs', other: JSON.stringify(written, null, '\t') },
    { reason: 'with the line breaks of another system', other: TEXT.replaceAll('\n', '\r\n') },
    { reason: 'with a byte order mark', other: `\ufeff${TEXT}` },
    { reason: 'with its entries in one line', other: withDigest(TEXT.replace('},\n    "Agent/b"', '}, "Agent/b"')) },
    { reason: 'with its resources in one line', other: withDigest(TEXT.replace('"resources": {\n', '"resources": {')) },
  ])('may have another layout: $reason', ({ other }) => {
    expect(jsonEqual(read(other), TWO)).toBe(true);
  });
});
