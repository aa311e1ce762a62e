import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SealedForm, SealedLines, writeSealed } from '../../src/manifests/sealed-lines.ts';

const HEAD = '{"head":1}\n';
const FORM: SealedForm = { head: HEAD, key: { start: 2, length: 4 }, mostBytes: 64 * 1024 * 1024 };
const BLOCK = 64 * 1024;

class Folder {
  readonly path = mkdtempSync(path.join(tmpdir(), 'voxform-sealed-'));
  readonly file = path.join(this.path, 'lines');

  async write(lines: readonly string[]): Promise<void> {
    rmSync(this.file, { force: true });
    const handle = await open(this.file, 'wx');
    // Half of them as bytes, as they come out of another such file.
    await writeSealed(
      handle,
      HEAD,
      lines.map((line, index) => (index % 2 === 0 ? line : Buffer.from(line))),
    );
    await handle.close();
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function keyOf(index: number): string {
  return String(index).padStart(4, '0');
}

/** A line of so many bytes. */
function lineOf(index: number, bytes: number): string {
  return `["${keyOf(index)}","${'é'.repeat(Math.max(0, Math.floor((bytes - 12) / 2)))}${'x'.repeat(bytes % 2)}"]\n`;
}

function linesOf(sizes: readonly number[]): string[] {
  return sizes.map((size, index) => lineOf(index, size));
}

describe('lines under a seal', () => {
  it('gives each line by its key, in any order, wherever it lies in the blocks', async () => {
    const near = fc.integer({ min: -20, max: 20 });
    const size = fc.oneof(
      fc.integer({ min: 12, max: 60 }),
      fc
        .tuple(fc.constantFrom(BLOCK / 2, BLOCK, 2 * BLOCK, 17 * BLOCK), near)
        .map(([blocks, by]) => blocks + by),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(size, { maxLength: 12 }),
        fc.infiniteStream(fc.nat()),
        async (sizes, picks) => {
          using folder = new Folder();
          const lines = linesOf(sizes);
          await folder.write(lines);
          const sealed = SealedLines.open(folder.file, FORM);
          expect([...(sealed?.sizes() ?? [])]).toEqual(
            lines.map((line, index) => [keyOf(index), Buffer.byteLength(line)]),
          );
          for (const pick of picks.take(lines.length * 2)) {
            const index = pick % lines.length;
            expect(sealed?.line(keyOf(index))?.toString()).toBe(lines[index]);
          }
          expect(sealed?.line('none')).toBeUndefined();
          sealed?.close();
        },
      ),
      { numRuns: 25 },
    );
  });

  it('is no such file with any one byte changed, or with any part of it cut off', async () => {
    using folder = new Folder();
    await folder.write(linesOf([30, 40, 50]));
    const bytes = readFileSync(folder.file);
    for (let at = 0; at < bytes.length; at++) {
      const harmed = Buffer.from(bytes);
      harmed[at] = (harmed[at] ?? 0) ^ 1;
      // In place, so that it is still the file that was sealed.
      writeFileSync(folder.file, harmed);
      expect(SealedLines.open(folder.file, FORM), `byte ${at}`).toBeUndefined();
      writeFileSync(folder.file, bytes.subarray(0, at));
      expect(SealedLines.open(folder.file, FORM), `cut at ${at}`).toBeUndefined();
    }
    writeFileSync(folder.file, bytes);
    const sealed = SealedLines.open(folder.file, FORM);
    expect(sealed?.line(keyOf(0))?.toString()).toBe(lineOf(0, 30));
    sealed?.close();
  });

  it('is no such file where it is larger than is read, or begins otherwise', async () => {
    using folder = new Folder();
    await folder.write(linesOf([30]));
    expect(SealedLines.open(folder.file, { ...FORM, mostBytes: 60 })).toBeUndefined();
    expect(SealedLines.open(folder.file, { ...FORM, head: '{"head":2}\n' })).toBeUndefined();
    expect(SealedLines.open(path.join(folder.path, 'none'), FORM)).toBeUndefined();
  });

  const sizes = Array.from({ length: 40 }, () => BLOCK / 4);

  it.each<{ reason: string; harm(file: string): void }>([
    {
      reason: 'changed in place',
      harm: (file) => {
        const descriptor = openSync(file, 'r+');
        const length = readFileSync(file).length;
        for (let at = 0; at < length; at += 100) writeSync(descriptor, 'X', at);
        closeSync(descriptor);
      },
    },
    { reason: 'cut off', harm: (file) => truncateSync(file, 0) },
    {
      reason: 'written anew in place',
      harm: (file) => writeFileSync(file, linesOf(sizes).join('').replaceAll('é', 'è')),
    },
  ])('gives nothing but what was sealed out of a file that is $reason while it is open', async ({ harm }) => {
    using folder = new Folder();
    const lines = linesOf(sizes);
    await folder.write(lines);
    const sealed = SealedLines.open(folder.file, FORM);
    expect(sealed?.line(keyOf(0))?.toString()).toBe(lines[0]);
    harm(folder.file);
    const found = lines.map((_, index) => sealed?.line(keyOf(index))?.toString());
    for (const [index, line] of found.entries()) expect([undefined, lines[index]]).toContain(line);
    expect(found.at(-1)).toBeUndefined();
    sealed?.close();
  });

  it('goes on giving what was sealed after another file took the place of it', async () => {
    using folder = new Folder();
    const lines = linesOf(sizes);
    await folder.write(lines);
    const sealed = SealedLines.open(folder.file, FORM);
    writeFileSync(`${folder.file}.other`, 'other');
    renameSync(`${folder.file}.other`, folder.file);
    expect(lines.map((_, index) => sealed?.line(keyOf(index))?.toString())).toEqual(lines);
    sealed?.close();
  });
});
