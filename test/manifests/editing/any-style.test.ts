import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMap, isSeq, parseDocument, type Scalar } from 'yaml';
import { changed } from '../../../src/manifests/editing/change.ts';
import { editText } from '../../../src/manifests/editing/edit-text.ts';
import { follow } from '../../../src/manifests/finding.ts';
import { yamlOptions } from '../../../src/manifests/parse-documents.ts';
import type { Json } from '../../../src/values/json.ts';
import { layout, pathsIn, read, root, value, written } from './any-yaml.ts';

/** Returns the first and last line of the node at a path, from 0. */
function linesOf(source: string, path: readonly (string | number)[]): [number, number] {
  const document = parseDocument(source, { ...yamlOptions, keepSourceTokens: true });
  const parent = document.getIn(path.slice(0, -1), true);
  const node = document.getIn(path, true) as { range?: [number, number, number] };
  const start = keyOrDash(parent, path.at(-1)) ?? node.range?.[0] ?? 0;
  const end = Math.max(node.range?.[1] ?? 0, start);
  const lineOf = (offset: number): number => source.slice(0, offset).split('\n').length - 1;
  return [lineOf(start), source[end - 1] === '\n' ? lineOf(end) - 1 : lineOf(end)];
}

function keyOrDash(parent: unknown, part: string | number | undefined): number | undefined {
  if (isMap(parent)) return parent.items.map(({ key }) => key as Scalar).find((key) => key.value === part)?.range?.[0];
  const token = isSeq(parent) ? parent.srcToken : undefined;
  const starts = token?.type === 'block-seq' ? token.items[Number(part)]?.start : undefined;
  return starts?.find(({ type }) => type === 'seq-item-ind')?.offset;
}

describe('edit of a text in any style', () => {
  it('gives exactly the new value, and changes only its lines', () => {
    fc.assert(
      fc.property(root, layout, value, fc.nat(), (json, style, wanted, pick) => {
        const source = written(json, style);
        const before = read(source);
        fc.pre(before !== undefined);
        const paths = pathsIn(before as Json);
        fc.pre(paths.length > 0);
        const path = paths[pick % paths.length] ?? [];
        const result = editText(source, [{ document: 0, path, value: wanted }], { json: false });
        expect(result.refused, source).toEqual([]);
        expect(read(result.text)).toEqual(changed(before as Json, { kind: 'set', path, value: wanted }));
        const [first, last] = linesOf(source, path);
        const [old, now] = [source.split('\n'), result.text.split('\n')];
        expect(now.slice(0, first), source).toEqual(old.slice(0, first));
        const tail = old.slice(last + 1);
        expect(tail.length === 0 ? [] : now.slice(-tail.length), `${source}\n=>\n${result.text}`).toEqual(tail);
      }),
      { numRuns: 80 },
    );
  });

  it('adds a key, and removes it again without a trace', () => {
    fc.assert(
      fc.property(root, layout, value, fc.nat(), (json, style, wanted, pick) => {
        const source = written(json, style);
        const before = read(source);
        fc.pre(before !== undefined);
        const maps = [[], ...pathsIn(before as Json)].filter((path) => {
          const found = follow(before, path).value;
          return typeof found === 'object' && found !== null && !Array.isArray(found) && Object.keys(found).length > 0;
        });
        const path = [...(maps[pick % maps.length] ?? []), 'added_key'];
        const added = editText(source, [{ document: 0, path, value: wanted }], { json: false });
        expect(added.refused, source).toEqual([]);
        expect(read(added.text)).toEqual(changed(before as Json, { kind: 'set', path, value: wanted }));
        const removed = editText(added.text, [{ document: 0, path, value: undefined }], { json: false });
        expect(removed.refused, added.text).toEqual([]);
        expect(read(removed.text)).toEqual(before);
      }),
      { numRuns: 60 },
    );
  });

  it('keeps JSON as JSON', () => {
    fc.assert(
      fc.property(root, value, fc.constantFrom(0, 2, '\t'), fc.nat(), (json, wanted, indent, pick) => {
        const source = `${JSON.stringify(json, undefined, indent)}\n`;
        const paths = pathsIn(json);
        fc.pre(paths.length > 0);
        const path = paths[pick % paths.length] ?? [];
        const result = editText(source, [{ document: 0, path, value: wanted }], { json: true });
        expect(result.refused, source).toEqual([]);
        expect(JSON.parse(result.text)).toEqual(changed(json, { kind: 'set', path, value: wanted }));
      }),
      { numRuns: 60 },
    );
  });
});
