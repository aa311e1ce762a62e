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
    [['plan', '--output', 'xml'], 'Expected one of text, json', 'a form that does not exist'],
    [['plan', '--output', 'jsn'], 'did you mean "json"?', 'a misspelt form'],
    [['completion', 'fihs'], 'did you mean "fish"?', 'a misspelt argument'],
    [['state', 'lsit'], 'voxform state --help', 'a misspelt command of a group'],
    [['help', 'pln'], 'did you mean "plan"?', 'help of a misspelt command'],
    [['versions', 'Agent/a', '--diff', 'pub'], 'published or a whole number', 'no version'],
    [['plan', '--concurrency', '0'], 'whole number', 'no concurrency'],
    [['plan', '--concurrency', '257'], 'auto or a whole number between 1 and 256', 'more than anybody needs'],
    [['plan', '--concurrency', 'fast'], 'auto or a whole number', 'a word as concurrency'],
    [['plan', '--target', 'support-line'], 'Kind/name', 'an address without a kind'],
    [['plan', '--selector', 'team'], 'team=support', 'a label without a value'],
    [['apply', 'a.plan', 'b.plan'], 'too many arguments', 'two plans'],
    [['import', 'Agent/x'], 'import needs ADDRESS and ID', 'an import without an id'],
    [['import', 'Agnet/x', '1'], 'did you mean "Agent"?', 'a misspelt kind'],
    [['state', 'resolve', 'Agent/x'], '--not-created', 'a resolve without its answer'],
    [['emulator', '--api-key', ''], 'Expected a text that is not empty', 'an unset variable'],
    [['emulator', '--behaviour', '{"putt":1}'], '--behaviour: unknown setting putt; did you mean "put"?', 'a switch'],
    [['emulator', '--behaviour', '{"shows":{"x":1}}'], '--behaviour: shows: unknown setting x', 'an inner switch'],
    [['schema', 'agnet'], 'did you mean "agent"?', 'a misspelt schema'],
  ])('%j', async (args, message) => {
    await using folder = await temporaryFolder();
    const { code, stdout, stderr } = await command(args, { cwd: folder.root });
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr.replace(/\s+/g, ' ')).toContain(message);
  });
});

describe('an address that nothing has', () => {
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
  ])('is wrong usage, and nothing is sent: %j', async (...args) => {
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
    'is an error where the disk is full, and none where the reader left: %s',
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

describe('failures that a person can mend', () => {
  it('says how to make a project where there is none', async () => {
    await using folder = await temporaryFolder();
    const { code, stderr } = await voxform(['plan'], { cwd: folder.root });
    expect(code).toBe(1);
    expect(stderr).toMatch(/no voxform\.yaml[\s\S]*voxform init/);
  });

  it('reports every problem in the manifests at its place, and needs no key for it', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('a').replace('prompt:', 'promt:'),
      'manifests/b.yaml': agentManifest('b').replace('kind: Agent', 'kind: Agnet'),
    });
    const { code, stdout } = await workspace.runWith({ VOXFORM_API_KEY: '' }, 'validate');
    expect(code).toBe(1);
    expect(stdout).toMatch(/manifests\/a\.yaml:8:5 .*"promt".*"prompt"[\s\S]*manifests\/b\.yaml:2:7 .*"Agent"/);
    expect(workspace.emulator.requests).toEqual([]);
  });

  it('sends nothing while a manifest is wrong', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('a'),
      'manifests/b.yaml': agentManifest('b').replace('spec:', 'spce:'),
    });
    const { code, stdout, stderr } = await workspace.run('apply', '--auto-approve');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('manifests/b.yaml:');
    expect(workspace.emulator.requests).toEqual([]);
  });

  it('names the secret that holds the key when it is not set', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const { code, stderr } = await workspace.runWith({ VOXFORM_API_KEY: '' }, 'plan');
    expect(code).toBe(1);
    expect(stderr).toContain('VOXFORM_API_KEY');
  });

  it('says in one message that nothing answers', async () => {
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
  ])('takes no lock for an address that no request can reach: %s', async (_, args) => {
    await using workspace = await testWorkspace({ 'manifests/n.yaml': NUMBER });
    const { code, stderr } = await workspace.runWith({ VOXFORM_BASE_URL: `${workspace.emulator.url}/api/v1` }, ...args);
    expect(code).toBe(1);
    expect(stderr).toContain('ends in /api/v1');
    expect(existsSync(path.join(workspace.folder.root, '.voxform'))).toBe(false);
  });

  it('says that the key was refused, and never shows it', async () => {
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
