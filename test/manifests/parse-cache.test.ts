import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DocumentMemory, documentKey, ParseCache } from '../../src/manifests/parse-cache.ts';
import { type ParsedFile, parseDocuments } from '../../src/manifests/parse-documents.ts';

class Folder {
  readonly root = mkdtempSync(path.join(tmpdir(), 'voxform-cache-'));
  readonly caches = path.join(this.root, 'caches', 'voxform');

  /** The cache file of the only project. */
  get file(): string {
    const folder = path.join(this.caches, 'manifests');
    const [name = 'none'] = existsSync(folder) ? readdirSync(folder) : [];
    return path.join(folder, name);
  }

  /** Simulates a run that needs these texts. Returns those that were not cached. */
  async run(
    texts: readonly string[],
    project = '/projects/one',
    keyOf?: () => Buffer | undefined,
  ): Promise<readonly string[]> {
    const cache = new ParseCache(this.caches, project, keyOf);
    const parsed: string[] = [];
    for (const text of texts) {
      const known = cache.get(documentKey(text));
      if (known !== undefined) expect(known).toEqual(parseDocuments(text));
      else {
        cache.set(documentKey(text), parseDocuments(text));
        parsed.push(text);
      }
    }
    await cache.endRound();
    return parsed;
  }

  inode(): bigint {
    return statSync(this.file, { bigint: true }).ino;
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

const TEXTS = ['a: 1\n', 'b: [x, "é", 1.5e3]\n---\n# two\nc: null\n', ''];

describe('parse cache on disk', () => {
  it('returns parsed documents, writes only new ones, and is readable only by its owner', async () => {
    using folder = new Folder();
    expect(await folder.run(TEXTS)).toEqual(TEXTS);
    const before = folder.inode();
    expect(await folder.run(TEXTS)).toEqual([]);
    expect(await folder.run(TEXTS.slice(1))).toEqual([]);
    expect(folder.inode()).toBe(before);
    expect(await folder.run([...TEXTS, 'd: 1'])).toEqual(['d: 1']);
    expect(folder.inode()).not.toBe(before);
    expect(await folder.run([...TEXTS, 'd: 1'])).toEqual([]);
    expect((statSync(folder.file).mode & 0o777).toString(8)).toBe('600');
    expect((statSync(folder.caches).mode & 0o777).toString(8)).toBe('700');
    expect(readdirSync(path.dirname(folder.file))).toHaveLength(1);
  });

  it('encrypts its contents if there is a key', async () => {
    using folder = new Folder();
    const key = Buffer.alloc(32, 1);
    expect(await folder.run(TEXTS, undefined, () => key)).toEqual(TEXTS);
    expect(readFileSync(folder.file, 'latin1')).not.toContain('"a"');
    expect(await folder.run(TEXTS, undefined, () => key)).toEqual([]);
    expect(await folder.run(TEXTS, undefined, () => Buffer.alloc(32, 2)), 'another key').toEqual(TEXTS);
  });

  it('stores nothing while the key is unknown', async () => {
    using folder = new Folder();
    await folder.run(TEXTS);
    expect(await folder.run(TEXTS, undefined, () => undefined)).toEqual(TEXTS);
    expect(readdirSync(path.dirname(folder.file))).toEqual([]);
  });

  it('keeps the texts of each project separate', async () => {
    using folder = new Folder();
    await folder.run(TEXTS);
    expect(await folder.run(['other: 1'], '/projects/two')).toEqual(['other: 1']);
    expect(await folder.run(TEXTS)).toEqual([]);
    expect(readdirSync(path.dirname(folder.file))).toHaveLength(2);
  });

  it('removes the caches of projects that were not loaded for a month', async () => {
    using folder = new Folder();
    await folder.run(TEXTS, '/projects/gone');
    utimesSync(folder.file, 0, 0);
    await folder.run(TEXTS);
    expect(readdirSync(path.dirname(folder.file))).toHaveLength(1);
    utimesSync(folder.file, 0, 0);
    expect(await folder.run(TEXTS)).toEqual([]);
    await folder.run(TEXTS, '/projects/other');
    expect(await folder.run(TEXTS)).toEqual([]);
  });

  it.each<{ reason: string; harm(folder: Folder): void }>([
    { reason: 'a deleted cache', harm: ({ caches }) => rmSync(caches, { recursive: true }) },
    { reason: 'an empty file', harm: ({ file }) => writeFileSync(file, '') },
    {
      reason: 'a truncated file',
      harm: ({ file }) => writeFileSync(file, readFileSync(file).subarray(0, 90)),
    },
    { reason: 'additional text at the end', harm: ({ file }) => appendFileSync(file, '["x",[]]\n') },
    {
      reason: 'the cache of another version',
      harm: ({ file }) =>
        writeFileSync(file, readFileSync(file, 'utf8').replace(/"voxform":"[^"]*"/, '"voxform":"0.0.1"')),
    },
    {
      reason: 'a value changed in place',
      harm: ({ file }) => writeFileSync(file, readFileSync(file, 'utf8').replace('{"a":1}', '{"a":2}')),
    },
    {
      reason: 'a folder in place of the file',
      harm: ({ file }) => {
        rmSync(file);
        mkdirSync(file);
      },
    },
  ])('ignores $reason', async ({ harm }) => {
    using folder = new Folder();
    await folder.run(TEXTS);
    harm(folder);
    expect(await folder.run(TEXTS)).toEqual(TEXTS);
    if (!statSync(folder.file).isFile()) return;
    expect(await folder.run(TEXTS)).toEqual([]);
  });

  it('is optional if nothing can be written', async () => {
    using folder = new Folder();
    writeFileSync(path.dirname(folder.caches), 'a file');
    expect(await folder.run(TEXTS)).toEqual(TEXTS);
    rmSync(path.dirname(folder.caches));
    await folder.run(TEXTS);
    const cache = path.dirname(folder.file);
    chmodSync(cache, 0o500);
    try {
      expect(await folder.run(['new: 1'])).toEqual(['new: 1']);
    } finally {
      chmodSync(cache, 0o700);
    }
  });

  it.runIf(process.platform === 'linux')('is optional for a folder that can never be created', async () => {
    const cache = new ParseCache('/proc/voxform', '/projects/one');
    cache.set(documentKey('a: 1\n'), parseDocuments('a: 1\n'));
    await expect(cache.endRound()).resolves.toBeUndefined();
  });

  it('keeps the result of one of two concurrent writers, never a mix', async () => {
    using folder = new Folder();
    await Promise.all(TEXTS.map((text) => folder.run([text])));
    const unknown = await folder.run(TEXTS);
    expect(unknown.length).toBeLessThan(TEXTS.length);
    expect(await folder.run(TEXTS)).toEqual([]);
  });

  it('keeps unused texts only up to the size of the used ones', async () => {
    using folder = new Folder();
    const large = (name: string): string => `${name}: ${'x'.repeat(300_000)}\n`;
    const old = Array.from({ length: 7 }, (_, index) => large(`old${index}`));
    for (const text of old) await folder.run([text]);
    expect(statSync(folder.file).size).toBeLessThan(1_500_000);
    expect(await folder.run([...old.slice(-3)])).toEqual([]);
    expect(await folder.run([old[0] ?? ''])).toEqual([old[0]]);
  });

  it('keeps neither invalid texts nor those that aliases make far larger', async () => {
    using folder = new Folder();
    const bomb = `a: &a ${'x'.repeat(10_000)}\nb: [${'*a, '.repeat(300)}]\n`;
    const wrong = ['a: 1\na: 2\n', '__proto__: 1\n', 'a: [', bomb];
    await folder.run([...TEXTS, ...wrong]);
    expect(await folder.run([...TEXTS, ...wrong])).toEqual(wrong);
    expect(statSync(folder.file).size).toBeLessThan(10_000);
  });

  it('gives the same result as parsing for any text, even if its bytes were changed', { tags: ['long'] }, async () => {
    const scalar = fc.oneof(
      fc.constantFrom(
        '-0',
        '0x1F',
        '.inf',
        '1e400',
        '12345678901234567890',
        '~',
        'yes',
        '"\\ud800"',
        '0.1',
        '*a',
        '&a 1',
        '<<',
      ),
      fc.string({ maxLength: 8, unit: 'binary' }).map((text) => JSON.stringify(text)),
    );
    const key = fc.constantFrom('a', 'b', '1', '__proto__', 'constructor', '"é"', '<<');
    const line = fc.oneof(
      fc.tuple(key, scalar).map(([name, value]) => `${name}: ${value}`),
      fc.tuple(key, scalar, scalar).map(([name, one, two]) => `${name}: &a [${one}, { b: ${two} }]`),
      fc.constantFrom('---', '...', '# a comment', '', 'b: *a', '<<: *a', 'c: |\n  two\n  lines', '\tx'),
    );
    const texts = fc.array(
      fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n')),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(texts, fc.nat(), fc.integer({ min: 1, max: 255 }), async (all, at, bits) => {
        using folder = new Folder();
        await folder.run(all);
        await folder.run(all);
        if (!existsSync(folder.file)) return;
        rewriteInPlace(folder.file, at, bits);
        const sound = all.filter((text) => parseDocuments(text).problems.length === 0);
        const unknown = await folder.run(all);
        expect(new Set(unknown)).toEqual(new Set(all));
        expect(await folder.run(sound)).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });
});

/** Changes one byte in the same file. */
function rewriteInPlace(file: string, at: number, bits: number): void {
  const bytes = readFileSync(file);
  const index = at % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ bits;
  writeFileSync(file, bytes);
}

const parsed: ParsedFile = { documents: [], problems: [] };

describe('parse cache in memory', () => {
  it('keeps the texts of each round, and forgets the others', async () => {
    const memory = new DocumentMemory();
    memory.set('used', parsed);
    memory.set('unused', parsed);
    for (let round = 0; round < 2; round++) {
      await memory.endRound();
      expect(memory.get('used')).toBe(parsed);
    }
    expect(memory.get('unused')).toBeUndefined();
  });

  it('distinguishes texts', () => {
    const texts = ['', 'a', 'b', 'a ', 'a\n'];
    expect(new Set(texts.map(documentKey)).size).toBe(texts.length);
    expect(documentKey('a')).toBe(documentKey('a'));
  });
});
