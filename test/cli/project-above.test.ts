import { chown, mkdir, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { withEnvFile } from '../../src/project/env-file.ts';
import { findProjectFolder } from '../../src/project/find-project.ts';
import { Remote } from '../operator/git-remote.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { API_KEY, agentManifest, projectFile, testWorkspace } from './workspace.ts';

async function belowIn(root: string): Promise<string> {
  const below = path.join(await realpath(root), 'manifests', 'deep');
  await mkdir(below, { recursive: true });
  return below;
}

describe('a command in a subfolder of the project', () => {
  it('uses the project above, prints a note, and keeps the state in the project folder', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const cwd = await belowIn(workspace.folder.root);
    await mkdir(path.join(cwd, '.git'));
    const env = { VOXFORM_API_KEY: API_KEY };
    const applied = await command(['apply', '-y'], { cwd, env });
    expect(applied.code).toBe(0);
    const root = await realpath(workspace.folder.root);
    expect(applied.stderr.split(`Using project ${root}`)).toHaveLength(2);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
  });

  it('prints no note with -q or in the project folder', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const cwd = await belowIn(workspace.folder.root);
    expect((await command(['validate', '-q'], { cwd })).stderr).toBe('');
    expect((await workspace.run('validate')).stderr).toBe('');
  });

  it('resolves paths of the command line, and prints paths of manifests, relative to the current folder', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const cwd = await belowIn(workspace.folder.root);
    const env = { VOXFORM_API_KEY: API_KEY };
    expect((await command(['plan', '-out', 'a.plan'], { cwd, env })).code).toBe(0);
    expect((await workspace.run('apply', 'manifests/deep/a.plan', '-y')).code).toBe(0);
    await workspace.folder.write('manifests/b.yaml', agentManifest('b').replace('prompt:', 'promt:'));
    expect((await command(['validate'], { cwd })).stdout).toMatch(/^\.\.\/b\.yaml:8:5 /);
    expect((await command(['plan'], { cwd, env })).stderr).toMatch(/^\.\.\/b\.yaml:8:5 /m);
    const json = await command(['validate', '--json'], { cwd });
    expect(JSON.parse(json.stdout).diagnostics[0].file).toBe('manifests/b.yaml');
  });

  it.each(['GITHUB_WORKSPACE', 'CI_PROJECT_DIR'])(
    'prints paths relative to the root of a checkout, %s',
    async (variable) => {
      await using workspace = await testWorkspace({
        'voices/manifests/a.yaml': agentManifest('a'),
        'voices/broken/manifests/b.yaml': agentManifest('b').replace('prompt:', 'promt:'),
      });
      const { root } = workspace.folder;
      const file = projectFile(workspace.emulator);
      await workspace.folder.write('voices/voxform.yaml', file);
      await workspace.folder.write('voices/broken/voxform.yaml', file);
      const run = async (folder: string, ...args: string[]) => {
        const env = { VOXFORM_API_KEY: API_KEY, [variable]: root };
        return (await command(args, { cwd: path.join(root, folder), env })).stdout;
      };
      const invalid = await run('voices/broken', 'validate', '--output', 'github');
      expect(invalid).toContain('::error file=voices/broken/manifests/b.yaml,line=8');
      const junit = await run('voices/broken', 'validate', '--output', 'junit');
      expect(junit).toContain(' file="voices/broken/manifests/b.yaml"');
      const planned = await run('voices', 'plan', '--output', 'github', '--out', 'a.plan');
      expect(planned).toContain('::notice file=voices/manifests/a.yaml,line=1');
      expect(await run('voices', 'show', 'a.plan', '--output', 'github')).toBe(planned);
      expect(await run('voices', 'validate', '--output', 'text')).toContain('Valid');
    },
  );

  it('searches no other folder with -C', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const cwd = await belowIn(workspace.folder.root);
    const { code, stderr } = await command(['validate', '-C', '.'], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain('no voxform.yaml');
    const file = await command(['validate', '-C', 'voxform.yaml'], { cwd: workspace.folder.root });
    expect(file).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot open the folder') });
  });

  it('does not search above the home folder', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const cwd = await belowIn(workspace.folder.root);
    const from = (HOME: string) => command(['validate'], { cwd, env: { HOME } });
    expect((await from(path.dirname(cwd))).code).toBe(1);
    expect((await from(workspace.folder.root)).code).toBe(0);
  });

  it('creates a project in the current folder with init', async () => {
    await using workspace = await testWorkspace({});
    const cwd = await belowIn(workspace.folder.root);
    const { code, stdout, stderr } = await command(['init'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('created  voxform.yaml');
  });
});

describe('a project above that belongs to another user', () => {
  it('is refused unless its folder is specified', async () => {
    await using workspace = await testWorkspace({});
    const { root } = workspace.folder;
    const from = await belowIn(root);
    const file = path.join(root, 'voxform.yaml');
    // Files of root are trusted by every user.
    if (process.getuid?.() === 0) await chown(file, 4321, 4321);
    const user = (await stat(file)).uid;
    const message = `${file} belongs to another user`;
    expect(() => findProjectFolder({ from, home: undefined, user: user + 1 })).toThrow(message);
    expect(findProjectFolder({ from, home: undefined, user })).toBe(root);
    expect(findProjectFolder({ from: root, home: undefined, user: user + 1 })).toBe(root);
  });
});

describe('commands that read the project from a subfolder', () => {
  it('include completion', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('support') });
    const cwd = await belowIn(workspace.folder.root);
    const words = ['=accept', '=Agent/'];
    const { stdout } = await command(['completion', 'bash', '--complete', ...words], { cwd });
    expect(stdout).toContain('Agent/support');
  });

  it('include watch, with the .env file of the project', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('support'),
      '.env': `VOXFORM_API_KEY=${API_KEY}\n`,
    });
    const cwd = await belowIn(workspace.folder.root);
    const watched = await command(['watch', '--mode', 'apply', '--auto-approve'], { cwd, until: /created/ });
    expect(watched, watched.stderr).toMatchObject({ code: 0 });
    expect(workspace.emulator.world.agents.size).toBe(1);
    expect(await readdir(path.join(workspace.folder.root, '.voxform'))).toContain('test.state.json');
  });
});

describe('voxform.yml', () => {
  it('is a project file', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yml': agentManifest('a') });
    await using folder = await temporaryFolder({
      'voxform.yml': projectFile(workspace.emulator),
      'manifests/a.yml': agentManifest('a'),
    });
    const { code, stdout } = await command(['validate'], { cwd: folder.root });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Valid: 1 Agent in 1 file.\n' });
    await folder.write('voxform.yml', 'version: 1\nworkspace: {}\n');
    expect((await command(['validate'], { cwd: folder.root })).stdout).toMatch(/^voxform\.yml:\d/);
  });

  it('is refused together with a voxform.yaml', async () => {
    await using workspace = await testWorkspace({ 'voxform.yml': 'version: 1\n' });
    const { code, stderr } = await workspace.run('validate');
    expect(code).toBe(1);
    expect(stderr.replace(/\s+/g, ' ')).toContain('two project files, voxform.yaml and voxform.yml');
  });
});

describe('.env', () => {
  it('sets variables that are not set, and is ignored with --no-env-file', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('a'),
      '.env': `# the key\nexport VOXFORM_API_KEY='${API_KEY}'\n\nOTHER="two\nlines"\n`,
    });
    const cwd = await belowIn(workspace.folder.root);
    const { code, stdout, stderr } = await command(['plan'], { cwd });
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(API_KEY);
    const without = await command(['plan', '--no-env-file'], { cwd });
    expect(without.code).toBe(1);
    expect(without.stderr).toContain('VOXFORM_API_KEY');
  });

  it('does not override a variable, even an empty one', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('a'),
      '.env': 'VOXFORM_API_KEY=of the file\nVOXFORM_BASE_URL=http://127.0.0.1:1\n',
    });
    const { url } = workspace.emulator;
    expect((await workspace.runWith({ VOXFORM_BASE_URL: url }, 'plan')).code).toBe(0);
    const empty = await workspace.runWith({ VOXFORM_BASE_URL: url, VOXFORM_API_KEY: '' }, 'plan');
    expect(empty.stderr).toContain('VOXFORM_API_KEY');
  });

  it.each([
    ['GOOD=1\nsecret-without-a-name\n', '.env:2: expected NAME=value', 'a line without an assignment'],
    [Buffer.from('A=1\nB=\xff', 'latin1'), '.env:2: the file is not valid UTF-8', 'invalid UTF-8'],
    ['A'.repeat(1_100_000), 'more than 1 MiB', 'a file that is too large'],
  ])('is reported with the line of the error, without its content', async (text, message, _reason) => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    await writeFile(path.join(workspace.folder.root, '.env'), text);
    const { code, stderr } = await workspace.run('plan');
    expect(code).toBe(1);
    expect(stderr.replace(/\s+/g, ' ')).toContain(message);
    expect(stderr.replace(/\s+/g, ' ')).toContain('--no-env-file');
    expect(stderr).not.toContain('secret-without-a-name');
    expect((await workspace.run('plan', '--no-env-file')).code).toBe(0);
  });

  it('does not set variables that configure programs', async () => {
    const read = withEnvFile(await envFolder('GIT_SSH_COMMAND=x\nhttps_proxy=x\nNODE_OPTIONS=x\nGOOD=1\n'), {});
    expect({ ...read }).toEqual({ GOOD: '1' });
  });
});

async function envFolder(text: string): Promise<string> {
  const folder = await temporaryFolder({ '.env': text });
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return folder.root;
}

describe('watch --git', () => {
  it('ignores .env files, both in its folder and in the repository', async () => {
    await using workspace = await testWorkspace({});
    using remote = new Remote();
    const env = `VOXFORM_API_KEY=${API_KEY}\n`;
    await writeFile(path.join(remote.watched, '.env'), env);
    remote.push({ 'voxform.yaml': projectFile(workspace.emulator), '.env': env });
    const watched = await command(['watch', '--git', remote.bare], {
      cwd: remote.watched,
      env: { PATH: process.env.PATH ?? '', HOME: remote.root },
      until: /VOXFORM_API_KEY/,
    });
    expect(watched.stderr).toContain('VOXFORM_API_KEY');
    expect(workspace.emulator.requests).toEqual([]);
  });
});

describe('validate --secrets', () => {
  it('reports the secrets of a webhook of notify', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('a') });
    const notify = `notify:
  - url: { $secret: CHAT_HOOK }
    secret_header: { name: X-Token, value: { $env: HOOK_TOKEN } }
`;
    await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator, notify));
    expect((await workspace.run('validate')).code).toBe(0);
    const { code, stdout } = await workspace.run('validate', '--secrets');
    expect(code).toBe(1);
    expect(stdout).toMatch(/voxform\.yaml:8:10 .*CHAT_HOOK[\s\S]*voxform\.yaml:9:\d+ .*HOOK_TOKEN/);
    const env = { CHAT_HOOK: 'http://127.0.0.1:1/x', HOOK_TOKEN: 't' };
    expect((await workspace.runWith(env, 'validate', '--secrets')).code).toBe(0);
  });

  it.each([
    ['validate --secrets', {}, ['5:15 .*STAGE_URL', '6:19 .*STAGE_ID', '7:14 .*STAGE_KEY'], 'none is set'],
    [
      'validate --secrets -w staging',
      { STAGE_URL: '', STAGE_ID: '', STAGE_KEY: '' },
      ['5:15', '6:19', '7:14'],
      'all are empty',
    ],
    [
      'validate --secrets -w staging',
      { VOXFORM_BASE_URL: 'http://127.0.0.1:1', VOXFORM_API_KEY: 'k' },
      ['6:19'],
      'two are overridden',
    ],
    ['validate --secrets -w production', {}, ['10:14 .*PROD_KEY'], 'another workspace'],
    [
      'validate --secrets --all-workspaces',
      { PROD_KEY: 'k', STAGE_KEY: 'k', STAGE_URL: 'http://127.0.0.1:1' },
      ['6:19'],
      'all of them',
    ],
    ['validate --secrets', { STAGE_KEY: 'k', STAGE_URL: 'http://127.0.0.1:1', STAGE_ID: '01J' }, [], 'all are set'],
    ['validate', {}, [], 'without --secrets'],
  ])('reports the missing variables of a workspace: %s', async (words, env, expected, _reason) => {
    await using folder = await temporaryFolder({
      'manifests/a.yaml': agentManifest('a'),
      'voxform.yaml': `version: 1
default_workspace: staging
workspaces:
  staging:
    base_url: { $env: STAGE_URL }
    workspace_id: { $env: STAGE_ID }
    api_key: { $secret: STAGE_KEY }
  production:
    base_url: https://platform.example.com
    api_key: { $env: PROD_KEY }
    workspace_id: 01JPRODUCTION
`,
    });
    const { code, stdout } = await command(words.split(' '), { cwd: folder.root, env });
    expect(code).toBe(expected.length === 0 ? 0 : 1);
    const found = stdout.match(/^voxform\.yaml:\d+:\d+.*/gm) ?? [];
    expect(found).toEqual(expected.map((each) => expect.stringMatching(`^voxform\\.yaml:${each}`)));
  });
});
