import { describe, expect, it } from 'vitest';
import { editText } from '../../../src/manifests/editing/edit-text.ts';
import type { DocumentPath } from '../../../src/manifests/finding.ts';
import type { Json } from '../../../src/values/json.ts';

interface Case {
  readonly reason: string;
  readonly text: string;
  readonly path: DocumentPath;
  readonly value: Json | undefined;
  readonly expected: string;
  readonly json?: boolean;
  readonly document?: number;
}

const edited: readonly Case[] = [
  {
    reason: 'a plain string stays plain, and keeps its comment',
    text: 'a: one  # why\nb: 2\n',
    path: ['a'],
    value: 'two words',
    expected: 'a: two words  # why\nb: 2\n',
  },
  {
    reason: 'a string that resembles a number is quoted',
    text: 'a: one\n',
    path: ['a'],
    value: '10',
    expected: 'a: "10"\n',
  },
  {
    reason: 'a string that resembles null is quoted',
    text: 'a: one\n',
    path: ['a'],
    value: '~',
    expected: 'a: "~"\n',
  },
  {
    reason: 'a string that would begin a comment is quoted',
    text: 'a: one\n',
    path: ['a'],
    value: 'x # y',
    expected: 'a: "x # y"\n',
  },
  {
    reason: 'single quotes stay, and inner quotes are doubled',
    text: "a: 'one' # c\n",
    path: ['a'],
    value: "it's 5",
    expected: "a: 'it''s 5' # c\n",
  },
  {
    reason: 'double quotes stay',
    text: 'a: "one"\n',
    path: ['a'],
    value: 'say "x"',
    expected: 'a: "say \\"x\\""\n',
  },
  {
    reason: 'double quotes with line feeds stay too',
    text: 'a: "one\\ntwo"\n',
    path: ['a'],
    value: 'one\nthree',
    expected: 'a: "one\\nthree"\n',
  },
  {
    reason: 'a quoted string becomes a number',
    text: "a: 'one'\n",
    path: ['a'],
    value: 0.5,
    expected: 'a: 0.5\n',
  },
  {
    reason: 'an empty value gets one',
    text: 'a: # nothing yet\nb: 1\n',
    path: ['a'],
    value: true,
    expected: 'a: true # nothing yet\nb: 1\n',
  },
  {
    reason: 'a string of several lines becomes a literal block; the comment stays on its line',
    text: 'a:\n  b: one # c\n  d: 1\n',
    path: ['a', 'b'],
    value: 'x\n\n  y\n',
    expected: 'a:\n  b: | # c\n    x\n\n      y\n  d: 1\n',
  },
  {
    reason: 'a literal block stays one although its last line feed is removed',
    text: 'a: |  # keep\n   one\n   two\n\nb: 1\n',
    path: ['a'],
    value: 'one\n2',
    expected: 'a: |-  # keep\n   one\n   2\n\nb: 1\n',
  },
  {
    reason: 'a literal block that keeps its line feeds continues to do so if they are significant',
    text: 'a: |+\n  one\n\nb: 1\n',
    path: ['a'],
    value: 'two\n\n',
    expected: 'a: |+\n  two\n\nb: 1\n',
  },
  {
    reason: 'a literal block with one final line feed needs no indicator, and includes no later blank line',
    text: 'x:\n  a: |+\n    one\n  b: 1\n\nc: 1\n',
    path: ['x'],
    value: { a: 'two\n' },
    expected: 'x:\n  a: |\n    two\n\nc: 1\n',
  },
  {
    reason: 'a literal block has an indentation indicator if its first line begins with a space',
    text: 'a: |\n  one\n',
    path: ['a'],
    value: '  two\nthree\n',
    expected: 'a: |2\n    two\n  three\n',
  },
  {
    reason: 'blank lines after a literal block become part of a string that ends with them',
    text: 'a: |\n  one\n\n\nb: 1\n',
    path: ['a'],
    value: 'two\n\n\n',
    expected: 'a: |+\n  two\n\n\nb: 1\n',
  },
  {
    reason: 'a string without a final line feed at the end of a file without one',
    text: 'a: |-\n  one',
    path: ['a'],
    value: 'two',
    expected: 'a: |-\n  two',
  },
  {
    reason: 'a folded block keeps the wrapping of unchanged paragraphs',
    text: 'a: >-\n  one two\n  three\n\n  four five six seven eight nine\n  ten\nb: 1\n',
    path: ['a'],
    value: 'one two three\nfour five six seven eight nine eleven twelve thirteen',
    expected: 'a: >-\n  one two\n  three\n\n  four five six seven eight nine eleven\n  twelve thirteen\nb: 1\n',
  },
  {
    reason: 'a string that no block can represent is quoted',
    text: 'a: |\n  one\nb: 1\n',
    path: ['a'],
    value: 'bell \u0007\nx',
    expected: 'a: "bell \\u0007\\nx"\nb: 1\n',
  },
  {
    reason: 'a string of several lines is quoted inside brackets',
    text: 'a: { b: one, c: 2 }\n',
    path: ['a', 'b'],
    value: 'x\ny',
    expected: 'a: { b: "x\\ny", c: 2 }\n',
  },
  {
    reason: 'commas and brackets need quotes inside brackets',
    text: 'a: [one, two]\n',
    path: ['a', 1],
    value: 'x, y',
    expected: 'a: [one, "x, y"]\n',
  },
  {
    reason: 'Windows line endings stay, also for new lines',
    text: 'a: one\r\nb: 1\r\n',
    path: ['a'],
    value: 'x\ny',
    expected: 'a: |-\r\n  x\r\n  y\r\nb: 1\r\n',
  },
  {
    reason: 'a list in brackets keeps unchanged items and their quotes',
    text: 'a: [\'x\', "y", z] # c\n',
    path: ['a'],
    value: ['y', 'z', 'w'],
    expected: 'a: ["y", z, w] # c\n',
  },
  {
    reason: 'a list with dashes keeps comments and indentation',
    text: 'a:\n- x # first\n# about y\n- y\n\n- z\nb: 1\n',
    path: ['a'],
    value: ['x', 'z', { q: 1, r: [2] }],
    expected: 'a:\n- x # first\n# about y\n\n- z\n- q: 1\n  r:\n  - 2\nb: 1\n',
  },
  {
    reason: 'an item is inserted before the first',
    text: 'a:\n  - y\n',
    path: ['a'],
    value: ['x', 'y'],
    expected: 'a:\n  - x\n  - y\n',
  },
  {
    reason: 'a list with dashes is emptied',
    text: 'a: # c\n  - x\n  - y\nb: 1\n',
    path: ['a'],
    value: [],
    expected: 'a: [] # c\nb: 1\n',
  },
  {
    reason: 'references are written in brackets',
    text: 'a:\n  - x\n',
    path: ['a'],
    value: ['x', { $ref: 'Agent/y' }],
    expected: 'a:\n  - x\n  - { $ref: Agent/y }\n',
  },
  {
    reason: 'only the changed part of an object is edited',
    text: 'a:\n  b: { c: 1, d: "2" } # c\n  e: 3\n',
    path: ['a'],
    value: { b: { c: 1, d: '3' }, e: 3 },
    expected: 'a:\n  b: { c: 1, d: "3" } # c\n  e: 3\n',
  },
  {
    reason: 'a missing key is added at the end of its object, and a missing object is created',
    text: 'a:\n  b:\n    c: 1\n\n# about d\nd: 2\n',
    path: ['a', 'x', 'y'],
    value: 'z',
    expected: 'a:\n  b:\n    c: 1\n  x:\n    y: z\n\n# about d\nd: 2\n',
  },
  {
    reason: 'a key is added after a last line without a line break',
    text: 'a:\n    b: 1 # c',
    path: ['a', 'x'],
    value: 2,
    expected: 'a:\n    b: 1 # c\n    x: 2',
  },
  {
    reason: 'a comment stays after its pair when a key is added after it',
    text: 'a: {\n  b: 1 # why\n}\n',
    path: ['a', 'x'],
    value: 2,
    expected: 'a: {\n  b: 1, # why\n  x: 2\n}\n',
  },
  {
    reason: 'a key is added in brackets, with the quotes of its siblings',
    text: 'a: { "b": 1 }\n',
    path: ['a', 'x'],
    value: 2,
    expected: 'a: { "b": 1, "x": 2 }\n',
  },
  {
    reason: 'a key is removed from the end of a file without a final line break',
    text: 'a:\r\n  b: 1\r\n  c:\r\n    - 2',
    path: ['a', 'c'],
    value: undefined,
    expected: 'a:\r\n  b: 1',
  },
  {
    reason: 'a key is removed with its lines',
    text: 'a:\n  b: |\n    x\n  c: 1\n',
    path: ['a', 'b'],
    value: undefined,
    expected: 'a:\n  c: 1\n',
  },
  {
    reason: 'the first key of a list item is removed',
    text: '- a: 1\n  b: 2\n',
    path: [0, 'a'],
    value: undefined,
    expected: '- b: 2\n',
  },
  {
    reason: 'the only key of an object is removed',
    text: 'a:\n  b: 1\nc: 2\n',
    path: ['a', 'b'],
    value: undefined,
    expected: 'a: {}\nc: 2\n',
  },
  {
    reason: 'an alias is replaced, the anchor stays',
    text: 'a: &x one\nb: *x # c\n',
    path: ['b'],
    value: 'two',
    expected: 'a: &x one\nb: two # c\n',
  },
  {
    reason: 'an anchor that nothing uses stays before the new value',
    text: 'a: &x one\n',
    path: ['a'],
    value: 'two',
    expected: 'a: &x two\n',
  },
  {
    reason: 'a key merged with << is overridden by a new key',
    text: 'a: &x { b: 1, c: 2 }\nd:\n  <<: *x\n  e: 3\n',
    path: ['d', 'b'],
    value: 5,
    expected: 'a: &x { b: 1, c: 2 }\nd:\n  <<: *x\n  e: 3\n  b: 5\n',
  },
  {
    reason: 'only the selected document is edited',
    text: '# head\n---\na: 1\n---\n# second\na: 1 # here\n...\n---\na: 1\n',
    path: ['a'],
    value: 2,
    document: 1,
    expected: '# head\n---\na: 1\n---\n# second\na: 2 # here\n...\n---\na: 1\n',
  },
  {
    reason: 'JSON stays JSON',
    text: '{\n  "a": {\n    "b": "one",\n    "c": [1, 2]\n  }\n}\n',
    path: ['a', 'b'],
    value: 'x\ny',
    json: true,
    expected: '{\n  "a": {\n    "b": "x\\ny",\n    "c": [1, 2]\n  }\n}\n',
  },
  {
    reason: 'a key in JSON is added on a new line if the others are on lines',
    text: '{\n  "a": {\n    "b": 1\n  }\n}\n',
    path: ['a', 'x'],
    value: { y: [true] },
    json: true,
    expected: '{\n  "a": {\n    "b": 1,\n    "x": {"y": [true]}\n  }\n}\n',
  },
  {
    reason: 'the last item in JSON is removed with the preceding comma',
    text: '{\n  "a": [\n    1,\n    2\n  ]\n}\n',
    path: ['a'],
    value: [1],
    json: true,
    expected: '{\n  "a": [\n    1\n  ]\n}\n',
  },
];

const refused: readonly (Omit<Case, 'expected'> & { readonly why: string })[] = [
  {
    reason: 'an anchored value with aliases is refused',
    text: 'a: &x one\nb: *x\nc: *x\n',
    path: ['a'],
    value: 'two',
    why: 'the value is part of &x, to which 2 aliases in the file refer',
  },
  {
    reason: 'a part of an anchored object is refused',
    text: 'a: &x { c: 1 }\nb: *x\n',
    path: ['a', 'c'],
    value: 2,
    why: 'the value is part of &x, to which 1 alias in the file refers',
  },
  {
    reason: 'a value behind an alias is refused',
    text: 'a: &x { c: 1 }\nb: *x\n',
    path: ['b', 'c'],
    value: 2,
    why: 'the value is part of the alias *x, which is used elsewhere in the file',
  },
  {
    reason: 'a merged object that would lose its other parts is refused',
    text: 'a: &x { b: { c: 1, d: 2 } }\ne: { <<: *x, f: 1 }\n',
    path: ['e', 'b', 'c'],
    value: 2,
    why: 'the value cannot be written back safely',
  },
  {
    reason: 'a removal of a merged key is refused',
    text: 'a: &x { b: 1 }\ne: { <<: *x, f: 1 }\n',
    path: ['e', 'b'],
    value: undefined,
    why: 'the value is merged with << from an object that is used elsewhere in the file',
  },
  {
    reason: 'a tag that changes the meaning of the new value is refused',
    text: 'a: !!str one\n',
    path: ['a'],
    value: 5,
    why: 'the value cannot be written back safely',
  },
  {
    reason: 'a file with errors is not edited',
    text: 'a: [1\nb: 2\n',
    path: ['b'],
    value: 5,
    why: 'the file has errors, or its format does not match its name',
  },
];

describe('edit of a text', () => {
  it.each(edited)('edits as expected: $reason', ({ text, path, value, expected, json = false, document = 0 }) => {
    const result = editText(text, [{ document, path, value }], { json });
    expect(result.refused).toEqual([]);
    expect(result.text).toBe(expected);
  });

  it.each(refused)('gives a reason: $reason', ({ text, path, value, why }) => {
    const edit = { document: 0, path, value };
    expect(editText(text, [edit], { json: false })).toEqual({ text, refused: [{ edit, why }] });
  });

  it('makes the possible edits when it refuses another', () => {
    const good = { document: 1, path: ['b'], value: 2 };
    const bad = { document: 0, path: ['a'], value: 2 };
    const { text, refused } = editText('a: &x 1\nc: *x\n---\nb: 1\n', [bad, good], { json: false });
    expect(text).toBe('a: &x 1\nc: *x\n---\nb: 2\n');
    expect(refused.map(({ edit }) => edit)).toEqual([bad]);
  });

  it('does not change a text that already has the value', () => {
    const text = "a: '1' \nb:   [ ]\n";
    const edits = [
      { document: 0, path: ['a'], value: '1' },
      { document: 0, path: ['b'], value: [] },
      { document: 0, path: ['c'], value: undefined },
    ];
    expect(editText(text, edits, { json: false })).toEqual({ text, refused: [] });
  });
});
