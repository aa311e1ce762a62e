import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Spool } from '../../src/runs/export/spool.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'voxform-spool-'));
  return () => rm(root, { recursive: true, force: true });
});

function spool(options: ConstructorParameters<typeof Spool>[0] = {}): Spool {
  const made = new Spool({ folder: root, ...options });
  onTestFinished(() => made.close());
  return made;
}

describe('a spool', () => {
  it('gives everything back as it was, in any order, wherever it lies', () => {
    const values = fc.oneof(
      fc.jsonValue({ stringUnit: 'binary' }),
      fc.constantFrom(-0, undefined, Number.POSITIVE_INFINITY, 'x'.repeat(5000), 'ж'.repeat(3000)),
      fc
        .dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true })
        .map((each) => new Map(Object.entries(each))),
    );
    fc.assert(
      fc.property(fc.array(values, { maxLength: 20 }), fc.nat(2000), (list, blockSize) => {
        const kept = new Spool({ folder: root, blockSize });
        try {
          const places = list.map((value) => kept.put(value));
          const taken = places.map((place) => kept.get(place));
          expect(taken).toStrictEqual(list);
          expect(places.toReversed().map((place) => kept.get(place))).toStrictEqual(list.toReversed());
        } finally {
          kept.close();
        }
      }),
    );
  });

  it('leaves no name behind that leads to what is in its file', async () => {
    const kept = spool({ blockSize: 10 });
    const places = ['a', 'b'].map((letter) => kept.put(letter.repeat(100_000)));
    expect(await readdir(root)).toEqual([]);
    expect(places.map((place) => kept.get(place))).toEqual(['a'.repeat(100_000), 'b'.repeat(100_000)]);
    kept.close();
    expect(() => places.map((place) => kept.get(place))).toThrow('were deleted while it ran');
  });

  it.each([
    ['is not there', async () => undefined],
    ['is a file', (folder: string) => writeFile(folder, '')],
  ])('keeps everything in memory where the folder for it %s', async (_, prepare) => {
    const folder = path.join(await mkdtemp(path.join(tmpdir(), 'voxform-spool-')), 'tmp');
    onTestFinished(() => rm(path.dirname(folder), { recursive: true, force: true }));
    await prepare(folder);
    const kept = spool({ blockSize: 10, folder });
    const places = ['a'.repeat(20), 'b'.repeat(20)].map((value) => kept.put(value));
    await rm(folder, { force: true });
    await mkdir(folder);
    places.push(kept.put('c'.repeat(20)));
    expect(places.map((place) => kept.get(place))).toEqual(['a'.repeat(20), 'b'.repeat(20), 'c'.repeat(20)]);
    expect(await readdir(folder)).toEqual([]);
  });
});
