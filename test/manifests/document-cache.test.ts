import { describe, expect, it } from 'vitest';
import { DocumentMemory, documentKey } from '../../src/manifests/parse-cache.ts';
import type { ParsedFile } from '../../src/manifests/parse-documents.ts';

const parsed: ParsedFile = { documents: [], problems: [] };

describe('parsed files kept in memory', () => {
  it('keeps what each round asks for, and forgets the rest', async () => {
    const memory = new DocumentMemory();
    memory.set('used', parsed);
    memory.set('unused', parsed);
    for (let round = 0; round < 2; round++) {
      await memory.endRound();
      expect(memory.get('used')).toBe(parsed);
    }
    expect(memory.get('unused')).toBeUndefined();
  });

  it('tells texts apart', () => {
    const texts = ['', 'a', 'b', 'a ', 'a\n'];
    expect(new Set(texts.map(documentKey)).size).toBe(texts.length);
    expect(documentKey('a')).toBe(documentKey('a'));
  });
});
