import { symlinkSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kinds, lookups } from '../../src/kinds/index.ts';
import { compareDiagnostics, type Diagnostic } from '../../src/problems/diagnostic.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { allDiagnostics } from '../../src/project/all-diagnostics.ts';
import { InvalidProject } from '../../src/project/invalid-project.ts';
import { loadProject } from '../../src/project/load-project.ts';
import { lineOf, loadFiles, manifest, PLAIN_PROJECT, TemporaryProject } from './temporary-project.ts';
import { yamlFragments } from './yaml-fragments.ts';

const MANIFESTS = `# yaml-language-server: $schema=x
apiVersion: voxform/v1
kind: Agent
metadata: { name: a, labels: { team: x }, previous_names: [old], ignore_drift: [tts_config.speed] }
spec:
  name: &name "Support"
  llm_config: { model: gpt, temperature: 0.2, api_key: { $secret: KEY }, knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ }] }
  prompt_config:
    prompt: |
      Be nice.
    welcome_message: { $join: [*name, { $env: X, default: y }] }
---
apiVersion: voxform/v1
kind: PhoneNumber
metadata:
  name: n
spec: { number: "+4930", inbound_agent_id: { $ref: Agent/a } }
`;

/** Returns the text after some deletions and insertions. */
const mutated = (text: string) =>
  fc
    .array(
      fc.record({
        at: fc.nat(text.length),
        cut: fc.oneof(fc.constant(0), fc.nat(12)),
        insert: fc.oneof(fc.constantFrom(...yamlFragments), fc.string({ maxLength: 5, unit: 'binary' })),
      }),
      { minLength: 1, maxLength: 6 },
    )
    .map((edits) =>
      edits.reduce((kept, { at, cut, insert }) => kept.slice(0, at) + insert + kept.slice(at + cut), text),
    );

function expectWellFormed(diagnostics: readonly Diagnostic[], text: string): void {
  const lines = text.split(/\r\n|\n|\r/);
  for (const { message, code, file, line, column } of diagnostics) {
    expect(message).toMatch(/^\S[^\n]*[^.\n]$/);
    expect(code).toMatch(/^[a-z][a-z0-9-]+$/);
    expect(file).not.toBe('');
    if (line === undefined) continue;
    expect(line).toBeGreaterThanOrEqual(1);
    expect(line).toBeLessThanOrEqual(lines.length + 1);
    expect(column).toBeGreaterThanOrEqual(1);
  }
  expect(diagnostics).toEqual(diagnostics.toSorted(compareDiagnostics));
}

describe('any text', () => {
  it('as a manifest gives resources or diagnostics, never an exception', { tags: ['long'] }, async () => {
    using project = new TemporaryProject({});
    await fc.assert(
      fc.asyncProperty(mutated(MANIFESTS), async (text) => {
        project.write({ 'manifests/m.yaml': text });
        const { resources, diagnostics } = await project.load();
        expectWellFormed(diagnostics, text);
        expect(resources.length + diagnostics.length).toBeGreaterThan(0);
      }),
      { numRuns: 100 },
    );
  });

  it('as a project file gives a project or diagnostics, never another exception', { tags: ['long'] }, async () => {
    const full = `${PLAIN_PROJECT}    vars: { a: { $env: X } }\n    patches: { Agent/a: { name: B } }\n    skip: [Webhook/*]\ndefaults: { Agent: { name: C } }\nlimits: { concurrency: 2 }\n`;
    using project = new TemporaryProject({ 'manifests/a.yaml': manifest('Agent', 'a', 'name: A') });
    await fc.assert(
      fc.asyncProperty(mutated(full), async (text) => {
        project.write({ 'voxform.yaml': text });
        try {
          await loadProject({ cwd: project.root, env: {} });
        } catch (error) {
          if (!(error instanceof InvalidProject)) throw error;
          expect(error.diagnostics).not.toEqual([]);
          expectWellFormed(error.diagnostics, text);
          const all = await allDiagnostics(error, { kinds, lookups, env: {}, name: undefined });
          expectWellFormed(all, text);
          expect(all).toEqual(expect.arrayContaining([...error.diagnostics]));
          return;
        }
        await project.load().catch((error: unknown) => expect(error).toBeInstanceOf(UserError));
      }),
      { numRuns: 100 },
    );
  });

  it('with a mistake gives its position, for any location and style of the manifest', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('# comment', '', '   ', '# 😀'), { maxLength: 5 }),
        fc.nat(3),
        fc.boolean(),
        async (before, documents, isFlow) => {
          const head = `${before.join('\n')}\n`;
          const others = Array.from({ length: documents }, (_, n) => `${manifest('Agent', `a${n}`, 'name: A')}---\n`);
          const wrong = manifest('Agent', 'b', isFlow ? 'stt_config: { modle: x }' : 'stt_config:\n  modle: x');
          const text = head + others.join('') + wrong;
          const offset = text.indexOf('modle');
          const linesBefore = text.slice(0, offset).split('\n');
          const place = `${linesBefore.length}:${(linesBefore.at(-1) ?? '').length + 1}`;
          const { diagnostics } = await loadFiles({ 'manifests/m.yaml': text });
          expect(diagnostics.map(lineOf)).toEqual([
            `manifests/m.yaml:${place} spec.stt_config.modle unknown-field unknown field "modle"; did you mean "model"?`,
          ]);
        },
      ),
      { numRuns: 20 },
    );
  });
});

describe('file with very many problems', () => {
  it.each([
    { reason: 'unknown fields', spec: Array.from({ length: 10_000 }, (_, n) => `k${n}: x`).join('\n') },
    { reason: 'invalid items', spec: `llm_config: { knowledge_base_ids: [${'1, '.repeat(10_000)}] }` },
    { reason: 'one key', spec: 'name: x\n'.repeat(10_000) },
    {
      reason: 'references to missing resources',
      spec: `llm_config: { tools: [${'{ $ref: Agent/x }, '.repeat(10_000)}] }`,
    },
  ])('reports the first problems: $reason', { tags: ['long'] }, async ({ spec }) => {
    const { diagnostics } = await loadFiles({ 'manifests/m.yaml': manifest('Agent', 'a', spec) });
    expect(diagnostics).toHaveLength(1001);
    expect(diagnostics[0]?.code).toBe('too-many-problems');
  });
});

describe('any order', () => {
  it('of documents and files gives the same resources and the same kinds of problems', async () => {
    const documents = [
      manifest('Agent', 'a', 'name: A\nllm_config: { tools: [{ $ref: Agent/b }] }'),
      manifest('Agent', 'b', 'name: B\nllm_config: { tools: [{ $ref: Agent/a }] }'),
      manifest('Agent', 'c', 'nam: C'),
      manifest('PhoneNumber', 'n', 'number: "1"\ninbound_agent_id: { $ref: Agent/c }'),
      manifest('PhoneNumber', 'm', 'number: "2"\noutbound_agent_id: { $ref: Agent/none }'),
      manifest('WorkspaceUser', 'u', 'email: a@b.c\nagent_ids: [{ $ref: Agent/a }]'),
    ];
    const seen = async (order: readonly string[], files: number) => {
      const written: Record<string, string> = {};
      for (const [index, text] of order.entries()) {
        const file = `manifests/${index % files}.yaml`;
        written[file] = `${written[file] ?? ''}---\n${text}`;
      }
      const { resources, diagnostics } = await loadFiles(written);
      return {
        resources: resources.map(({ source: _, ...resource }) => resource),
        problems: diagnostics.map(({ code, message, path }) => `${path} ${code} ${message}`).sort(),
      };
    };
    const expected = await seen(documents, 1);
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(documents, { minLength: documents.length }),
        fc.integer({ min: 1, max: 4 }),
        async (order, files) => {
          expect(await seen(order, files)).toEqual(expected);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('file of a manifest', () => {
  it('cannot be read through a link that points outside the project', async () => {
    using outside = new TemporaryProject({ 'secret.md': 'outside' });
    using project = new TemporaryProject({
      'manifests/a.yaml': manifest(
        'Agent',
        'a',
        'name: { $file: link.md }\nprompt_config: { prompt: { $file: ../dir/secret.md } }',
      ),
    });
    symlinkSync(`${outside.root}/secret.md`, `${project.root}/manifests/link.md`);
    symlinkSync(outside.root, `${project.root}/dir`);
    const desired = await project.load();
    expect(desired.diagnostics.map(lineOf)).toEqual([
      'manifests/a.yaml:6:18 spec.name outside-project $file: manifests/link.md is outside the project folder',
      'manifests/a.yaml:7:37 spec.prompt_config.prompt outside-project $file: dir/secret.md is outside the project folder',
    ]);
    expect(JSON.stringify(desired)).not.toContain('"outside"');
  });

  it.each([
    { file: '.env', reason: 'the variables of the project' },
    { file: '.ENV.production', reason: 'variables under another name, and in other case' },
    { file: 'deeper/.envrc', reason: 'variables of direnv' },
    { file: '.git/config', reason: 'the token of a pipeline for its repository' },
    { file: 'team.vars', reason: 'an env_file of another workspace' },
    { file: 'keys/OPENAI', reason: 'a folder of secrets' },
    { file: 'more/keys', reason: 'the secrets_dir' },
    { file: 'prompts/link.md', links: { 'prompts/link.md': '../team.vars' }, reason: 'a link to secrets' },
    {
      file: 'prompts/a.md',
      links: { 'keys/A': '../prompts/a.md' },
      reason: 'the target of a link in a folder of secrets',
    },
  ])('is refused if it may contain secrets: $reason', async ({ file, links = {} }) => {
    const secret = 'KEY=the-secret-text';
    using project = new TemporaryProject({
      'voxform.yaml': `version: 1
manifests: [manifests/*]
default_workspace: one
workspaces:
  one: { base_url: "https://a.example.com", workspace_id: a, secrets: [{ folder: keys }] }
  two: { base_url: "https://b.example.com", workspace_id: b, secrets: [{ env_file: team.vars }] }
  three: { base_url: "https://c.example.com", workspace_id: c, secrets_dir: more }
`,
      'team.vars': secret,
      'keys/B': secret,
      ...(!(file in links) && { [file]: secret }),
      'prompts/.envelope.md': 'Dear',
      'manifests/a.yaml': manifest('Agent', 'a', `name: { $file: ../${file} }`),
      'manifests/b.yaml': manifest('Agent', 'b', 'name: { $file: ../prompts/.envelope.md }'),
    });
    for (const [link, target] of Object.entries(links)) symlinkSync(target, `${project.root}/${link}`);
    const { diagnostics, resources } = await project.load();
    expect(diagnostics).toMatchObject([{ file: 'manifests/a.yaml', line: 6, column: 18, code: 'secret-file' }]);
    expect(diagnostics[0]?.message).toContain('$secret');
    expect(JSON.stringify(resources)).not.toContain(secret);
  });

  it('may be a link inside the project, even from a folder above the manifests', async () => {
    using project = new TemporaryProject({
      'prompts/p.md': 'Hello\n',
      'manifests/a.yaml': manifest('Agent', 'a', 'name: { $file: link.md }'),
    });
    symlinkSync('../prompts/p.md', `${project.root}/manifests/link.md`);
    const { resources } = await project.load();
    expect(resources[0]?.spec).toEqual({ name: 'Hello' });
  });
});
