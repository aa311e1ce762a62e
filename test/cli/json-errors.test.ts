import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { agentManifest, testWorkspace } from './workspace.ts';

const schema = path.resolve(import.meta.dirname, '../../schemas/error.schema.json');
const isErrorDocument = new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync(schema, 'utf8')));

/** Returns the error of the only document on stdout. */
function errorIn(stdout: string): Record<string, unknown> {
  const document: unknown = JSON.parse(stdout);
  expect(isErrorDocument(document), JSON.stringify(isErrorDocument.errors)).toBe(true);
  return (document as { readonly error: Record<string, unknown> }).error;
}

describe('a command with --output json that fails', () => {
  it.each([
    [['plan', '--output', 'json'], 1, /no voxform\.yaml/, /voxform init/, 'no project'],
    [['drift', '-o', 'json'], 1, /no voxform\.yaml/, /voxform init/, 'the short flag'],
    [['plan', '--output=json', '--taget', 'x'], 64, /--taget/, /--help/, 'a misspelt flag'],
    [['nosuch', '-o', 'json'], 64, /unknown command 'nosuch'/, /voxform --help/, 'an unknown command'],
    [['--output=json', 'nosuch'], 64, /--output/, /voxform --help/, 'an unknown command after its flag'],
    [['state', 'ls', '-ojson'], 64, /unknown command 'ls'/, /voxform state list/, 'an unknown subcommand'],
    [['nosuch', '--help', '--json'], 64, /unknown command 'nosuch'/, /--help/, 'help of an unknown command'],
    [['fmt', '-o', 'json'], 64, /'-o'/, /fmt --help/, 'a command without JSON'],
    [['plan', '--json', '-destroy'], 64, /-destroy/, /cannot delete/, 'a flag of another tool'],
    [
      ['state', 'list', '--output', 'json', 'more'],
      64,
      /too many arguments/,
      /state list --help/,
      'an unexpected argument',
    ],
    [['plan', '--concurrency', '0', '--output', 'json'], 64, /whole number/, /--help/, 'a bad value'],
    [['status', '--output', 'json', '-w', 'a', '-C', '/nowhere/at/all'], 1, /nowhere/, /-C DIR/, 'no folder'],
  ] as const)('prints one JSON error, and its message on stderr: %j', async (...[args, exit, message, hint]) => {
    await using folder = await temporaryFolder();
    const { code, stdout, stderr } = await command(args, { cwd: folder.root });
    expect(code).toBe(exit);
    expect(errorIn(stdout)).toEqual({
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
      exit_code: exit,
      diagnostics: [],
    });
    expect(stderr).toMatch(/^error: /);
  });

  it('lists the diagnostics of manifests', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('a').replace('prompt:', 'promt:'),
    });
    const { code, stdout, stderr } = await workspace.run('plan', '--output', 'json');
    expect(code).toBe(1);
    expect(errorIn(stdout)).toMatchObject({
      message: '1 error in the project',
      exit_code: 1,
      diagnostics: [{ severity: 'error', file: 'manifests/a.yaml', line: 8, column: 5 }],
    });
    expect(stderr).toContain('manifests/a.yaml:8:5');
  });

  it('names the rejected request', async () => {
    await using workspace = await testWorkspace({ 'manifests/n.yaml': NUMBER }, { apiKey: 'another key' });
    const { code, stdout } = await workspace.run('plan', '--output', 'json');
    expect(code).toBe(1);
    expect(errorIn(stdout)).toMatchObject({ request: { method: 'GET', reason: 'status', status: 401 } });
    expect(stdout).not.toContain('key-of-the-test-workspace');
  });

  it('names the reason why an apply wrote nothing', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const { code, stdout } = await workspace.run('apply', '--output', 'json');
    expect(code).toBe(1);
    expect(errorIn(stdout)).toMatchObject({ message: expect.stringMatching(/\S/), exit_code: 1 });
    expect(workspace.writes()).toBe(0);
  });

  it('adds no error to a document that contains the problems', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('a').replace('prompt:', 'promt:'),
    });
    const { code, stdout } = await workspace.run('validate', '--output', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ valid: false, errors: 1 });
  });

  it('prints no JSON without --output json', async () => {
    await using folder = await temporaryFolder();
    const { stdout } = await command(['plan'], { cwd: folder.root });
    expect(stdout).toBe('');
  });
});

describe('an emulator that does not run', () => {
  it('is named in a hint without retries', async () => {
    await using workspace = await testWorkspace({ 'manifests/n.yaml': NUMBER });
    await workspace.emulator.close();
    const { code, stdout, stderr } = await workspace.run('plan', '-v', '--output', 'json');
    expect(code).toBe(1);
    const start = `\`voxform emulator --port ${new URL(workspace.emulator.url).port}\``;
    expect(errorIn(stdout)).toMatchObject({ hint: expect.stringContaining(start) });
    expect(stderr.replace(/\s+/g, ' ')).toContain(start);
    expect(stderr).not.toContain('tries');
  });
});

const NUMBER = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: main }
spec: { number: "+12025550120" }
`;
