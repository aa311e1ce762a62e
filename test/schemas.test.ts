import { execFileSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { applyJson } from '../src/output/apply-json.ts';
import { richPlan } from './output/sample-plan.ts';

const root = path.resolve(import.meta.dirname, '..');

/** Validators that are independent of voxform's own checks. */
const validators: ReadonlyMap<string, ValidateFunction> = new Map(
  readdirSync(path.join(root, 'schemas')).map((file) => {
    const ajv = new Ajv2020({ allErrors: true, strictTypes: false, strictRequired: false });
    ajv.addFormat('uri', (text) => URL.canParse(text));
    const schema: object = JSON.parse(readFileSync(path.join(root, 'schemas', file), 'utf8'));
    return [file.replace('.schema.json', ''), ajv.compile(schema)];
  }),
);

/** Returns the problems of a value, one per line; empty if there are none. */
function problems(schema: string, value: unknown): string[] {
  const validate = validators.get(schema);
  if (validate === undefined) throw new Error(`there is no schema ${schema}`);
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

const schemaOfKind: Readonly<Record<string, string>> = {
  Agent: 'agent',
  PhoneNumber: 'phone-number',
  Webhook: 'webhook',
  WorkspaceUser: 'workspace-user',
};

describe('schemas', () => {
  it('match the code', () => {
    const script = path.join(root, 'scripts', 'schemas.ts');
    expect(execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8' })).toBe('');
  });

  it('explain every field of every kind', () => {
    for (const name of Object.values(schemaOfKind)) {
      const schema = JSON.parse(readFileSync(path.join(root, 'schemas', `${name}.schema.json`), 'utf8'));
      expect(undescribed(schema.properties.spec, 'spec'), name).toEqual([]);
    }
  });
});

/** Returns paths of fields without a description. */
function undescribed(schema: Node, at: string): string[] {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([key, field]) => undescribed(field, `${at}.${key}`));
  const alternatives = (schema.anyOf ?? []).flatMap((each) =>
    each.properties === undefined ? [] : undescribed({ description: 'as the field', ...each }, at),
  );
  return [...(schema.description ? [] : [at]), ...fields, ...alternatives];
}

interface Node {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly anyOf?: readonly Node[];
}

describe('example', () => {
  const manifests = globSync('examples/*/manifests/**/*.yaml', { cwd: root }).sort();
  const projects = globSync('examples/*/voxform.yaml', { cwd: root }).sort();

  it.each(projects)('has a project file that matches its schema: %s', (file) => {
    expect(problems('project', parse(readFileSync(path.join(root, file), 'utf8'), { merge: true }))).toEqual([]);
  });

  it.each(manifests)('has manifests that match their schemas: %s', (file) => {
    const documents = parseAllDocuments(readFileSync(path.join(root, file), 'utf8'), { merge: true });
    expect(documents.length).toBeGreaterThan(0);
    for (const document of documents) {
      const manifest = document.toJS();
      expect(problems('manifest', manifest)).toEqual([]);
      expect(problems(schemaOfKind[manifest.kind] ?? '', manifest)).toEqual([]);
    }
  });
});

const agent = (spec: object, more: object = {}) => ({
  apiVersion: 'voxform/v1',
  kind: 'Agent',
  metadata: { name: 'support-line' },
  spec,
  ...more,
});

describe('manifest schema', () => {
  it.each([
    { reason: 'value forms', manifest: agent({ name: { $env: 'NAME', default: 'Support' } }) },
    {
      reason: 'a join in a string',
      manifest: agent({ prompt_config: { prompt: { $join: ['a', { $file: 'b.md' }] } } }),
    },
    {
      reason: 'a knowledge base by its name',
      manifest: agent({ llm_config: { knowledge_base_ids: [{ $ref: 'KnowledgeBase/FAQ' }] } }),
    },
    { reason: 'tools of any form', manifest: agent({ llm_config: { tools: [{ type: 'x', deep: [1] }] } }) },
    { reason: 'null if the API accepts it', manifest: agent({ prompt_config: { welcome_message: null } }) },
  ])('accepts $reason', ({ manifest }) => {
    expect(problems('manifest', manifest)).toEqual([]);
    expect(problems('agent', manifest)).toEqual([]);
  });

  it.each([
    { reason: 'an unknown field', manifest: agent({ voise: 'x' }) },
    { reason: 'a field of the wrong type', manifest: agent({ llm_config: { temperature: 'warm' } }) },
    { reason: 'a name that is too long', manifest: agent({ name: 'n'.repeat(256) }) },
    { reason: 'a resource name with capitals', manifest: agent({}, { metadata: { name: 'Support' } }) },
    { reason: 'a literal secret', manifest: agent({ llm_config: { api_key: 'sk-in-the-open' } }) },
    {
      reason: 'a reference to another kind',
      manifest: agent({ llm_config: { knowledge_base_ids: [{ $ref: 'Agent/x' }] } }),
    },
    { reason: 'a form with an extra key', manifest: agent({ name: { $env: 'NAME', other: 'x' } }) },
    { reason: 'another format version', manifest: agent({}, { apiVersion: 'voxform/v2' }) },
    { reason: 'no spec', manifest: { apiVersion: 'voxform/v1', kind: 'Agent', metadata: { name: 'x' } } },
    {
      reason: 'an ignored path that no agent has',
      manifest: agent({}, { metadata: { name: 'x', ignore_drift: ['speed'] } }),
    },
  ])('refuses $reason', ({ manifest }) => {
    expect(problems('manifest', manifest)).not.toEqual([]);
    expect(problems('agent', manifest)).not.toEqual([]);
  });

  it('refuses an unknown kind', () => {
    expect(problems('manifest', { ...agent({}), kind: 'Agnet' })).not.toEqual([]);
  });

  it.each([
    { reason: 'retries above ten', kind: 'Webhook', spec: { url: 'https://example.com', retries: 11 } },
    { reason: 'a timeout of zero', kind: 'Webhook', spec: { url: 'https://example.com', timeout: 0 } },
    { reason: 'an invalid address', kind: 'Webhook', spec: { url: 'somewhere' } },
    { reason: 'a number that is too long', kind: 'PhoneNumber', spec: { number: '+123456789012' } },
    { reason: 'a number without quotes', kind: 'PhoneNumber', spec: { number: 12025550120 } },
    { reason: 'an empty nickname', kind: 'PhoneNumber', spec: { number: '+12025550120', nickname: '' } },
    { reason: 'an unknown role', kind: 'WorkspaceUser', spec: { email: 'a@b.c', role: 'boss' } },
    {
      reason: 'an unknown module',
      kind: 'WorkspaceUser',
      spec: { email: 'a@b.c', modules: ['billing'] },
    },
  ])('refuses $reason', ({ kind, spec }) => {
    const manifest = { ...agent(spec), kind };
    expect(problems('manifest', manifest)).not.toEqual([]);
    expect(problems(schemaOfKind[kind] ?? '', manifest)).not.toEqual([]);
  });
});

describe('project schema', () => {
  const workspace = {
    base_url: 'https://voice.example.com',
    workspace_id: '01JX',
    api_key: { $secret: 'KEY' },
  };
  const project = (more: object) => ({ version: 1, workspaces: { staging: workspace }, ...more });

  it('accepts a minimal project', () => {
    expect(problems('project', project({}))).toEqual([]);
  });

  it.each([
    {
      reason: 'a literal API key',
      file: project({ workspaces: { a: { ...workspace, api_key: 'key' } } }),
    },
    { reason: 'no workspaces', file: { version: 1 } },
    { reason: 'another version', file: project({ version: 2 }) },
    { reason: 'an unknown setting', file: project({ limit: {} }) },
    { reason: 'defaults of an unknown kind', file: project({ defaults: { Agnet: {} } }) },
    { reason: 'a share above one hundred', file: project({ guards: { max_changed_percent: 101 } }) },
    { reason: 'a concurrency of zero', file: project({ limits: { concurrency: 0 } }) },
  ])('refuses $reason', ({ file }) => {
    expect(problems('project', file)).not.toEqual([]);
  });
});

describe('schemas of results', () => {
  const rich = reread(richPlan);
  const failed = richPlan.resources.find(({ action }) => action === 'create')?.address ?? '';
  const report = {
    plan: richPlan,
    results: new Map([[failed, { status: 'failed' as const, error: 'e', hint: 'h' }]]),
    warnings: richPlan.warnings,
    interrupted: 'SIGINT' as const,
  };

  it.each([
    { name: 'plan', document: rich },
    { name: 'apply', document: reread(applyJson(report)) },
    { name: 'drift', document: rich },
  ])('accept the output of $name, and nothing else', ({ name, document }) => {
    expect(problems(name, document)).toEqual([]);
    expect(problems(name, { ...document, more: 1 })).not.toEqual([]);
    expect(problems(name, { ...document, resources: [{ address: 'Agent/a' }] })).not.toEqual([]);
  });

  it('distinguish an apply from a plan', () => {
    const { resources } = applyJson(report);
    expect(problems('plan', { ...rich, resources: reread(resources) })).not.toEqual([]);
  });
});

/** Returns the document as a program parses it. */
function reread<T>(document: T): T & object {
  return JSON.parse(JSON.stringify(document));
}
