import { describe, expect, it } from 'vitest';
import { lineOf, loadFiles } from './temporary-project.ts';

interface Row {
  readonly reason: string;
  /** The text of `manifests/m.yaml`. */
  readonly text: string | Uint8Array;
  /** The expected diagnostics, without the file. */
  readonly expected: readonly string[];
}

const AGENT = 'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: a }\nspec: { name: A }\n';
const HEAD = 'apiVersion: voxform/v1\nkind: Webhook\nmetadata: { name: w }\nspec:\n  url: https://example.com\n';

/** Every level has ten aliases of the level below. */
const BOMB = [
  'a0: &a0 [x]',
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => `a${n}: &a${n} [${`*a${n - 1}, `.repeat(10)}]`),
].join('\n');

const rows: readonly Row[] = [
  {
    reason: 'an empty file declares nothing',
    text: '',
    expected: [':1:1 - warning empty-file the file contains no manifest'],
  },
  {
    reason: 'comments declare nothing',
    text: '# nothing\n---\n# here\n',
    expected: [':1:1 - warning empty-file the file contains no manifest'],
  },
  { reason: 'empty documents between others are skipped', text: `---\n---\n${AGENT}---\n`, expected: [] },
  {
    reason: 'truncated YAML',
    text: 'kind: [Agent\n',
    expected: [':1:7 - yaml-syntax unclosed ['],
  },
  {
    reason: 'a tab as indentation',
    text: 'kind:\n\tAgent: x\n',
    expected: [':2:1 - yaml-syntax the indentation contains a tab; YAML allows only spaces'],
  },
  {
    reason: 'a string is not a manifest',
    text: 'hello\n',
    expected: [':1:1 - wrong-type a manifest must be an object with apiVersion, kind, metadata and spec'],
  },
  {
    reason: 'a list is not a manifest',
    text: '- kind: Agent\n',
    expected: [':1:1 - wrong-type a manifest must be an object with apiVersion, kind, metadata and spec'],
  },
  {
    reason: 'an empty object',
    text: '{}\n',
    expected: [
      ':1:1 apiVersion missing-field apiVersion is missing; it must be "voxform/v1"',
      ':1:1 kind missing-field kind is missing; it must be a string',
      ':1:1 metadata missing-field metadata is missing; it must be an object',
      ':1:1 spec missing-field spec is missing; it must be an object',
    ],
  },
  {
    reason: 'the second of two documents',
    text: `${AGENT}---\n${AGENT.replace('Agent', 'Agnt').replace('a }', 'b }')}`,
    expected: [':7:7 kind unknown-kind unknown kind "Agnt"; did you mean "Agent"?'],
  },
  {
    reason: 'an unknown kind',
    text: AGENT.replace('kind: Agent', 'kind: Call'),
    expected: [':2:7 kind unknown-kind unknown kind "Call"; kinds: Agent, PhoneNumber, Webhook, WorkspaceUser'],
  },
  {
    reason: 'a kind that can only be referenced',
    text: AGENT.replace('kind: Agent', 'kind: KnowledgeBase'),
    expected: [':2:7 kind unknown-kind KnowledgeBase can only be referenced; manifests cannot declare it'],
  },
  {
    reason: 'a kind in another case',
    text: AGENT.replace('kind: Agent', 'kind: agent'),
    expected: [':2:7 kind unknown-kind unknown kind "agent"; did you mean "Agent"?'],
  },
  {
    reason: 'another version',
    text: AGENT.replace('/v1', '/v2'),
    expected: [
      ':1:13 apiVersion not-allowed apiVersion must be "voxform/v1", got "voxform/v2"; did you mean "voxform/v1"?',
    ],
  },
  {
    reason: 'a misspelled key of the envelope',
    text: AGENT.replace('metadata', 'metdata'),
    expected: [':3:1 metdata unknown-field unknown field "metdata"; did you mean "metadata"?'],
  },
  {
    reason: 'a field of the spec beside the spec',
    text: `${AGENT}llm_config: {}\n`,
    expected: [':5:1 llm_config unknown-field unknown field "llm_config"; it belongs under spec'],
  },
  {
    reason: 'an empty spec',
    text: AGENT.replace('{ name: A }', ''),
    expected: [':4:1 spec wrong-type spec must be an object, but is empty'],
  },
  {
    reason: 'a list as spec',
    text: AGENT.replace('{ name: A }', '[]'),
    expected: [':4:7 spec wrong-type spec must be an object, got a list'],
  },
  {
    reason: 'a string as spec',
    text: AGENT.replace('{ name: A }', '{ $env: SPEC }'),
    expected: [':4:7 spec wrong-type spec must be an object, but $env produces a string'],
  },
  {
    reason: 'an invalid name does not hide problems of the spec',
    text: AGENT.replace('name: a', 'name: Support').replace('name: A', 'nmae: A'),
    expected: [
      ':3:19 metadata.name bad-format name: expected 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen, got "Support"',
      ':4:9 spec.nmae unknown-field unknown field "nmae"; did you mean "name"?',
    ],
  },
  {
    reason: 'capitals in a name',
    text: AGENT.replace('name: a', 'name: Support'),
    expected: [
      ':3:19 metadata.name bad-format name: expected 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen, got "Support"',
    ],
  },
  {
    reason: 'a name with 64 letters',
    text: AGENT.replace('name: a', `name: ${'a'.repeat(64)}`),
    expected: [
      ':3:19 metadata.name bad-format name: expected 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen, got "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."',
    ],
  },
  {
    reason: 'a number as name',
    text: AGENT.replace('name: a', 'name: 12'),
    expected: [
      ':3:19 metadata.name wrong-type name must be a string, but YAML reads it as the number 12; put it in quotes',
    ],
  },
  {
    reason: 'no name',
    text: AGENT.replace('name: a', 'labels: { a: b }'),
    expected: [':3:1 metadata.name missing-field name is missing; it must be a string'],
  },
  {
    reason: 'a label that is not a string',
    text: AGENT.replace('a }', 'a, labels: { tier: 1 } }'),
    expected: [
      ':3:38 metadata.labels.tier wrong-type tier must be a string, but YAML reads it as the number 1; put it in quotes',
    ],
  },
  {
    reason: 'a label without a name',
    text: AGENT.replace('a }', 'a, labels: { "": b } }'),
    expected: [':3:32 metadata.labels."" bad-key "": a label needs a name'],
  },
  {
    reason: 'an id with a slash',
    text: AGENT.replace('a }', 'a, id: a/b }'),
    expected: [':3:26 metadata.id bad-format id: expected a record id, got "a/b"'],
  },
  {
    reason: 'an unknown key of the metadata',
    text: AGENT.replace('a }', 'a, label: {} }'),
    expected: [':3:22 metadata.label unknown-field unknown field "label"; did you mean "labels"?'],
  },
  {
    reason: 'an ignored field that does not exist',
    text: AGENT.replace('a }', 'a, ignore_drift: [name, speed] }'),
    expected: [
      ':3:43 metadata.ignore_drift[1] unknown-field Agent has no field "speed"; did you mean "tts_config.speed"?',
    ],
  },
  {
    reason: 'an ignored field that does not exist, beside invalid items',
    text: AGENT.replace('a }', "a, ignore_drift: ['', 5, speed] }"),
    expected: [
      ':3:37 metadata.ignore_drift[0] out-of-range ignore_drift[0] must not be empty',
      ':3:41 metadata.ignore_drift[1] wrong-type ignore_drift[1] must be a string, but YAML reads it as the number 5; put it in quotes',
      ':3:44 metadata.ignore_drift[2] unknown-field Agent has no field "speed"; did you mean "tts_config.speed"?',
    ],
  },
  {
    reason: 'replace has one value',
    text: AGENT.replace('a }', 'a, replace: true }'),
    expected: [':3:31 metadata.replace not-allowed replace must be "allow", got true'],
  },
  {
    reason: 'an invalid previous name',
    text: AGENT.replace('a }', 'a, previous_names: [Old] }'),
    expected: [
      ':3:39 metadata.previous_names[0] bad-format previous_names[0]: expected 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen, got "Old"',
    ],
  },
  {
    reason: 'a value form in the metadata',
    text: AGENT.replace('name: a', 'name: { $env: NAME }'),
    expected: [':3:19 metadata.name wrong-type name must be a string, got an object'],
  },
  {
    reason: 'a duplicate key',
    text: `${AGENT}kind: Agent\n`,
    expected: [':5:1 kind duplicate-key the key "kind" appears twice in the same object'],
  },
  {
    reason: 'a duplicate key at depth',
    text: `${HEAD}  payload:\n    data: { a: 1, b: 2, a: 3 }\n`,
    expected: [':7:25 spec.payload.data.a duplicate-key the key "a" appears twice in the same object'],
  },
  {
    reason: 'the key __proto__',
    text: `${HEAD}  payload:\n    __proto__: { polluted: true }\n`,
    expected: [':7:5 spec.payload forbidden-key the key "__proto__" is not allowed'],
  },
  {
    reason: 'the key __proto__ at the top',
    text: `${AGENT}__proto__: { kind: x }\n`,
    expected: [':5:1 - forbidden-key the key "__proto__" is not allowed'],
  },
  {
    reason: 'constructor is an ordinary key',
    text: `${HEAD}  payload: { constructor: x, toString: y }\n`,
    expected: [],
  },
  {
    reason: 'a key that is not a string',
    text: `${HEAD}  payload: { ? [a, b] : c }\n`,
    expected: [':6:16 spec.payload key-not-text a key must be a string'],
  },
  {
    reason: 'aliases that expand exponentially',
    text: `${BOMB}\n`,
    expected: [":6:25 a5[3] alias-bomb the document's aliases expand to more than 100000 values"],
  },
  {
    reason: 'an alias inside its own anchor',
    text: `${HEAD}  payload: &p { a: *p }\n`,
    expected: [':6:20 spec.payload.a circular-alias the alias *p is inside its own anchor'],
  },
  {
    reason: 'an alias without an anchor',
    text: `${HEAD}  payload: { a: *none }\n`,
    expected: [':6:17 spec.payload.a unknown-anchor no anchor &none precedes this alias'],
  },
  {
    reason: 'valid aliases and merge keys',
    text: `${HEAD}  payload: { a: &x { k: v }, b: *x, c: { <<: *x } }\n`,
    expected: [],
  },
  {
    reason: 'a merge of a value that is not an object',
    text: `${HEAD}  payload: { <<: text }\n`,
    expected: [':6:18 spec.payload bad-merge << needs an object, or a list of objects'],
  },
  {
    reason: 'a tag that executes nothing',
    text: `${HEAD}  payload: { a: !!js/function "x" }\n`,
    expected: [':6:17 - unknown-tag the YAML tag "!!js/function" is not allowed'],
  },
  {
    reason: 'unlimited nesting',
    text: `${HEAD}  payload: ${'{ a: '.repeat(200)}x${' }'.repeat(200)}\n`,
    expected: [':6:507 - too-deep values are nested more than 100 levels deep'],
  },
  {
    reason: 'bytes that are not UTF-8',
    text: new Uint8Array([...Buffer.from('kind: Agent\nname: '), 0xff, 0x0a]),
    expected: [':2:7 - invalid-utf8 the file is not valid UTF-8; save it in that encoding'],
  },
  {
    reason: 'text in UTF-16',
    text: Buffer.from('\uFEFFkind: Agent', 'utf16le'),
    expected: [':1:1 - invalid-utf8 the file is not valid UTF-8; save it in that encoding'],
  },
  { reason: 'a byte order mark before UTF-8', text: `\uFEFF${AGENT}`, expected: [] },
  {
    reason: 'Windows line endings',
    text: `${AGENT}nope: 1\n`.replaceAll('\n', '\r\n'),
    expected: [':5:1 nope unknown-field unknown field "nope"'],
  },
  {
    reason: 'more than 1 MiB',
    text: `${AGENT}# ${'x'.repeat(1024 * 1024)}\n`,
    expected: [' - file-too-large the file has 1048654 bytes, more than 1 MiB (1048576); split it'],
  },
  {
    reason: 'JSON',
    text: JSON.stringify(
      { apiVersion: 'voxform/v1', kind: 'Agent', metadata: { name: 'a' }, spec: { nam: 1 } },
      null,
      2,
    ),
    expected: [':8:5 spec.nam unknown-field unknown field "nam"; did you mean "name"?'],
  },
  {
    reason: 'JSON indented with tabs',
    text: JSON.stringify({ apiVersion: 'voxform/v1', kind: 'Agent', metadata: { name: 'a' }, spec: {} }, null, '\t'),
    expected: [],
  },
  {
    reason: 'a value form without its dollar sign',
    text: 'apiVersion: voxform/v1\nkind: Webhook\nmetadata: { name: w }\nspec: { url: { env: URL } }\n',
    expected: [
      ':4:14 spec.url wrong-type url must be a URL, got an object with the key "env"; did you mean { $env: REGION }?',
    ],
  },
  {
    reason: 'all problems at once, in the order of the file',
    text: 'apiVersion: 1\nkind: Webhook\nmetadata: { name: w, lables: {} }\nspec:\n  urls: x\n  retries: 12\n',
    expected: [
      ':1:13 apiVersion not-allowed apiVersion must be "voxform/v1", got 1',
      ':3:22 metadata.lables unknown-field unknown field "lables"; did you mean "labels"?',
      ':5:3 spec.urls unknown-field unknown field "urls"; did you mean "url"?',
      ':6:12 spec.retries out-of-range retries must be a whole number between 0 and 10, got 12',
    ],
  },
];

describe('invalid file or document', () => {
  it.each(rows)('is reported: $reason', async ({ text, expected }) => {
    const { diagnostics } = await loadFiles({ 'manifests/m.yaml': text });
    expect(diagnostics.map((each) => lineOf(each).replace('manifests/m.yaml', ''))).toEqual(expected);
  });

  it('is reported as nested too deeply even if the parser cannot parse it', async () => {
    const { diagnostics } = await loadFiles({ 'manifests/m.yaml': '['.repeat(20_000) });
    expect(diagnostics.map(({ code }) => code)).toEqual(['too-deep']);
  });
});
