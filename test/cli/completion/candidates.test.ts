import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { complete, completionLines, restoreWords, SHELLS } from '../../../src/cli/completion/complete.ts';
import { declaredIn, projectSources } from '../../../src/cli/completion/project-sources.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { Redactor } from '../../../src/values/redactor.ts';
import { type Folder, temporaryFolder } from '../voxform-process.ts';

const program = await createProgram(async () => undefined);
const entry = { id: '01J', recorded: {}, observed: {}, unobserved: [] };

let folder: Folder;

beforeAll(async () => {
  folder = await temporaryFolder({
    'voxform.yaml': `version: 1
default_workspace: one
workspaces:
  one: { base_url: "http://127.0.0.1:9", workspace_id: W1, state: { path: one.json } }
  two: { base_url: "http://127.0.0.1:9", workspace_id: W2 }
policies:
  - { name: calls-end, deny: 'true' }
  - { name: friday, warn: 'true' }
  - { name: firm, deny: 'true', waivable: false }
`,
    'manifests/a.yaml': 'kind: Agent\nmetadata:\n  name: day\n---\nkind: Agent\nmetadata: { name: night }\n',
    'manifests/broken.yaml': 'kind: Webhook\nmetadata:\n  name: hook\nspec: {',
    'one.json': JSON.stringify({
      format_version: 1,
      voxform_version: '0.1.0',
      lineage: 'l',
      serial: 1,
      salt: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
      workspace_id: 'W1',
      resources: { 'Agent/day': entry, 'Webhook/gone': entry },
      pending: { 'Agent/lost': { since: '2026-01-01T00:00:00.000Z', recorded: {} } },
      orphans: [
        {
          kind: 'Agent',
          id: 'A1',
          address: 'Agent/old',
          reason: 'removed',
          since: '2026-01-01T00:00:00.000Z',
        },
      ],
    }),
  });
});

afterAll(() => folder[Symbol.asyncDispose]());

async function candidatesFor(words: readonly string[], cwd = folder.root): Promise<string | string[]> {
  const log = { warn() {}, info() {}, debug() {} };
  const { signal } = new AbortController();
  const completed = await complete(program, words, ({ flags }) =>
    projectSources({
      cwd,
      env: {},
      workspace: flags.get('--workspace'),
      log,
      interrupts: { stop: signal, requests: signal },
      redactor: new Redactor(),
      now: () => new Date(),
      failPoint: undefined,
    }),
  );
  const { candidates } = completed;
  return typeof candidates === 'string' ? candidates : candidates.map(({ value }) => value);
}

describe('candidates for a command line', () => {
  it.each([
    { words: ['pl'], given: ['plan'], reason: 'a command' },
    { words: ['plan', '--waive', ''], given: ['calls-end'], reason: 'a policy that can be waived' },
    { words: ['plan', '--policy', ''], given: 'files', reason: 'a file of policies' },
    { words: ['help', 'pl'], given: ['plan'], reason: 'a command after help' },
    { words: ['-qC', '/', 'pl'], given: ['plan'], reason: 'a command after flags in one word' },
    {
      words: ['plan', '--target', 'Agent/x,Agent/d'],
      given: ['Agent/x,Agent/day'],
      reason: 'an item after a comma',
    },
    {
      words: ['plan', '--target=Agent/x,Agent/d'],
      given: ['--target=Agent/x,Agent/day'],
      reason: 'a value joined to its flag, after a comma',
    },
    {
      words: ['status', '--only', 'manual,dri'],
      given: ['manual,drifted'],
      reason: 'a choice after a comma',
    },
    { words: ['graph', 'a,Agent/d'], given: [], reason: 'a comma in a single value' },
    { words: ['orphans', 'close', ''], given: ['A1'], reason: 'an orphan' },
    { words: ['state', 'unl'], given: ['unlock'], reason: 'a command of a group' },
    { words: ['plan', '--allow-rep'], given: ['--allow-replace'], reason: 'a flag' },
    { words: ['plan', '--no-col'], given: ['--no-color'], reason: 'a flag of every command' },
    { words: ['plan', '--strict', '--str'], given: [], reason: 'a flag that is already present' },
    {
      words: ['plan', '--target', 'Agent/day', '--targ'],
      given: ['--target'],
      reason: 'a flag that may be repeated',
    },
    { words: ['plan', '--log-format', ''], given: ['text', 'json'], reason: 'a value of a flag' },
    {
      words: ['plan', '--log-format=j'],
      given: ['--log-format=json'],
      reason: 'a value that is joined to its flag',
    },
    { words: ['plan', '--strict='], given: [], reason: 'a flag without a value' },
    { words: ['plan', '--concurrency', ''], given: [], reason: 'a value without candidates' },
    { words: ['plan', '--out', ''], given: 'files', reason: 'a file' },
    { words: ['show', ''], given: 'files', reason: 'a saved plan' },
    {
      words: ['versions', 'Agent/day', '--diff', 'p'],
      given: ['published'],
      reason: 'a version to compare with',
    },
    { words: ['-C', ''], given: 'folders', reason: 'a folder' },
    { words: ['completion', ''], given: [...SHELLS], reason: 'a value of an argument' },
    { words: ['-w', 't'], given: ['two'], reason: 'a workspace' },
    {
      words: ['plan', '--target', ''],
      given: ['Agent/day', 'Agent/night', 'Webhook/gone', 'Webhook/hook'],
      reason: 'addresses of manifests, also invalid ones, and of the state',
    },
    {
      words: ['-w', 'two', 'accept', 'W'],
      given: ['Webhook/hook'],
      reason: 'the addresses of a workspace without a state',
    },
    {
      words: ['accept', 'Agent/day', 'Agent/n'],
      given: ['Agent/night'],
      reason: 'a further argument',
    },
    { words: ['state', 'show', ''], given: ['Agent/day', 'Webhook/gone'], reason: 'an address in the state' },
    {
      words: ['state', 'mv', 'Webhook/gone', 'Web'],
      given: ['Webhook/gone', 'Webhook/hook'],
      reason: 'a new address',
    },
    { words: ['state', 'resolve', ''], given: ['Agent/lost'], reason: 'an unknown create' },
    { words: ['get', 'we'], given: ['webhooks'], reason: 'a type of record' },
    { words: ['get', 'agents', ''], given: ['Agent/day'], reason: 'a record of that type' },
    { words: ['schema', 'proj'], given: ['project'], reason: 'a schema' },
    { words: ['nonsense', ''], given: [], reason: 'no candidates after an unknown command' },
    { words: ['init', 'a', ''], given: [], reason: 'no candidates after the last argument' },
  ])('$words: $reason', async ({ words, given }) => {
    expect(await candidatesFor(words)).toEqual(given);
  });

  it('contain no words that a shell would run', async () => {
    await using hostile = await temporaryFolder({
      'voxform.yaml': 'version: 1\nworkspaces: { "$(id)": {}, "a b": {}, "`id`": {}, good: {} }\n',
    });
    expect(await candidatesFor(['-w', ''], hostile.root)).toEqual(['good']);
  });

  it('are computed after any words without a crash', async () => {
    const word = fc.oneof(
      fc.constantFrom('plan', 'state', 'rm', 'help', '--', '-', '--output', '--output=', '=', '-qw', '--target', 'get'),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 6 }), fc.constantFrom(...SHELLS), async (words, shell) => {
        const read = restoreWords(
          shell,
          words.map((each) => `=${each}`),
        );
        await candidatesFor(read).catch((error: unknown) => expect(String(error)).not.toMatch(/TypeError/));
      }),
      { numRuns: 120 },
    );
  });
});

describe('the words that a shell passes', () => {
  it.each([
    { shell: 'bash', given: ['=plan', '=--output', '==', '=j'], words: ['plan', '--output=j'] },
    { shell: 'bash', given: ['=plan', '=--output', '==', '='], words: ['plan', '--output='] },
    {
      shell: 'bash',
      given: ['=-C', '="my project"', "='a'\\''b'", '='],
      words: ['-C', 'my project', "a'b", ''],
    },
    { shell: 'zsh', given: ['=--output=j', '='], words: ['--output=j', ''] },
  ] as const)('$shell: $given', ({ shell, given, words }) => {
    expect(restoreWords(shell, given)).toEqual(words);
  });

  it('are completed as each shell replaces them', async () => {
    const completed = await complete(program, ['plan', '--output=js'], (): never => undefined as never);
    expect(completionLines('bash', completed, '/')).toBe('json\n');
    expect(completionLines('fish', completed, '/')).toBe('--output=json\n');
  });
});

describe('the addresses in a file', () => {
  it.each([
    {
      text: 'kind: Agent\nmetadata:\n  labels: { name: no }\n  name: yes\nspec: { name: No }\n',
      found: ['Agent/yes'],
    },
    { text: 'kind: Agent\nmetadata:\n  labels:\n    name: no\n  name: yes\n', found: ['Agent/yes'] },
    { text: 'metadata: {labels: {a: b}, name: "yes"}\nkind: "Agent"\n', found: ['Agent/yes'] },
    {
      text: '{\n  "kind": "Agent",\n  "metadata": { "name": "yes" },\n  "spec": { "name": "No" }\n}\n',
      found: ['Agent/yes'],
    },
    { text: '# kind: Agent\nspec:\n  kind: Agent\n', found: [] },
    { text: 'kind: Agent\nmetadata:\n', found: [] },
    { text: '', found: [] },
  ])('$text', ({ text, found }) => {
    expect(declaredIn(text)).toEqual(found);
  });
});
