import { describe, expect, it } from 'vitest';
import { lineOf, loadFiles, manifest } from './temporary-project.ts';

interface Row {
  readonly reason: string;
  readonly kind: string;
  readonly spec: string;
  /** The expected diagnostics, without the file. */
  readonly expected: readonly string[];
}

const rows: readonly Row[] = [
  {
    reason: 'a misspelled key has a suggestion',
    kind: 'Agent',
    spec: 'llm_config: {}\nnmae: x',
    expected: ['7:3 spec.nmae unknown-field unknown field "nmae"; did you mean "name"?'],
  },
  {
    reason: 'a key similar to a part of the right one has a suggestion',
    kind: 'Agent',
    spec: 'tts_config:\n  voise: x',
    expected: ['7:5 spec.tts_config.voise unknown-field unknown field "voise"; did you mean "voice_id"?'],
  },
  {
    reason: 'a key that belongs elsewhere in the spec has a suggestion with its path',
    kind: 'Agent',
    spec: 'temperature: 1',
    expected: [
      '6:3 spec.temperature unknown-field unknown field "temperature"; did you mean "llm_config.temperature"?',
    ],
  },
  {
    reason: 'the name has at most 255 characters',
    kind: 'Agent',
    spec: `name: ${'x'.repeat(256)}`,
    expected: ['6:9 spec.name out-of-range name must be a string of at most 255 characters, got 256'],
  },
  {
    reason: 'a number is not a name',
    kind: 'Agent',
    spec: 'name: 12',
    expected: [
      '6:9 spec.name wrong-type name must be a string of at most 255 characters, but YAML reads it as the number 12; put it in quotes',
    ],
  },
  {
    reason: 'an empty value is not the empty string',
    kind: 'Agent',
    spec: 'name:',
    expected: [
      '6:3 spec.name wrong-type name must be a string of at most 255 characters, but is empty; set a value or remove the field',
    ],
  },
  {
    reason: 'a boolean is not a name',
    kind: 'Agent',
    spec: 'name: true',
    expected: [
      '6:9 spec.name wrong-type name must be a string of at most 255 characters, got true; put it in quotes if you mean a string',
    ],
  },
  {
    reason: 'a list is not an object',
    kind: 'Agent',
    spec: 'llm_config: [a]',
    expected: ['6:15 spec.llm_config wrong-type llm_config must be an object, got a list'],
  },
  {
    reason: 'a fraction is not an integer',
    kind: 'Agent',
    spec: 'llm_config: { max_tokens: 1.5 }',
    expected: ['6:29 spec.llm_config.max_tokens wrong-type max_tokens must be a whole number, got 1.5'],
  },
  {
    reason: 'a number in quotes is a string',
    kind: 'Agent',
    spec: 'llm_config: { max_tokens: "100" }',
    expected: [
      '6:29 spec.llm_config.max_tokens wrong-type max_tokens must be a whole number, got "100"; remove the quotes',
    ],
  },
  {
    reason: 'a word is not a URL',
    kind: 'Agent',
    spec: 'llm_config: { endpoint: nowhere }',
    expected: [
      '6:27 spec.llm_config.endpoint bad-format endpoint: expected a valid URL, such as https://example.com/hook, got "nowhere"',
    ],
  },
  {
    reason: 'a single value is not a list',
    kind: 'Agent',
    spec: 'llm_config: { knowledge_base_ids: one }',
    expected: ['6:37 spec.llm_config.knowledge_base_ids wrong-type knowledge_base_ids must be a list, got "one"'],
  },
  {
    reason: 'an item of a list has a path and a position',
    kind: 'Agent',
    spec: 'llm_config:\n  knowledge_base_ids:\n    - a\n    - 5',
    expected: [
      '9:9 spec.llm_config.knowledge_base_ids[1] wrong-type knowledge_base_ids[1] must be a string, but YAML reads it as the number 5; put it in quotes',
    ],
  },
  {
    reason: 'a boolean in a list of strings',
    kind: 'Agent',
    spec: 'tts_config: { backchannel_words: [true] }',
    expected: [
      '6:37 spec.tts_config.backchannel_words[0] wrong-type backchannel_words[0] must be a string, got true; put it in quotes if you mean a string',
    ],
  },
  {
    reason: 'yes is not a boolean in YAML 1.2',
    kind: 'Agent',
    spec: 'prompt_config: { ai_speak_after_silence: yes }',
    expected: [
      '6:44 spec.prompt_config.ai_speak_after_silence wrong-type ai_speak_after_silence must be true or false, got "yes"',
    ],
  },
  {
    reason: 'a literal secret must not be in Git',
    kind: 'Agent',
    spec: 'llm_config: { api_key: sk-live-1 }',
    expected: [
      '6:26 spec.llm_config.api_key plain-secret api_key is a secret: write { $secret: NAME } instead of plain text or $env',
    ],
  },
  {
    reason: 'a secret of digits must not be in Git, and is not printed',
    kind: 'Agent',
    spec: 'llm_config: { api_key: 12345 }',
    expected: [
      '6:26 spec.llm_config.api_key plain-secret api_key is a secret: write { $secret: NAME } instead of plain text or $env',
    ],
  },
  {
    reason: 'an environment variable is not a secret, since its value would be shown',
    kind: 'Agent',
    spec: 'llm_config: { api_key: { $env: OPENAI } }',
    expected: [
      '6:26 spec.llm_config.api_key plain-secret api_key is a secret: write { $secret: NAME } instead of plain text or $env',
    ],
  },
  {
    reason: 'an environment variable is always a string',
    kind: 'Agent',
    spec: 'llm_config: { temperature: { $env: HEAT } }',
    expected: ['6:30 spec.llm_config.temperature wrong-type temperature must be a number, but $env produces a string'],
  },
  {
    reason: 'infinity cannot be sent',
    kind: 'Agent',
    spec: 'llm_config: { temperature: .inf }',
    expected: ['6:30 spec.llm_config.temperature not-finite .inf cannot be represented in JSON'],
  },
  {
    reason: 'not-a-number cannot be sent',
    kind: 'Agent',
    spec: 'llm_config: { temperature: .nan }',
    expected: ['6:30 spec.llm_config.temperature not-finite .nan cannot be represented in JSON'],
  },
  {
    reason: 'digits must not be lost',
    kind: 'Agent',
    spec: 'llm_config: { max_tokens: 12345678901234567890 }',
    expected: [
      '6:29 spec.llm_config.max_tokens inexact-number the number has too many digits to be stored exactly; put it in quotes',
    ],
  },
  {
    reason: 'an unknown key without a similar one',
    kind: 'Agent',
    spec: 'id: x',
    expected: ['6:3 spec.id unknown-field unknown field "id"'],
  },
  {
    reason: 'the number is required',
    kind: 'PhoneNumber',
    spec: 'nickname: Main',
    expected: ['5:1 spec.number missing-field number is missing; it must be a string of 1 to 12 characters'],
  },
  {
    reason: 'a number without quotes loses its plus and zeros',
    kind: 'PhoneNumber',
    spec: 'number: 4930123456',
    expected: [
      '6:11 spec.number wrong-type number must be a string of 1 to 12 characters, but YAML reads it as the number 4930123456; put it in quotes',
    ],
  },
  {
    reason: 'the number must not be empty',
    kind: 'PhoneNumber',
    spec: 'number: ""',
    expected: ['6:11 spec.number out-of-range number must be a string of 1 to 12 characters, got ""'],
  },
  {
    reason: 'the number has at most 12 characters',
    kind: 'PhoneNumber',
    spec: 'number: "1234567890123"',
    expected: ['6:11 spec.number out-of-range number must be a string of 1 to 12 characters, got 13'],
  },
  {
    reason: 'letters are not a phone number',
    kind: 'PhoneNumber',
    spec: 'number: "call me"',
    expected: ['6:11 spec.number bad-format number: expected a phone number, such as "+4930123456", got "call me"'],
  },
  {
    reason: 'a nickname is measured in characters',
    kind: 'PhoneNumber',
    spec: `number: "123"\nnickname: ${'😀'.repeat(256)}`,
    expected: ['7:13 spec.nickname out-of-range nickname must be a string of 1 to 255 characters, got 256'],
  },
  {
    reason: 'the nickname must not be empty',
    kind: 'PhoneNumber',
    spec: `number: "123"\nnickname: ""`,
    expected: ['7:13 spec.nickname out-of-range nickname must be a string of 1 to 255 characters, got ""'],
  },
  {
    reason: 'the nickname has at most 255 characters',
    kind: 'PhoneNumber',
    spec: `number: "123"\nnickname: ${'n'.repeat(256)}`,
    expected: ['7:13 spec.nickname out-of-range nickname must be a string of 1 to 255 characters, got 256'],
  },
  {
    reason: 'a reference to a webhook instead of an agent',
    kind: 'PhoneNumber',
    spec: `number: "123"\ninbound_agent_id: { $ref: Webhook/w }`,
    expected: ['7:29 spec.inbound_agent_id bad-reference inbound_agent_id refers to Agent resources, not to Webhook/w'],
  },
  {
    reason: 'no manifest declares the agent',
    kind: 'PhoneNumber',
    spec: `number: "123"\ninbound_agent_id: { $ref: Agent/none }`,
    expected: ['7:29 spec.inbound_agent_id dangling-reference no manifest declares Agent/none'],
  },
  {
    reason: 'the kind of the reference is misspelled',
    kind: 'PhoneNumber',
    spec: `number: "123"\ninbound_agent_id: { $ref: Agnet/a }`,
    expected: ['7:29 spec.inbound_agent_id bad-reference $ref names the unknown kind "Agnet"; did you mean "Agent"?'],
  },
  {
    reason: 'a reference needs a kind',
    kind: 'PhoneNumber',
    spec: `number: "123"\ninbound_agent_id: { $ref: support }`,
    expected: [
      '7:29 spec.inbound_agent_id bad-reference $ref needs Kind/name, such as Agent/support-line, got "support"',
    ],
  },
  {
    reason: 'the field does not accept an id',
    kind: 'PhoneNumber',
    spec: `number: { $ref: Agent/a }`,
    expected: ['6:19 spec.number bad-reference number does not accept a reference; $ref belongs in an id field'],
  },
  {
    reason: 'the URL is required',
    kind: 'Webhook',
    spec: 'retries: 3',
    expected: ['5:1 spec.url missing-field url is missing; it must be a URL'],
  },
  {
    reason: 'a word is not a URL',
    kind: 'Webhook',
    spec: 'url: example',
    expected: ['6:8 spec.url bad-format url: expected a valid URL, such as https://example.com/hook, got "example"'],
  },
  {
    reason: 'at most 10 retries',
    kind: 'Webhook',
    spec: 'url: https://example.com\nretries: 11',
    expected: ['7:12 spec.retries out-of-range retries must be a whole number between 0 and 10, got 11'],
  },
  {
    reason: 'at least 0 retries',
    kind: 'Webhook',
    spec: 'url: https://example.com\nretries: -1',
    expected: ['7:12 spec.retries out-of-range retries must be a whole number between 0 and 10, got -1'],
  },
  {
    reason: 'a timeout of at least 1',
    kind: 'Webhook',
    spec: 'url: https://example.com\ntimeout: 0',
    expected: ['7:12 spec.timeout out-of-range timeout must be a whole number between 1 and 1800, got 0'],
  },
  {
    reason: 'a timeout of at most 1800',
    kind: 'Webhook',
    spec: 'url: https://example.com\ntimeout: 1801',
    expected: ['7:12 spec.timeout out-of-range timeout must be a whole number between 1 and 1800, got 1801'],
  },
  {
    reason: 'the payload is an object',
    kind: 'Webhook',
    spec: 'url: https://example.com\npayload: text',
    expected: ['7:12 spec.payload wrong-type payload must be an object, got "text"'],
  },
  {
    reason: 'an unknown form inside a payload',
    kind: 'Webhook',
    spec: 'url: https://example.com\npayload:\n  schema: { $schema: x }',
    expected: [
      '8:15 spec.payload.schema unknown-form unknown value form "$schema"; to keep the object as it is, put it under $literal',
    ],
  },
  {
    reason: 'the e-mail address is required',
    kind: 'WorkspaceUser',
    spec: 'role: admin',
    expected: ['5:1 spec.email missing-field email is missing; it must be a string'],
  },
  {
    reason: 'a word is not an e-mail address',
    kind: 'WorkspaceUser',
    spec: 'email: nobody',
    expected: ['6:10 spec.email bad-format email: expected an e-mail address, got "nobody"'],
  },
  {
    reason: 'a misspelled role has a suggestion',
    kind: 'WorkspaceUser',
    spec: 'email: a@b.c\nrole: amin',
    expected: [
      '7:9 spec.role not-allowed role must be one of "owner", "admin", "developer", "member", got "amin"; did you mean "admin"?',
    ],
  },
  {
    reason: 'a misspelled module has a suggestion',
    kind: 'WorkspaceUser',
    spec: 'email: a@b.c\nmodules: [agents, call_histroy]',
    expected: [
      '7:21 spec.modules[1] not-allowed modules[1] must be one of "agents", "knowledge_base", "phone_numbers", "call_history", "analytics", got "call_histroy"; did you mean "call_history"?',
    ],
  },
  {
    reason: 'a reference to a knowledge base instead of an agent',
    kind: 'WorkspaceUser',
    spec: 'email: a@b.c\nagent_ids: [{ $ref: KnowledgeBase/FAQ }]',
    expected: ['7:23 spec.agent_ids[0] bad-reference agent_ids[0] refers to Agent resources, not to KnowledgeBase/FAQ'],
  },
  {
    reason: 'a misspelled form has a suggestion',
    kind: 'WorkspaceUser',
    spec: 'email: a@b.c\nrole: { $secert: X }',
    expected: ['7:11 spec.role unknown-form unknown value form "$secert"; did you mean "$secret"?'],
  },
  {
    reason: 'the name of a secret is also that of a file and must not be a path',
    kind: 'WorkspaceUser',
    spec: 'email: { $secret: ../etc/passwd }',
    expected: [
      '6:21 spec.email bad-form $secret needs a name of letters, digits, "_", "-" and ".", got "../etc/passwd"',
    ],
  },
  {
    reason: 'the name of a variable must not begin with a digit',
    kind: 'WorkspaceUser',
    spec: 'email: { $env: "1X" }',
    expected: ['6:18 spec.email bad-form $env needs a name of letters, digits and "_", got "1X"'],
  },
  {
    reason: 'the default of a variable is a string',
    kind: 'WorkspaceUser',
    spec: 'email: { $env: X, default: 5 }',
    expected: ['6:30 spec.email.default bad-form default must be a string; put it in quotes'],
  },
  {
    reason: 'a key that the form does not have',
    kind: 'WorkspaceUser',
    spec: 'email: { $env: X, fallback: a@b.c }',
    expected: ['6:21 spec.email.fallback bad-form $env must be the only key except default; remove "fallback"'],
  },
  {
    reason: 'a misspelled key of a form',
    kind: 'WorkspaceUser',
    spec: 'email: { $join: [a, "@b.c"], seperator: "" }',
    expected: [expect.stringContaining('did you mean "separator"?')],
  },
  {
    reason: 'a missing file',
    kind: 'WorkspaceUser',
    spec: 'email: { $file: mail.txt }',
    expected: ['6:19 spec.email unreadable-file $file: manifests/mail.txt cannot be read: no such file'],
  },
  {
    reason: 'the path of a file points outside the project',
    kind: 'WorkspaceUser',
    spec: 'email: { $file: ../../mail.txt }',
    expected: ['6:19 spec.email outside-project $file: ../mail.txt is outside the project folder'],
  },
  {
    reason: 'the path of a file is absolute',
    kind: 'WorkspaceUser',
    spec: 'email: { $file: /etc/hostname }',
    expected: ['6:19 spec.email outside-project $file needs a relative path'],
  },
  {
    reason: 'the path of a file names the project folder',
    kind: 'WorkspaceUser',
    spec: 'email: { $file: .. }',
    expected: ['6:19 spec.email not-a-file $file: expected a file, got the project folder'],
  },
  {
    reason: 'the path of a file names a folder',
    kind: 'WorkspaceUser',
    spec: 'email: { $file: ../manifests }',
    expected: ['6:19 spec.email not-a-file $file: manifests: expected a file, got a folder'],
  },
  {
    reason: 'no file can have a NUL character in its path',
    kind: 'WorkspaceUser',
    spec: 'email: { $file: "a\\0b" }',
    expected: [
      '6:19 spec.email unreadable-file $file: manifests/a\\u{0}b cannot be read: its path contains a NUL character',
    ],
  },
  {
    reason: 'an unset variable',
    kind: 'WorkspaceUser',
    spec: 'email: { $var: mail }',
    expected: ['6:18 spec.email missing-var the workspace has no variable "mail" under vars'],
  },
  {
    reason: 'a join needs a list',
    kind: 'WorkspaceUser',
    spec: 'email: { $join: text }',
    expected: ['6:19 spec.email bad-form $join needs a list of strings'],
  },
  {
    reason: 'a list cannot be joined',
    kind: 'WorkspaceUser',
    spec: 'email: { $join: [a, [b]] }',
    expected: ['6:23 spec.email.$join[1] bad-form $join can only join strings'],
  },
  {
    reason: 'a join that makes one string too long',
    kind: 'WorkspaceUser',
    spec: `email: { $join: [${Array(5000).fill('a').join(', ')}], separator: "${'x'.repeat(1000)}" }`,
    expected: ['6:19 spec.email too-long $join makes a text of more than 4 MiB'],
  },
  {
    reason: 'a join of joins that is too long once its secret is known',
    kind: 'WorkspaceUser',
    spec: `email: { $join: [${Array(300)
      .fill(`{ $join: [${Array(100).fill('{ $secret: A }').join(', ')}], separator: "${'x'.repeat(150)}" }`)
      .join(', ')}] }`,
    expected: ['6:19 spec.email too-long $join makes a text of more than 4 MiB'],
  },
  {
    reason: 'a form without a name',
    kind: 'WorkspaceUser',
    spec: 'email: { $secret: }',
    expected: ['6:12 spec.email bad-form $secret needs a string, such as { $secret: OPENAI_API_KEY }'],
  },
];

describe('invalid spec', () => {
  it.each(rows)('$kind: $reason', async ({ kind, spec, expected }) => {
    const { diagnostics } = await loadFiles({ 'manifests/m.yaml': manifest(kind, 'mine', spec) });
    expect(diagnostics.map((each) => lineOf(each).replace('manifests/m.yaml:', ''))).toEqual(expected);
  });
});
