import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import type { DiffDocument, FieldDifference, ResourceDifference } from '../../src/runs/diff/document.ts';
import { type TwoWorkspaces, twoWorkspaces, type WorkspaceText } from './two-workspaces.ts';

const NAMES = ['-w', 'staging', '-w', 'production'];
const ENV = { LLM_KEY: 'sk-the-key-of-both' };

const MANIFESTS = `apiVersion: voxform/v1
kind: Agent
metadata: { name: support }
spec:
  name: Support
  llm_config:
    model: gpt
    temperature: 0.5
    api_key: { $secret: LLM_KEY }
    knowledge_base_ids: [{ $ref: KnowledgeBase/FAQ }, { $ref: KnowledgeBase/Prices }]
    tools: [{ url: { $join: ["https://x.example/", { $ref: Agent/sales }], separator: "" } }]
  knowledge_base_config: { chunks_to_retrieve: 4 }
---
apiVersion: voxform/v1
kind: Agent
metadata: { name: sales }
spec: { name: Sales, prompt_config: { prompt: { $join: ["Sell for", { $var: company }] } } }
---
apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: line }
spec: { number: "+12025550120" }
---
apiVersion: voxform/v1
kind: Webhook
metadata: { name: hook }
spec: { url: "https://x.example", payload: { agent: { $ref: Agent/sales } } }
`;

const SAME = '    vars: { company: Acme }';

/** Applies both workspaces, from the same manifests unless `texts` differ. */
async function applied(texts: WorkspaceText = {}, secondEnv: Record<string, string> = ENV): Promise<TwoWorkspaces> {
  const two = await twoWorkspaces(MANIFESTS, { staging: SAME, production: SAME, ...texts });
  // The reverse order, so that the order of ids cannot match.
  for (const name of ['FAQ', 'Prices']) two.staging.dashboard.addKnowledgeBase({ name });
  for (const name of ['Prices', 'FAQ']) two.production.dashboard.addKnowledgeBase({ name });
  for (const [name, env] of [
    ['staging', ENV],
    ['production', secondEnv],
  ] as const) {
    const { code, stderr } = await two.run(['apply', '-w', name, '--auto-approve', '-q'], env);
    expect(code, stderr).toBe(0);
  }
  return two;
}

async function diffOf(
  two: TwoWorkspaces,
  args: readonly string[] = NAMES,
  env: Record<string, string> = ENV,
): Promise<DiffDocument> {
  const { code, stdout, stderr } = await two.run(['diff', ...args, '--output', 'json'], env);
  expect(code, stderr).toBe(0);
  const schema = path.resolve(import.meta.dirname, '../../schemas/diff.schema.json');
  const validate = new Ajv2020({ strictTypes: false }).compile(JSON.parse(readFileSync(schema, 'utf8')));
  const document: DiffDocument = JSON.parse(stdout);
  validate(document);
  expect(validate.errors).toBeNull();
  return document;
}

function at(document: DiffDocument, address: string): ResourceDifference | undefined {
  return document.resources.find((each) => each.address === address);
}

function field(document: DiffDocument, address: string, name: string): FieldDifference | undefined {
  return at(document, address)?.fields.find((each) => each.path === name);
}

describe('diff of two workspaces', () => {
  it('is empty after identical applies with different ids, and writes nothing', async () => {
    await using two = await applied();
    two.asked();
    const document = await diffOf(two);
    const asked = two.asked();
    expect(document.summary).toEqual({
      same: 4,
      different: 0,
      only_first: 0,
      only_second: 0,
      neither: 0,
      undeclared: 0,
      unknown: 0,
    });
    expect(at(document, 'Agent/support')?.unverified).toEqual([
      'knowledge_base_config.chunks_to_retrieve',
      'llm_config.api_key',
    ]);
    expect(asked.filter((request) => !request.startsWith('GET '))).toEqual([]);
    expect(new Set(asked).size).toBe(asked.length - 2); // One list of numbers and one of knowledge bases per platform.
  });

  it('distinguishes declared and undeclared differences, and names the side that changed', async () => {
    await using two = await applied({
      staging: `${SAME}\n    patches: { Agent/support: { llm_config: { temperature: 0 }, knowledge_base_config: { chunks_to_retrieve: 9 } } }\n    skip: [PhoneNumber/*]`,
      production: '    vars: { company: Real Acme }',
    });
    const [support] = [...two.production.world.agents.values()].filter(({ name }) => name === 'Support');
    Object.assign(support ?? {}, { name: 'Moved' });
    const [hook] = two.staging.world.webhooks.values();
    two.staging.dashboard.remove('webhooks', hook?.id ?? '');
    const document = await diffOf(two);
    expect(document.summary).toEqual({
      same: 0,
      different: 2,
      only_first: 0,
      only_second: 2,
      neither: 0,
      undeclared: 2,
      unknown: 0,
    });
    expect(field(document, 'Agent/support', 'name')).toEqual({
      path: 'name',
      verdict: 'different',
      declared: false,
      sensitive: false,
      first: { value: 'Support', verified: true, standing: 'declared' },
      second: { value: 'Moved', verified: true, standing: 'drifted' },
    });
    expect(field(document, 'Agent/support', 'llm_config.temperature')).toMatchObject({ declared: true });
    expect(field(document, 'Agent/support', 'knowledge_base_config.chunks_to_retrieve')).toMatchObject({
      declared: true,
      first: { value: 9, verified: false },
      second: { value: 4, verified: false },
    });
    expect(at(document, 'Agent/sales')).toMatchObject({ verdict: 'different', declared: true });
    expect(at(document, 'PhoneNumber/line')).toMatchObject({
      verdict: 'only_second',
      declared: true,
      reason: 'skipped in staging',
    });
    expect(at(document, 'Webhook/hook')).toMatchObject({ verdict: 'only_second', declared: false });

    const turned = await diffOf(two, ['production', 'staging']);
    expect(turned.summary).toMatchObject({ only_first: 2, only_second: 0, undeclared: 2 });

    const text = await two.run(['diff', ...NAMES, '--detailed-exitcode'], ENV);
    expect(text.code).toBe(2);
    expect(text.stdout).toMatch(
      /Different \(1\)[\s\S]*name: Support -> Moved {2}\(production: drifted\)[\s\S]*Different as declared \(2\)/,
    );
    expect(text.stdout).toContain('2 not as declared');
    const markdown = await two.run(['diff', ...NAMES, '--output', 'markdown'], ENV);
    expect(markdown).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('| <code>Agent/support</code> | different |'),
    });
  });

  it('exits with 0 if every difference is declared', async () => {
    await using two = await applied({ production: '    vars: { company: Real Acme }' });
    const { code, stdout } = await two.run(['diff', ...NAMES, '--detailed-exitcode'], ENV);
    expect({ code, closing: stdout.trim().split('\n').at(-1) }).toEqual({
      code: 0,
      closing: 'Diff: 1 resource differs, all as declared. 3 the same.',
    });
  });

  it('compares secrets as far as they are known, and reveals none', { tags: ['long'] }, async () => {
    const other = { LLM_KEY: 'sk-that-only-production-has' };
    await using two = await applied({}, other);
    const verdicts = [];
    for (const key of [ENV.LLM_KEY, other.LLM_KEY, 'sk-that-nobody-sent-yet']) {
      const document = await diffOf(two, NAMES, { LLM_KEY: key });
      const found = field(document, 'Agent/support', 'llm_config.api_key');
      expect(found).toMatchObject({ sensitive: true, declared: false });
      expect(Object.keys(found?.first ?? {})).not.toContain('value');
      verdicts.push(found?.verdict);
      const { stdout } = await two.run(['diff', ...NAMES, '-v'], { LLM_KEY: key });
      for (const secret of [ENV.LLM_KEY, other.LLM_KEY, key])
        expect(stdout + JSON.stringify(document)).not.toContain(secret);
    }
    expect(verdicts).toEqual(['different', 'different', 'unknown']);
  });

  it('names the workspace that could not be read', async () => {
    await using two = await twoWorkspaces(MANIFESTS, { staging: SAME, production: SAME });
    const { code, stdout, stderr } = await two.run(['diff', ...NAMES], { ...ENV, PRODUCTION_KEY: 'wrong' });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/Workspace production[\s\S]*401/);
  });
});
