import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENV, type TwoWorkspaces, twoWorkspaces } from '../runs/two-workspaces.ts';
import { command } from '../trust/in-process.ts';
import { agentManifest } from './workspace.ts';

const NUMBER = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: line }
spec: { number: "+12025550120" }
`;
const MANIFESTS = [agentManifest('support'), agentManifest('sales'), NUMBER].join('---\n');
const BOTH = ['--workspace', 'staging', '--workspace', 'production'];
const ALL = '--all-workspaces';

let two: TwoWorkspaces;

beforeAll(async () => {
  two = await twoWorkspaces(MANIFESTS, { staging: '    skip: [Agent/sales]' });
});

afterAll(() => two[Symbol.asyncDispose]());

/** With this key, the platform of one workspace rejects all requests. */
const BROKEN = { PRODUCTION_KEY: 'a-key-that-production-does-not-know' };

function problemsOf(schema: string, value: unknown): unknown {
  const file = path.resolve(import.meta.dirname, '../../schemas', `${schema}.schema.json`);
  const validate = new Ajv2020({ strictTypes: false }).compile(JSON.parse(readFileSync(file, 'utf8')));
  validate(value);
  return validate.errors;
}

it('workspace list marks the selected workspace and prints no key', async () => {
  const { stdout } = await command(['workspace', 'list', '--output', 'json'], {
    cwd: two.folder.root,
    env: { STAGING_KEY: ENV.STAGING_KEY },
  });
  const listed = JSON.parse(stdout) as readonly Record<string, unknown>[];
  expect(listed.map(({ name, api_key_set: isSet }) => [name, isSet])).toEqual([
    ['staging', true],
    ['production', false],
  ]);
  const text = await two.run(['workspace', 'list', '-w', 'production'], ENV);
  expect(text.stdout).toMatch(/^\* +production +\S+ +http:\S+ +PRODUCTION_KEY$/m);
  expect(text.stdout + stdout).not.toContain(ENV.PRODUCTION_KEY);
});

describe('wrong usage', () => {
  it.each([
    {
      reason: 'a command for one',
      args: ['get', 'users', ...BOTH],
      says: 'takes one workspace, got staging and production',
    },
    {
      reason: 'an apply of two',
      args: ['apply', ...BOTH],
      says: 'then voxform apply --workspace production',
    },
    { reason: 'an apply of all', args: ['apply', ALL], says: 'apply takes one workspace at a time' },
    {
      reason: 'one plan file for two',
      args: ['plan', ...BOTH, '--out', 'p.plan'],
      says: '--out takes one workspace only',
    },
    { reason: 'names and all', args: ['plan', ALL, '-w', 'staging'], says: 'are mutually exclusive' },
    {
      reason: 'an address for two',
      args: ['plan', ALL],
      env: { VOXFORM_BASE_URL: 'https://x.example' },
      says: 'VOXFORM_BASE_URL would apply to every selected workspace. Unset it.',
    },
    {
      reason: 'key and id for two',
      args: ['drift', ...BOTH],
      env: { VOXFORM_API_KEY: 'k', VOXFORM_WORKSPACE_ID: 'w' },
      says: 'VOXFORM_WORKSPACE_ID and VOXFORM_API_KEY would apply to every selected workspace. Unset them.',
    },
    {
      reason: 'a diff of one',
      args: ['diff', '-w', 'staging'],
      says: 'needs two different workspaces, got 1',
    },
    { reason: 'a diff of three', args: ['diff', 'staging', 'production', '-w', 'x'], says: 'got 3' },
    { reason: 'a diff of nothing', args: ['diff'], says: 'got 0' },
  ])('includes $reason', async ({ args, env, says }) => {
    const { code, stdout, stderr } = await two.run(args, env);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr.replace(/\s+/g, ' ')).toContain(says);
    expect(two.asked()).toEqual([]);
  });

  it.each([
    {
      reason: 'every missing key',
      env: { STAGING_KEY: '', PRODUCTION_KEY: '' },
      says: ['STAGING_KEY', 'PRODUCTION_KEY'],
    },
    {
      reason: 'an unknown workspace',
      args: ['-w', 'stagign', '-w', 'production'],
      says: ['did you mean "staging"?'],
    },
  ])('includes $reason, reported before any request', async ({ env, args = [ALL], says }) => {
    const { code, stderr } = await two.run(['plan', ...args], env);
    expect(code).toBe(1);
    for (const words of says) expect(stderr).toContain(words);
    expect(two.asked()).toEqual([]);
  });

  it('does not include one workspace that is named twice', async () => {
    const { code, stdout } = await two.run(['plan', '-w', 'staging', '-w', 'staging', '--output', 'json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).workspace).toBe('staging');
  });
});

describe('several workspaces', () => {
  it('are planned in one document, in the given order, which matches the schema', async () => {
    const { stdout } = await two.run(['plan', '-w', 'production', '-w', 'staging', '--output', 'json']);
    const document = JSON.parse(stdout);
    expect(problemsOf('plans', document)).toBeNull();
    expect(
      document.plans.map(({ workspace, summary }: { workspace: string; summary: { create: number } }) => [
        workspace,
        summary.create,
      ]),
    ).toEqual([
      ['production', 3],
      ['staging', 2],
    ]);
    expect(document.failures).toEqual([]);
  });

  it.each(['text', 'json', 'markdown', 'github', 'html'])(
    'are reported as %s if one fails, with its name and the reason',
    async (output) => {
      const { code, stdout, stderr } = await two.run(['plan', ALL, '--output', output, '--detailed-exitcode'], BROKEN);
      expect(code).toBe(1);
      expect(stderr).toContain('1 of 2 workspaces failed: production');
      expect(stdout.replace(/<[^>]+>/g, '')).toContain('Agent/support');
      expect(stdout).toMatch(/production[\s\S]*401/);
      if (output === 'json') {
        const document = JSON.parse(stdout);
        expect(problemsOf('plans', document)).toBeNull();
        expect(document.failures).toEqual([
          {
            workspace: 'production',
            message: expect.stringContaining('401'),
            hint: expect.stringContaining('key'),
          },
        ]);
      }
      expect(`${stdout}${stderr}`).not.toContain(BROKEN.PRODUCTION_KEY);
    },
  );

  it('are planned separately if the manifests are invalid in one of them', async () => {
    await using wrong = await twoWorkspaces(agentManifest('support').replace('"Be kind."', '{ $var: words }'), {
      staging: '    vars: { words: Hello }',
    });
    const { code, stdout } = await wrong.run(['plan', ALL, '--output', 'json']);
    const { plans, failures } = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(plans.map(({ workspace }: { workspace: string }) => workspace)).toEqual(['staging']);
    expect(failures).toEqual([
      expect.objectContaining({
        workspace: 'production',
        diagnostics: [expect.objectContaining({ code: 'missing-var' })],
      }),
    ]);
    const validated = await wrong.run(['validate', ALL]);
    expect(validated.code).toBe(1);
    expect(validated.stdout.match(/no variable "words"/g)).toHaveLength(1);
    expect(validated.stdout).toContain('(in production)');
  });

  it('are validated with common problems reported once', async () => {
    await using wrong = await twoWorkspaces(agentManifest('support').replace('prompt:', 'promt:'));
    const { code, stdout } = await wrong.run(['validate', ALL, '--output', 'json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      valid: false,
      errors: 1,
      workspaces: ['staging', 'production'],
      diagnostics: [{ code: 'unknown-field', workspaces: ['staging', 'production'] }],
    });
    const fine = await two.run(['validate', ALL], { VOXFORM_API_KEY: 'of no matter here' });
    expect(fine).toMatchObject({ code: 0 });
    expect(fine.stdout).toBe(
      'Valid in staging: 1 Agent, 1 PhoneNumber in 1 file.\nValid in production: 2 Agent, 1 PhoneNumber in 1 file.\n',
    );
  });

  it('are named with the variable that overrides the key of one of them', async () => {
    const notesOf = async (key: string, ...args: readonly string[]) =>
      (await two.run(args, { VOXFORM_API_KEY: key })).stderr.replace(/\s+/g, ' ').match(/Using [^.]*\./g);
    const note = 'Using VOXFORM_API_KEY instead of STAGING_KEY, the api_key of the workspace staging.';
    expect(await notesOf('another', 'plan', '-w', 'staging')).toEqual([note]);
    expect(await notesOf(ENV.STAGING_KEY, 'plan', '-w', 'staging')).toBeNull();
    expect(await notesOf('another', 'state', 'list', '-w', 'staging')).toBeNull();
  });

  it('share one exit code', async () => {
    const code = async (args: readonly string[], env = {}) => (await two.run([...args, '-q'], env)).code;
    expect(await code(['plan', ALL])).toBe(0);
    expect(await code(['plan', ALL, '--detailed-exitcode'])).toBe(2);
    expect(await code(['apply', '-w', 'staging', '--auto-approve'])).toBe(0);
    expect(await code(['plan', ALL, '--detailed-exitcode'])).toBe(2);
    expect(await code(['apply', '-w', 'production', '--auto-approve'])).toBe(0);
    expect(await code(['plan', ALL, '--detailed-exitcode'])).toBe(0);
    expect(await code(['drift', ...BOTH])).toBe(0);
    const [agent] = two.production.world.agents.values();
    Object.assign(agent ?? {}, { name: 'Moved by hand' });
    expect(await code(['drift', ...BOTH])).toBe(2);
    expect(await code(['drift', ...BOTH], { STAGING_KEY: 'wrong' })).toBe(1);
    const { stdout } = await two.run(['status', ALL, '--output', 'json', '-q']);
    const { statuses, failures } = JSON.parse(stdout);
    expect(failures).toEqual([]);
    expect(
      statuses.map(({ workspace, resources }: { workspace: string; resources: { status: string }[] }) => [
        workspace,
        resources.map(({ status }) => status),
      ]),
    ).toEqual([
      ['staging', ['unpublished', 'in sync']],
      ['production', expect.arrayContaining(['drifted', 'unpublished', 'in sync'])],
    ]);
    const table = await two.run(['status', ALL], { ...ENV, ...BROKEN });
    expect(table.code).toBe(1);
    expect(table.stdout).toMatch(/^WORKSPACE +ADDRESS +STATUS[\s\S]*Workspace production[\s\S]*401/);
  });
});
