import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { command } from '../trust/in-process.ts';
import { start, temporaryFolder, voxform } from './voxform-process.ts';
import { agentManifest, testWorkspace } from './workspace.ts';

describe('wrong usage', () => {
  it.each([
    [[], 'Usage: voxform', 'no command'],
    [['pln'], 'did you mean "plan"?', 'a misspelt command'],
    [['plan', '--detailed-exitcod'], 'did you mean "--detailed-exitcode"?', 'a misspelt flag'],
    [['plan', '--output', 'xml'], 'Expected one of text, json', 'an unknown format'],
    [['plan', '--output', 'jsn'], 'did you mean "json"?', 'a misspelt format'],
    [['completion', 'fihs'], 'did you mean "fish"?', 'a misspelt argument'],
    [['state', 'lsit'], 'voxform state --help', 'a misspelt command of a group'],
    [['help', 'pln'], 'did you mean "plan"?', 'help of a misspelt command'],
    [['versions', 'Agent/a', '--diff', 'pub'], 'published or a whole number', 'an invalid version'],
    [['plan', '--concurrency', '0'], 'whole number', 'a concurrency of 0'],
    [['plan', '--concurrency', '257'], 'auto or a whole number between 1 and 256', 'a concurrency above the maximum'],
    [['plan', '--concurrency', 'fast'], 'auto or a whole number', 'a word as concurrency'],
    [['plan', '--target', 'support-line'], 'Kind/name', 'an address without a kind'],
    [['plan', '--selector', 'team'], 'team=support', 'a label without a value'],
    [['apply', 'a.plan', 'b.plan'], 'too many arguments', 'two plans'],
    [['import', 'Agent/x'], 'import needs ADDRESS and ID', 'an import without an id'],
    [['import', 'Agnet/x', '1'], 'did you mean "Agent"?', 'a misspelt kind'],
    [['state', 'resolve', 'Agent/x'], '--not-created', 'a resolve without its outcome'],
    [['emulator', '--api-key', ''], 'Expected a text that is not empty', 'an empty value'],
    [
      ['emulator', '--behaviour', '{"putt":1}'],
      '--behaviour: unknown setting putt; did you mean "put"?',
      'an unknown setting',
    ],
    [
      ['emulator', '--behaviour', '{"shows":{"x":1}}'],
      '--behaviour: shows: unknown setting x',
      'an unknown nested setting',
    ],
    [['schema', 'agnet'], 'did you mean "agent"?', 'a misspelt schema'],
  ])('%j', async (args, message) => {
    await using folder = await temporaryFolder();
    const { code, stdout, stderr } = await command(args, { cwd: folder.root });
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr.replace(/\s+/g, ' ')).toContain(message);
  });
});

describe('an unknown address', () => {
  it.each([
    ['plan', '--target', 'Agent/nope'],
    ['plan', '--target', 'Webhook/*'],
    ['apply', '--target', 'Agent/nope'],
    ['apply', '--allow-recreate', 'Agent/nope'],
    ['apply', '--allow-replace', 'Agent/nope'],
    ['drift', '--target', 'Agent/nope'],
    ['status', '--target', 'Agent/nope'],
    ['accept', 'Agent/nope'],
    ['graph', 'Agent/nope'],
    ['versions', 'Agent/nope'],
    ['get', 'agents', 'Agent/nope'],
    ['state', 'show', 'Agent/nope'],
    ['state', 'mv', 'Agent/nope', 'Agent/other'],
    ['state', 'rm', 'Agent/nope'],
  ])('is wrong usage and sends no request: %j', async (...args) => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const { code, stderr } = await workspace.run(...args);
    expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringMatching(/Agent\/nope|Webhook\/\*/) });
    expect(workspace.emulator.requests).toEqual([]);
  });
});

describe('help and version', () => {
  it.each([['--help'], ['plan', '--help'], ['help', 'apply'], ['state', 'resolve', '--help']])(
    'prints help on stdout: %s %s',
    async (...args) => {
      await using folder = await temporaryFolder();
      const { code, stdout, stderr } = await command(args.filter(Boolean), { cwd: folder.root });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^Usage: voxform/);
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    },
  );

  it('prints the version alone', async () => {
    await using folder = await temporaryFolder();
    const { code, stdout } = await voxform(['--version'], { cwd: folder.root });
    expect({ code, stdout: stdout.trim() }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
  });
});

describe('a result that cannot be written', () => {
  it.each(['--version', '--help', 'schema'])(
    'is an error if the disk is full, and no error if the reader is gone: %s',
    async (word) => {
      await using folder = await temporaryFolder();
      await using full = await open('/dev/full', 'w');
      await using started = start([word], { cwd: folder.root, stdout: full.fd });
      expect(await started.ended).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^error: cannot write .*ENOSPC/),
      });
      await using closed = start([word], { cwd: folder.root });
      closed.child.stdout?.destroy();
      expect(await closed.ended).toMatchObject({ code: 0, stderr: '' });
    },
  );
});

describe('failures that a person can fix', () => {
  it('a missing project file has a hint to voxform init', async () => {
    await using folder = await temporaryFolder();
    const { code, stderr } = await voxform(['plan'], { cwd: folder.root });
    expect(code).toBe(1);
    expect(stderr).toMatch(/no voxform\.yaml[\s\S]*voxform init/);
  });

  it('problems in manifests are reported with their location and without a key', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('a').replace('prompt:', 'promt:'),
      'manifests/b.yaml': agentManifest('b').replace('kind: Agent', 'kind: Agnet'),
    });
    const { code, stdout } = await workspace.runWith({ VOXFORM_API_KEY: '' }, 'validate');
    expect(code).toBe(1);
    expect(stdout).toMatch(/manifests\/a\.yaml:8:5 .*"promt".*"prompt"[\s\S]*manifests\/b\.yaml:2:7 .*"Agent"/);
    expect(workspace.emulator.requests).toEqual([]);
  });

  it('an invalid manifest prevents every request', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('a'),
      'manifests/b.yaml': agentManifest('b').replace('spec:', 'spce:'),
    });
    const { code, stdout, stderr } = await workspace.run('apply', '--auto-approve');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('manifests/b.yaml:');
    expect(workspace.emulator.requests).toEqual([]);
  });

  it('a missing key is reported with the name of its secret', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const { code, stderr } = await workspace.runWith({ VOXFORM_API_KEY: '' }, 'plan');
    expect(code).toBe(1);
    expect(stderr).toContain('VOXFORM_API_KEY');
  });

  it('a failed connection is one message', async () => {
    await using workspace = await testWorkspace({ 'manifests/n.yaml': NUMBER });
    await workspace.emulator.close();
    const { code, stdout, stderr } = await workspace.run('plan');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: .*connect/);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it.each([
    ['apply', ['apply', '--auto-approve']],
    ['import', ['import', 'PhoneNumber/main', '01NOTHERE0000000000000000A']],
  ])('an unusable address is reported before the state is locked: %s', async (_, args) => {
    await using workspace = await testWorkspace({ 'manifests/n.yaml': NUMBER });
    const { code, stderr } = await workspace.runWith({ VOXFORM_BASE_URL: `${workspace.emulator.url}/api/v1` }, ...args);
    expect(code).toBe(1);
    expect(stderr).toContain('ends in /api/v1');
    expect(existsSync(path.join(workspace.folder.root, '.voxform'))).toBe(false);
  });

  it('a rejected key is reported and never printed', async () => {
    await using workspace = await testWorkspace({ 'manifests/n.yaml': NUMBER }, { apiKey: 'another key' });
    const { code, stderr } = await workspace.run('plan');
    expect(code).toBe(1);
    expect(stderr).toMatch(/401/);
    expect(stderr).not.toContain('key-of-the-test-workspace');
  });
});

const NUMBER = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: main }
spec: { number: "+12025550120" }
`;
