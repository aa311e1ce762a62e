import { describe, expect, it } from 'vitest';
import type { Environment } from '../../src/manifests/secret-reader.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { loadProject } from '../../src/project/load-project.ts';
import { readCredentials, selectWorkspace } from '../../src/project/select-workspace.ts';
import { TemporaryProject } from './temporary-project.ts';

const PLACE = 'base_url: https://x.example, workspace_id: w, api_key: { $secret: KEY }';

async function select(text: string, options: { name?: string; env?: Environment; requireKey?: boolean } = {}) {
  using folder = new TemporaryProject({ 'voxform.yaml': `version: 1\n${text}` });
  const { name, env = {}, requireKey = false } = options;
  const project = await loadProject({ cwd: folder.root, env });
  const workspace = selectWorkspace(project, { name, env });
  if (requireKey) await readCredentials([workspace]);
  return workspace;
}

async function refusal(...given: Parameters<typeof select>): Promise<string> {
  try {
    await select(...given);
  } catch (error) {
    if (error instanceof UserError) return `${error.message} | ${error.hint ?? ''}`;
    throw error;
  }
  return 'not refused';
}

const ONE = `workspaces: { one: { ${PLACE} } }\n`;
const TWO = `workspaces: { one: { ${PLACE} }, two: { ${PLACE} } }\n`;

describe('workspace', () => {
  it.each([
    { reason: 'the only one', text: ONE, expected: 'one' },
    { reason: 'the default', text: `default_workspace: two\n${TWO}`, expected: 'two' },
    {
      reason: 'the environment before the default',
      text: `default_workspace: two\n${TWO}`,
      env: { VOXFORM_WORKSPACE: 'one' },
      expected: 'one',
    },
    {
      reason: 'the command line before the environment',
      text: TWO,
      name: 'two',
      env: { VOXFORM_WORKSPACE: 'one' },
      expected: 'two',
    },
  ])('is $reason', async ({ text, expected, ...options }) => {
    expect((await select(text, options)).name).toBe(expected);
  });

  it('must be named if there are several', async () => {
    expect(await refusal(TWO)).toBe(
      'no workspace selected | The project has 2 workspaces: one, two. Select one with -w NAME, VOXFORM_WORKSPACE or default_workspace.',
    );
  });

  it('has a suggestion if it is misspelled', async () => {
    expect(await refusal(TWO, { name: 'tow' })).toBe(
      'unknown workspace "tow"; did you mean "two"? | The project has 2 workspaces: one, two.',
    );
    expect(await refusal(ONE, { name: 'constructor' })).toContain('unknown workspace "constructor"');
  });

  it('uses the overrides of the environment', async () => {
    const env = {
      VOXFORM_BASE_URL: 'http://localhost:9',
      VOXFORM_WORKSPACE_ID: 'other',
      VOXFORM_API_KEY: 'from-env',
    };
    const workspace = await select(ONE, { env, requireKey: true });
    expect(workspace).toMatchObject({ baseUrl: 'http://localhost:9', workspaceId: 'other' });
    expect(workspace.apiKey.reveal()).toBe('from-env');
  });

  it('refuses overrides that are invalid in the project file', async () => {
    expect(await refusal(ONE, { env: { VOXFORM_BASE_URL: 'nowhere' } })).toContain('VOXFORM_BASE_URL: expected');
    expect(await refusal(ONE, { env: { VOXFORM_WORKSPACE_ID: '../x' } })).toContain('VOXFORM_WORKSPACE_ID: expected');
  });

  it.each([
    { reason: 'unchanged', spellings: ['https://x.example/eu'] },
    {
      reason: 'case, port, dots, slashes and empty parts',
      spellings: [
        'HTTPS://X.Example:443/eu/',
        'https://x.example:0443/./eu//',
        'https://x.example/us/../eu',
        'https://x.example./eu',
        'https://@x.example/eu?#',
      ],
    },
    { reason: 'encoded characters', spellings: ['https://x.example/%65%75', 'https://%78.example/e%75'] },
    {
      reason: 'forms of IPv4',
      same: 'http://127.0.0.1:4600',
      spellings: [
        'http://127.1:04600',
        'http://0x7f.1:4600/',
        'http://2130706433:4600',
        'http://127.0.0.1.:4600',
        'http://[::ffff:127.0.0.1]:4600',
      ],
    },
    { reason: 'forms of IPv6', same: 'http://[::1]', spellings: ['http://[0:0:0:0:0:0:0:1]:80/'] },
  ])('has one address in all spellings: $reason', async ({ spellings, same = 'https://x.example/eu' }) => {
    for (const url of spellings) {
      const settings = (base: string) => `workspaces: { one: { base_url: ${base}, workspace_id: w } }\n`;
      const inFile = await select(settings(JSON.stringify(url)));
      const inVariable = await select(settings('{ $env: BASE }'), { env: { BASE: url } });
      const overriding = await select(ONE, { env: { VOXFORM_BASE_URL: url } });
      for (const { baseUrl } of [inFile, inVariable, overriding]) expect([url, baseUrl]).toEqual([url, same]);
    }
  });

  it('has another address if a server may distinguish them', async () => {
    for (const url of ['https://x.example/EU', 'http://x.example/eu', 'https://x.example/e%2Fu/a//b'])
      expect((await select(ONE, { env: { VOXFORM_BASE_URL: url } })).baseUrl).toBe(url);
  });

  it('needs its key only for requests', async () => {
    expect(await refusal(ONE)).toBe('not refused');
    expect(await refusal(ONE, { requireKey: true })).toContain('KEY is not set in the environment or .env.');
    const listed = await refusal(`${ONE}secrets: [{ env_file: team.env }]\n`, { requireKey: true });
    expect(listed).toContain('KEY is not set in team.env.');
    expect(listed).not.toContain('secrets_dir');
    const withoutKey = ONE.replace(', api_key: { $secret: KEY }', '');
    expect(await refusal(withoutKey, { requireKey: true })).toContain('Set VOXFORM_API_KEY');
    expect(await refusal(ONE, { requireKey: true, env: { KEY: 'k' } })).toBe('not refused');
  });

  it('needs the variables of its settings only for requests', async () => {
    const text = ONE.replace('https://x.example', '{ $env: BASE }');
    expect(await refusal(text)).toBe('not refused');
    expect(await refusal(text, { requireKey: true, env: { KEY: 'k' } })).toContain('BASE');
    const env = { KEY: 'k', VOXFORM_BASE_URL: 'http://localhost:9' };
    expect(await refusal(text, { requireKey: true, env })).toBe('not refused');
  });
});
