import { describe, expect, it } from 'vitest';
import { parseDocuments } from '../../src/manifests/parse-documents.ts';

interface Row {
  readonly reason: string;
  readonly text: string;
  /** `line:column message` */
  readonly expected: string;
}

const OPEN = 'unclosed quote';
const NO_COLON = 'no colon on this line; expected "key: value"';
const TAB = 'the indentation contains a tab; YAML allows only spaces';

const rows: readonly Row[] = [
  {
    reason: 'an open quote to the end of the file',
    text: 'a:\n  b: "x\n  c: 1\n  d: 2\n',
    expected: `2:6 ${OPEN}`,
  },
  { reason: 'a quote before a later quoted value', text: 'a:\n  b: "x\n  c: "y"\n', expected: `2:6 ${OPEN}` },
  { reason: 'a single quote', text: "a: 'it''s\nb: 1\n", expected: `1:4 ${OPEN}` },
  { reason: 'a quote in a list', text: 'l:\n  - "a\n  - "b"\n', expected: `2:5 ${OPEN}` },
  { reason: 'a quote before a key', text: 'a: 1\n"b: 2\nc: 3\n', expected: `2:1 ${OPEN}` },
  { reason: 'a quote that swallows a brace', text: 'a: { b: "x }\nc: y\n', expected: `1:9 ${OPEN}` },
  { reason: 'an escaped quote at the end', text: 'a: "x\\"\nb: 1\n', expected: `1:4 ${OPEN}` },
  { reason: 'the second document', text: 'a: "b"\n---\na: "b\nc: 1\n', expected: `3:4 ${OPEN}` },
  {
    reason: 'a quote closed by the next quote of a JSON string',
    text: '{\n  "a": "x,\n  "b": "y"\n}\n',
    expected: `2:8 ${OPEN}: text follows the next quote, on line 3`,
  },
  {
    reason: 'a quote inside a string of several lines',
    text: 'a: "one\n  say "hi" to\n  you"\nb: 1\n',
    expected: `1:4 ${OPEN}: text follows the next quote, on line 2`,
  },
  {
    reason: 'a quote inside a string',
    text: 'a: "say "hi""\n',
    expected: '1:10 unexpected text after the closing quote; write \\" for a quote inside the string',
  },
  {
    reason: 'an apostrophe in single quotes',
    text: "a: 'it's fine'\n",
    expected: "1:8 unexpected text after the closing quote; write '' for a quote inside the string",
  },
  { reason: 'an open list', text: 'a:\n  b: [x, y\n  c: 1\n', expected: '2:6 unclosed [' },
  {
    reason: 'an open object',
    text: 'a:\n  b: { $secret: X\n  c: { $secret: Y }\n',
    expected: '2:6 unclosed {',
  },
  {
    reason: 'an open object before a deeper line',
    text: 'a:\n  b: { c: 1\n      d: 2\n',
    expected: '2:6 unclosed {',
  },
  {
    reason: 'an open object of JSON',
    text: '{"a": 1,\n "b": {"c": 2}\n',
    expected: '1:1 unclosed {',
  },
  {
    reason: 'a bracket closed by another',
    text: 'a: { b: 1 ]\nc: 1\n',
    expected: '1:4 unclosed {: ] on line 1 does not close it',
  },
  {
    reason: 'a closing bracket with too little indentation',
    text: 'a:\n  b: [\n    c\n]\n',
    expected: '4:1 ] must be indented more than line 2, which opens it',
  },
  { reason: 'an extra bracket', text: '{"a": 1}}\n', expected: '1:9 unexpected }: no bracket is open' },
  {
    reason: 'a missing comma',
    text: '{"a": 1\n "b": 2}\n',
    expected: '1:7 missing comma after the value',
  },
  {
    reason: 'a missing comma in a list',
    text: 'a: ["b" "c"]\n',
    expected: '1:9 missing comma before this value',
  },
  { reason: 'a tab', text: 'a:\n  b:\n  \tc: 1\n', expected: `3:3 ${TAB}` },
  { reason: 'a tab in a block text', text: 'a: |\n\n\t b\n  c\n', expected: `3:1 ${TAB}` },
  { reason: 'a tab in a list of brackets', text: 'a: [\n\tb\n]\n', expected: `2:1 ${TAB}` },
  {
    reason: 'a string that begins like an object',
    text: 'a:\n  b: {{ company }} hello\n',
    expected: '2:6 a string that begins with { must be in quotes; to insert a value into a string, use $join',
  },
  {
    reason: 'a form without braces',
    text: 'a:\n  b: $var: company\n',
    expected: '2:6 a value that contains ": " must be in quotes; did you mean { $var: company }?',
  },
  { reason: 'no colon', text: 'a:\n  name Support\n  b: 1\n', expected: `2:3 ${NO_COLON}` },
  { reason: 'no colon above indented lines', text: 'a:\n  config\n    b: 1\n', expected: `2:3 ${NO_COLON}` },
  {
    reason: 'no space after a colon',
    text: 'a:\n  b: 1\n  name:Support\n',
    expected: '3:7 missing space after the colon',
  },
  {
    reason: 'a line with too much indentation',
    text: 'a: x\n  b: 1\n',
    expected: '2:3 wrong indentation: line 1 already has a value',
  },
  {
    reason: 'a line with too little indentation',
    text: 'a:\n    b: 1\n  c: 1\n',
    expected: '3:3 wrong indentation: no line above starts at this column',
  },
  {
    reason: 'a colon in a value',
    text: 'a: Hello: you\n',
    expected: '1:4 a value that contains ": " must be in quotes',
  },
  {
    reason: 'a reserved character',
    text: 'a: @b\n',
    expected: '1:4 a value that begins with @ must be in quotes',
  },
  {
    reason: 'any other error',
    text: 'a: "\\q"\n',
    expected: '1:5 not valid YAML: Invalid escape sequence \\q',
  },
];

describe('syntax errors of a file', () => {
  it.each(rows)('are reported at the mistake: $reason', ({ text, expected }) => {
    expect(parseDocuments(text).problems.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
      expected,
    ]);
  });

  it('are reported in a file without other contents', () => {
    const { problems } = parseDocuments('a: "b\n---\n'.repeat(200));
    expect(problems).toHaveLength(200);
    expect(problems[199]).toMatchObject({ code: 'yaml-syntax' });
  });
});
