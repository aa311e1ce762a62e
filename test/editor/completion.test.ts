import { readdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Suggestion, suggestionsAt } from '../../src/editor/completion-items.ts';
import { addressAt, placesIn } from '../../src/editor/find-references.ts';
import { hoverAt } from '../../src/editor/hover.ts';
import { applySplices } from '../../src/manifests/editing/change.ts';
import { PLAIN_PROJECT, TemporaryProject } from '../project/temporary-project.ts';
import { yamlFragments } from '../project/yaml-fragments.ts';
import { openSnapshot } from './open-snapshot.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../examples');

/** The position of the cursor. */
const CURSOR = '‸';
/** At the end of a list of suggestions: further suggestions are allowed. */
const MORE = '…';

const PROJECT = `${PLAIN_PROJECT.replace('version: 1', 'version: 1\nmanifests: [manifests/**/*.yaml, manifests/**/*.json, "!./manifests/b/**"]')}    vars: { company: Acme, hooks: https://hooks.example.com }
    skip: [Agent/away]
  other:
    base_url: https://platform.example.com
    workspace_id: 01JOTHER
    secrets: [environment, { folder: prompts/keys }, { env_file: prompts/team.txt }]
defaults: { Agent: { llm_config: { model: gpt-4o } } }
`;

const MANIFESTS = `apiVersion: voxform/v1
kind: Agent
metadata: { name: day, labels: { team: front } }
spec:
  llm_config:
    provider: azure
    api_key: { $secret: MODEL_KEY }
    knowledge_base_ids: [{ $ref: KnowledgeBase/Opening hours }]
  prompt_config:
    prompt: { $file: ../prompts/day.md }
---
apiVersion: voxform/v1
kind: Agent
metadata: { name: away }
spec: { name: Away }
`;

const FILES = {
  'voxform.yaml': PROJECT,
  'manifests/a.yaml': MANIFESTS,
  'prompts/day.md': 'Be nice.\n',
  'prompts/shared/style.md': 'Be short.\n',
  'prompts/keys/KEY': 'a secret',
  'prompts/team.txt': 'KEY=another\n',
};

/** Returns the suggestions at the cursor in a text, as the new content of a file in a small, formerly valid project. */
async function suggested(text: string, file = 'manifests/new.yaml'): Promise<readonly Suggestion[]> {
  using project = new TemporaryProject(FILES);
  const offset = text.indexOf(CURSOR);
  const texts = { [file]: text.replace(CURSOR, '') };
  const snapshot = await openSnapshot(project.root, { texts, workspace: 'test', before: {} });
  return suggestionsAt(snapshot, file, offset);
}

const number = (spec: string): string =>
  `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: n }\nspec:\n${spec}`;

describe('completion', () => {
  it.each<[reason: string, text: string, labels: readonly string[], file?: string]>([
    [
      'manifests of each kind, and keys, in an empty manifest',
      '‸',
      ['Agent', 'PhoneNumber', 'Webhook', 'WorkspaceUser', 'apiVersion', 'kind', 'metadata', 'spec'],
    ],
    ['kinds', 'kind: ‸', ['Agent', 'PhoneNumber', 'Webhook', 'WorkspaceUser']],
    [
      'fields of the kind',
      'kind: PhoneNumber\nspec:\n  ‸',
      ['number', 'nickname', 'inbound_agent_id', 'outbound_agent_id'],
    ],
    ['missing fields', number('  number: "+1"\n  ‸\n  nickname: x\n'), ['inbound_agent_id', 'outbound_agent_id']],
    [
      'fields in brackets',
      'kind: PhoneNumber\nspec: { number: "+1", ‸',
      ['nickname', 'inbound_agent_id', 'outbound_agent_id'],
    ],
    [
      'other fields in place of the current word',
      number('  number‸: "+1"\n  nickname: x\n'),
      ['number', 'inbound_agent_id', 'outbound_agent_id'],
    ],
    ['addresses of the kind to which the field refers', number('  inbound_agent_id: { $ref: ‸ }'), ['Agent/day']],
    ['addresses in quotes', number('  inbound_agent_id: { $ref: "Ag‸" }'), ['Agent/day']],
    [
      'complete references',
      number('  inbound_agent_id: ‸'),
      ['null', '$ref: Agent/day', '$var: company', '$var: hooks'],
    ],
    [
      'undeclared names to which another manifest refers',
      'kind: Agent\nspec:\n  llm_config:\n    knowledge_base_ids:\n      - $ref: ‸',
      ['KnowledgeBase/Opening hours'],
    ],
    ['secrets', 'kind: Agent\nspec: { llm_config: { api_key: { $secret: ‸', ['MODEL_KEY', 'PLATFORM_KEY']],
    ['variables', 'kind: Agent\nspec:\n  name: { $var: ‸ }', ['company', 'hooks']],
    [
      'files and folders',
      'kind: Agent\nspec:\n  prompt_config:\n    prompt: { $file: ../prompts/‸ }',
      ['../prompts/day.md', '../prompts/shared/'],
    ],
    [
      'no files with secrets',
      'kind: Agent\nspec:\n  prompt_config:\n    prompt: { $file: ../prompts/keys/‸ }',
      ['../prompts/day.md'],
    ],
    ['parent folders', 'kind: Agent\nspec:\n  prompt_config:\n    prompt: { $file: ‸ }', ['../', '../prompts/day.md']],
    [
      'enumerations',
      'kind: WorkspaceUser\nspec:\n  role: ‸',
      ['owner', 'admin', 'developer', 'member', '$var: company', '$var: hooks'],
    ],
    [
      'values of the same field in the project',
      'kind: Agent\nspec:\n  llm_config:\n    provider: ‸',
      ['azure', '$var: company', '$var: hooks'],
    ],
    ['true and false', 'kind: Webhook\nspec:\n  check_https: ‸', ['true', 'false', '$var: company', '$var: hooks']],
    ['labels of the project', 'kind: Agent\nmetadata:\n  labels: { team: ‸ }', ['front']],
    [
      'addresses in JSON',
      '{"kind": "PhoneNumber", "spec": {"inbound_agent_id": {"$ref": "‸"}}}',
      ['Agent/day'],
      'manifests/new.json',
    ],
    ['settings of a workspace', 'version: 1\nworkspaces:\n  test:\n    sk‸', ['skip', 'vars', MORE], 'voxform.yaml'],
    ['workspaces', 'version: 1\ndefault_workspace: ‸', ['test', 'other'], 'voxform.yaml'],
    [
      'addresses to patch',
      'version: 1\nworkspaces:\n  test:\n    patches:\n      ‸',
      ['Agent/day', 'Agent/away'],
      'voxform.yaml',
    ],
    [
      'fields in a patch',
      'version: 1\nworkspaces: { test: { patches: { Agent/day: { stt_config: { ‸',
      ['provider', 'model', '$var', MORE],
      'voxform.yaml',
    ],
    [
      'addresses to skip',
      'version: 1\nworkspaces:\n  test:\n    skip: [‸]',
      ['Agent/day', 'Agent/away', 'Agent/*', MORE],
      'voxform.yaml',
    ],
    [
      'settings of the selected backend',
      'version: 1\nstate: { backend: git, ‸ }',
      ['remote', 'ref', 'seal'],
      'voxform.yaml',
    ],
    [
      'modes in a fleet file',
      'version: 1\nworkspaces:\n  "*": { mode: ‸',
      ['report', 'apply', 'approve'],
      'fleet.yaml',
    ],
    [
      'variables and functions of a condition',
      "policies:\n  - name: a\n    kind: PhoneNumber\n    deny: 'has(spec.number) && si‸",
      ['spec', 'labels', 'size', 'has', MORE],
      'policies.yaml',
    ],
    [
      'fields of a kind in a condition',
      'policies:\n  - name: a\n    kind: PhoneNumber\n    warn: \'name == "a.b" && spec.ni‸\'',
      ['number', 'nickname', 'inbound_agent_id', 'outbound_agent_id'],
      'policies.yaml',
    ],
    [
      'fields of an item in a condition on a plan',
      'policies:\n  - name: a\n    on: plan\n    deny: resource.changes.exists(c, c.‸',
      ['path', 'cause', 'sensitive', MORE],
      'policies.yaml',
    ],
    [
      'functions of a string in a condition',
      'policies:\n  - name: a\n    deny: name.‸',
      ['size', 'contains', 'startsWith', MORE],
      'policies.yaml',
    ],
    [
      'fields in a condition of several lines',
      'policies:\n  - name: a\n    kind: PhoneNumber\n    deny: |\n      has(spec.number) &&\n      spec.ni‸',
      ['number', 'nickname', 'inbound_agent_id', 'outbound_agent_id'],
      'policies.yaml',
    ],
    [
      'nothing in a string in a condition of several lines',
      'policies:\n  - name: a\n    deny: >-\n      name ==\n      "na‸',
      [],
      'policies.yaml',
    ],
    ['nothing in a string in a condition', 'policies:\n  - name: a\n    deny: name == "a‸', [], 'policies.yaml'],
    ['values in a policy file', 'policies:\n  - name: a\n    on: ‸', ['manifest', 'plan'], 'policies.yaml'],
  ])('suggests %s', async (_, text, labels, file) => {
    const found = (await suggested(text, file)).map(({ label }) => label);
    const isComplete = labels.at(-1) !== MORE;
    if (isComplete) expect(found).toEqual(labels);
    else expect(found).toEqual(expect.arrayContaining(labels.slice(0, -1)));
  });

  it.each([
    ['a comment', 'kind: Agent\n# ki‸'],
    ['a block scalar', 'kind: Agent\nspec:\n  name: |\n    Ag‸'],
    ['a string over several lines', 'kind: Agent\nspec:\n  name: "a\n    b‸"'],
    [
      'a reference to a resource that the workspace skips',
      number('  inbound_agent_id: { $ref: Agent/aw‸ }').replace('day', ''),
    ],
  ])('suggests nothing in %s', async (_, text) => {
    expect((await suggested(text)).filter(({ label }) => label !== 'Agent/day')).toEqual([]);
  });

  it.each([
    [
      'block',
      number('  inbound_agent_id: Ag‸ # who answers\n'),
      '$ref: Agent/day',
      '  inbound_agent_id: { $ref: Agent/day } # who answers\n',
    ],
    ['the middle of a word', number('  inbound_agent_id: { $ref: Agent/d‸own }\n'), 'Agent/day', '{ $ref: Agent/day }'],
    ['quotes', number("  inbound_agent_id: { $ref: 'Agent/d‸own' }\n"), 'Agent/day', "{ $ref: 'Agent/day' }"],
    ['open quotes', number('  inbound_agent_id: { $ref: "Agent/‸\n'), 'Agent/day', '{ $ref: "Agent/day"'],
    ['a key with its colon', number('  inb‸: x\n'), 'inbound_agent_id', '  inbound_agent_id: x\n'],
    [
      'a key without a colon',
      number('  inb‸\n  nickname: x\n'),
      'inbound_agent_id',
      '  inbound_agent_id: \n  nickname: x\n',
    ],
    ['CRLF', number('  inb‸\r\n  nickname: x\r\n'), 'inbound_agent_id', '  inbound_agent_id: \r\n  nickname: x\r\n'],
    [
      'characters of two UTF-16 units',
      number('  nickname: 🦜 é\n  inb‸\n'),
      'inbound_agent_id',
      '🦜 é\n  inbound_agent_id: \n',
    ],
    [
      'a name with spaces',
      'kind: Agent\nspec: { llm_config: { knowledge_base_ids: [{ $ref: KnowledgeBase/Op‸ening }] } }',
      'KnowledgeBase/Opening hours',
      '[{ $ref: KnowledgeBase/Opening hours }]',
    ],
    [
      'JSON',
      '{"kind": "PhoneNumber", "spec": {"inbound_agent_id": ‸}}',
      '$ref: Agent/day',
      '{"inbound_agent_id": {"$ref": "Agent/day"}}',
    ],
    [
      'a second document',
      `${number('  nickname: { broken\n')}---\n${number('  inb‸')}`,
      'inbound_agent_id',
      'spec:\n  inbound_agent_id: ',
    ],
  ])('inserts a suggestion into %s', async (_, text, label, expected) => {
    const chosen = (await suggested(text)).find((each) => each.label === label);
    if (chosen === undefined) throw new Error(`${label} is not suggested`);
    const edited = applySplices(text.replace(CURSOR, ''), [{ ...chosen.range, text: chosen.newText }]);
    expect(edited).toContain(expected);
  });

  it.each([
    ['a prompt', 'prompts/day.md', '‸'],
    ['the file of another tool', 'compose.yaml', 'services:\n  ‸'],
    ['a file that the patterns exclude', 'manifests/b/c.txt.yaml', 'na‸'],
  ])('suggests nothing in %s', async (_, file, text) => {
    expect(await suggested(text, file)).toEqual([]);
  });

  it('works in a manifest that matches no pattern', async () => {
    const found = await suggested('apiVersion: voxform/v1\nkind: ‸', 'elsewhere/a.yaml');
    expect(found.map(({ label }) => label)).toContain('Agent');
  });

  it.each([
    ['call-centre', 'staging'],
    ['migration', 'trial'],
  ])('suggests references that are valid in %s', { tags: ['long'] }, async (name, workspace) => {
    const snapshot = await openSnapshot(path.join(EXAMPLES, name), { workspace });
    let count = 0;
    for (const file of snapshot.files) {
      const place = placesIn(snapshot, file).find(({ type }) => type === 'reference');
      const all = place === undefined ? [] : suggestionsAt(snapshot, file, place.range.start);
      for (const { range, newText } of all) {
        const text = applySplices(snapshot.textOf(file) ?? '', [{ ...range, text: newText }]);
        const { workspaces } = await snapshot.checkedWith(new Map([[path.join(snapshot.folder, file), text]]));
        expect(workspaces.find((each) => each.name === workspace)?.diagnostics).toEqual([]);
        count += 1;
      }
    }
    expect(count).toBeGreaterThan(2);
  });

  it('never contains the value of a secret', async () => {
    using project = new TemporaryProject({
      ...FILES,
      'voxform.yaml': PROJECT.replace('company: Acme', 'company: { $secret: COMPANY }'),
      'manifests/b.yaml': 'kind: Agent\nspec: { name: { $var:  } }',
    });
    const snapshot = await openSnapshot(project.root, { workspace: 'test', env: { COMPANY: 'hush-hush' } });
    const found = suggestionsAt(snapshot, 'manifests/b.yaml', 'kind: Agent\nspec: { name: { $var: '.length);
    expect(found.map(({ detail }) => detail)).toContain('(secret)');
    expect(JSON.stringify(found)).not.toContain('hush');
  });
});

/** The maximum number of tested offsets in a file. A larger file is tested at intervals. */
const MAX_OFFSETS = 25;

describe('completion in an invalid file', () => {
  it.each([
    ['call-centre', 'staging'],
    ['migration', 'trial'],
    ['quickstart', undefined],
    ['policies', undefined],
  ])(
    'does not fail at any position of the example %s, or if the file ends there',
    { tags: ['long'] },
    async (name, workspace) => {
      const root = path.join(EXAMPLES, name);
      const texts: Record<string, string> = {};
      const snapshot = await openSnapshot(root, { texts, ...(workspace && { workspace }) });
      const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'));
      let count = 0;
      for (const file of files) {
        const text = snapshot.textOf(file) ?? '';
        const step = Math.max(1, Math.floor(text.length / MAX_OFFSETS));
        for (let offset = fc.sample(fc.nat(step), 1)[0] ?? 0; offset <= text.length; offset += step) {
          count += suggestionsAt(snapshot, file, offset).length;
          texts[file] = text.slice(0, offset);
          for (const { range } of suggestionsAt(snapshot, file, offset)) expect(range.end).toBe(offset);
          hoverAt(snapshot, file, offset);
          addressAt(snapshot, file, offset);
          delete texts[file];
        }
      }
      expect(count).toBeGreaterThan(100);
    },
  );

  it('does not fail in any text', async () => {
    using project = new TemporaryProject(FILES);
    const texts: Record<string, string> = {};
    const snapshot = await openSnapshot(project.root, { texts, workspace: 'test' });
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...yamlFragments), { maxLength: 30 }),
        fc.nat(),
        fc.constantFrom('manifests/x.yaml', 'voxform.yaml', 'fleet.yaml', 'p.yaml'),
        (parts, pick, file) => {
          const text = `${file === 'p.yaml' ? 'policies:\n' : ''}${parts.join('')}`;
          texts[file] = text;
          const offset = pick % (text.length + 1);
          for (const { range } of suggestionsAt(snapshot, file, offset)) {
            expect(range.start).toBeLessThanOrEqual(offset);
            expect(range.end).toBeGreaterThanOrEqual(offset);
            expect(text.slice(range.start, range.end)).not.toContain('\n');
          }
          hoverAt(snapshot, file, offset);
          addressAt(snapshot, file, offset);
        },
      ),
      { numRuns: 200 },
    );
  });
});
