import { describe, expect, it } from 'vitest';
import { createCachingParser, parseEdited, parseState } from '../../src/state/document-text.ts';
import { emptyDocument } from '../../src/state/fold.ts';
import type { StateDocument } from '../../src/state/state-document.ts';
import { LostState } from '../../src/state/state-errors.ts';
import { jsonEqual, sortKeys } from '../../src/values/json.ts';
import { entry, stateText } from './temporary-state.ts';

const orphan = { kind: 'Agent', address: 'Agent/gone', reason: 'forgotten', since: '2030' } as const;

function documentOf(count: number, prompt = 'é "\n'): StateDocument {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const recorded = { 'prompt_config.prompt': prompt, tools: [], llm_config: {} };
  return {
    ...emptyDocument({ lineage: 'L1', salt: 'S1' }, 'W1', '0.0.0'),
    resources: Object.fromEntries(
      numbers.map((number) => [`Agent/a-${count - number}`, { ...entry(`id-${number}`), recorded }]),
    ),
    pending: { 'Webhook/new': { since: '2030', recorded } },
    orphans: numbers.map((number) => ({ ...orphan, id: `gone-${number}` })),
    write: 'w',
  };
}

it('parses identical bytes once if the parser has a memory, and parses other and damaged bytes again', () => {
  const parse = createCachingParser();
  const read = (text: string) => parse(Buffer.from(text), 'x.json', '');
  const [one, two] = [stateText(documentOf(1)), stateText(documentOf(2))];
  const first = read(one);
  expect(read(one)).toBe(first);
  expect(read(two)).toEqual(documentOf(2));
  expect(read(one)).toEqual(first);
  const damaged = one.replace('"W1"', '"W2"');
  for (let times = 0; times < 2; times++) expect(() => read(damaged)).toThrow(LostState);
});

describe('digest of a state', () => {
  it('detects every flipped bit that changes the content', () => {
    const document = documentOf(2);
    const text = Buffer.from(stateText(document));
    let harmless = 0;
    for (let bit = 0; bit < text.length * 8; bit++) {
      const flipped = Buffer.from(text);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      try {
        expect(jsonEqual(parseState(flipped, 'x.json', ''), document), `bit ${bit}`).toBe(true);
        harmless += 1;
      } catch (error) {
        expect((error as Error).message, `bit ${bit}`).toMatch(/damaged|in format/);
      }
    }
    // None: no single bit turns a space or a line break into another one.
    expect(harmless).toBe(0);
  });

  it('detects an edit, explains how to keep it, and allows a push of an edited document', () => {
    const edited = Buffer.from(stateText(documentOf(1)).replace('"id-0"', '"id-9"'));
    expect(() => parseState(edited, 'x.json', 'Restore it.')).toThrow(
      expect.objectContaining({
        name: LostState.name,
        message: expect.stringContaining('was edited or damaged: its content does not match its digest'),
        hint: expect.stringMatching(/voxform state push --force x\.json\. Restore it\.$/),
      }),
    );
    expect(parseEdited(edited, 'x.json', '')).toMatchObject({ resources: { 'Agent/a-1': { id: 'id-9' } } });
  });

  it('ignores another layout of the same content', () => {
    const document = documentOf(2);
    const text = stateText(document);
    for (const other of [JSON.stringify(JSON.parse(text)), text.replaceAll('\n', '\r\n')]) {
      expect(parseState(Buffer.from(other), 'x.json', '')).toEqual(document);
    }
  });

  it('is not required for a state of format 1, which the next write upgrades', () => {
    const { write: _, ...rest } = documentOf(1);
    const former = JSON.stringify({ ...rest, format_version: 1 }, null, 2);
    expect(parseState(Buffer.from(former), 'x.json', '')).toEqual({ ...documentOf(1), write: '' });
    const both = JSON.stringify({ ...rest, format_version: 1, write: 'w' });
    expect(() => parseState(Buffer.from(both), 'x.json', '')).toThrow(/is damaged: at the top level/);
    const without = JSON.stringify(documentOf(1));
    expect(() => parseState(Buffer.from(without), 'x.json', '')).toThrow(/is damaged: at write_digest/);
  });
});

it('writes a state with sorted keys and an indentation of two spaces', () => {
  const text = stateText(documentOf(7));
  expect(text).toBe(`${JSON.stringify(sortKeys(JSON.parse(text)), null, 2)}\n`);
});

it('refuses a state above 512 MB', () => {
  expect(() => parseState(new Uint8Array(512_000_001), 'x.json', '')).toThrow(/larger than 512 MB/);
});
