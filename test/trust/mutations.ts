import { crc32 } from 'node:zlib';
import fc from 'fast-check';

/** Strings that are difficult for parsers. */
export const ODD_PIECES: readonly string[] = [
  '__proto__',
  'constructor',
  'toString',
  '"__proto__": {"a": 1}',
  '1e999',
  '-0',
  '-1e-400',
  '9007199254740993',
  '.nan',
  '.inf',
  'null',
  'true',
  '~',
  '""',
  '[]',
  '{}',
  '[[[[[[[[[[',
  '{"a":{"a":{"a":',
  '\u0000',
  '\ufeff',
  '\ud800',
  '"\\ud800"',
  '\\u0000',
  '\u2028',
  '\r\n',
  '\r',
  '\t',
  '\n---\n',
  '\n...\n',
  '&a ',
  '*a',
  '<<: *a',
  '? ',
  '!!set ',
  '!x ',
  '| ',
  '>-\n',
  '%YAML 3.0\n',
  '{ $ref: Agent/a }',
  '{ $secret: X }',
  '{ $join: [{ $join: [] }] }',
  '{ $literal: { $literal: 1 } }',
  '{ $file: ../../etc/passwd }',
  '{"$fingerprint": "x"}',
  '{"unknown_until_apply": "Agent/x"}',
  '../',
  'x'.repeat(10_000),
  '\u{1f600}',
];

/** Changes a few positions of a text: deletes, duplicates, moves or replaces parts. */
export function mutatedText(text: string, most = 4): fc.Arbitrary<string> {
  const place = fc.nat(text.length);
  const edit = fc.record({
    at: place,
    length: fc.oneof(fc.nat(3), fc.nat(60)),
    to: place,
    how: fc.constantFrom('cut', 'double', 'move', 'insert', 'replace', 'char'),
    piece: fc.constantFrom(...ODD_PIECES),
    char: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  });
  return fc.array(edit, { minLength: 1, maxLength: most }).map((edits) => {
    let result = text;
    for (const { at, length, to, how, piece, char } of edits) {
      const [before, taken, after] = [result.slice(0, at), result.slice(at, at + length), result.slice(at + length)];
      switch (how) {
        case 'cut':
          result = before + after;
          break;
        case 'double':
          result = before + taken + taken + after;
          break;
        case 'move': {
          const rest = before + after;
          result = rest.slice(0, to) + taken + rest.slice(to);
          break;
        }
        case 'insert':
          result = before + piece + taken + after;
          break;
        case 'replace':
          result = before + piece + after;
          break;
        default:
          result = before + char + after;
      }
    }
    return result;
  });
}

type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain };

/** Unexpected values. */
export const ODD_VALUES: readonly Plain[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  9_007_199_254_740_992,
  '',
  'x',
  '\ud800',
  '\u0000',
  '__proto__',
  'Agent/a',
  'Agent/',
  'constructor/constructor',
  '2026-01-01T00:00:00Z',
  'y'.repeat(5_000),
  [],
  [[]],
  [null],
  ['a', 'a'],
  {},
  { $literal: {} },
  { $secret: 'NOT_SET' },
  { $ref: 'Agent/nobody' },
  { $ref: 'x' },
  { $env: 'X' },
  { $join: [1, { $secret: 'X' }, null] },
  { $fingerprint: 'x' },
  { $join: 1 },
];
const proto: Plain = JSON.parse(
  '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
) as Plain;

/** Replaces, removes, renames or adds a few values of a JSON value. */
export function mutatedJson(value: unknown, most = 3): fc.Arbitrary<unknown> {
  const edit = fc.record({
    steps: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 8 }),
    how: fc.constantFrom('replace', 'remove', 'rename', 'add', 'borrow', 'deepen'),
    odd: fc.constantFrom(...ODD_VALUES, proto),
    key: fc.constantFrom(
      '__proto__',
      'constructor',
      'id',
      'x',
      '',
      'a.b',
      'address',
      'k'.repeat(3_000),
      'Agent/a',
      'Agent/zz',
      'Nobody/a',
    ),
    depth: fc.constantFrom(1, 50, 150, 1_000),
  });
  return fc.array(edit, { minLength: 1, maxLength: most }).map((edits) => {
    const holder = { root: structuredClone(value) };
    for (const { steps, how, odd, key, depth } of edits) {
      const [place, at] = walk(holder, steps);
      const own = place as Record<string | number, unknown>;
      switch (how) {
        case 'replace':
          own[at] = structuredClone(odd);
          break;
        case 'remove':
          if (Array.isArray(place)) place.splice(Number(at), 1);
          else if (at !== 'root') delete own[at];
          break;
        case 'rename':
          if (!Array.isArray(place) && at !== 'root') {
            define(own, key, own[at]);
            delete own[at];
          }
          break;
        case 'add':
          if (Array.isArray(place)) place.push(structuredClone(odd));
          else if (at !== 'root') define(own, key, structuredClone(odd));
          break;
        case 'borrow': {
          const [other, there] = walk(holder, [...steps].reverse());
          own[at] = structuredClone((other as Record<string | number, unknown>)[there]);
          break;
        }
        default:
          for (let level = 0; level < depth; level++) own[at] = level % 2 === 0 ? [own[at]] : { a: own[at] };
      }
    }
    return holder.root;
  });
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Returns a random position in the value: the parent and the key. */
function walk(holder: object, steps: readonly number[]): readonly [object, string | number] {
  let place: object = holder;
  let at: string | number = 'root';
  for (const step of steps) {
    const inside: unknown = (place as Record<string | number, unknown>)[at];
    if (typeof inside !== 'object' || inside === null) break;
    const keys = Array.isArray(inside) ? [...inside.keys()] : Object.keys(inside);
    const key = keys[step % Math.max(1, keys.length)];
    if (key === undefined) break;
    [place, at] = [inside, key];
  }
  return [place, at];
}

/** Returns a journal line with a correct checksum, so that its content is read. */
export function checkedLine(entry: unknown): string {
  return checkedText(JSON.stringify(entry));
}

export function checkedText(json: string): string {
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`;
}

/** Returns JSON that is nested so deeply that unlimited recursion would end the program. */
export function deepJson(levels: number): string {
  return `${'{"a":['.repeat(levels)}1${']}'.repeat(levels)}`;
}
