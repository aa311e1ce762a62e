/** @module-tag long */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { beginRepository } from '../../hosting/bare-repository.ts';
import { connectProxy } from '../../platform/connect-proxy.ts';
import { temporaryFolder } from '../voxform-process.ts';
import { API_KEY, agentManifest, projectFile, type TestWorkspace, testWorkspace } from '../workspace.ts';
import { TestAssistant } from './test-assistant.ts';

const FILE = 'manifests/day.yaml';
const KEY = 'sk-key-of-the-provider';
const AGENT = agentManifest('day').replace(
  '  prompt_config:',
  '  llm_config: { model: gpt, api_key: { $secret: LLM } }\n  prompt_config:',
);
/** A script that leaves a marker file when it runs. */
const HOSTILE = 'touch "$PROJECT/ran"\n';

async function withSecrets(secrets: string, files: Readonly<Record<string, string>>): Promise<TestWorkspace> {
  const workspace = await testWorkspace({ [FILE]: AGENT, ...files });
  await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator, `    secrets: ${secrets}\n`));
  return workspace;
}

function hasRun({ folder }: Pick<TestWorkspace, 'folder'>): boolean {
  return existsSync(path.join(folder.root, 'ran'));
}

describe('files that change while voxform mcp runs', () => {
  it.each([
    { secrets: '[environment, { command: [sh, -c, "sh x.sh {name}"] }]', reason: 'a shell that names the file' },
    { secrets: '[environment, { command: [sh, x.sh, "{name}"] }]', reason: 'an argument' },
    { secrets: '[environment, { command: [./x.sh, "{name}"] }]', reason: 'the program' },
  ])('are never run as a secret command: $reason', async ({ secrets }) => {
    await using workspace = await withSecrets(secrets, { 'x.sh': `#!/bin/sh\necho ${KEY}\n` });
    const { folder } = workspace;
    execFileSync('chmod', ['+x', path.join(folder.root, 'x.sh')]);
    await using assistant = await TestAssistant.open(workspace, { env: { PROJECT: folder.root } });
    await folder.write('x.sh', `#!/bin/sh\n${HOSTILE}echo ${KEY}\n`);
    for (const name of ['plan', 'drift', 'status', 'history']) await assistant.result(name);
    expect(await assistant.result('get', { type: 'users' })).toHaveProperty('result.records');
    await folder.write(FILE, AGENT.replace('LLM', 'OTHER'));
    expect(await assistant.error('plan')).toMatchObject({
      diagnostics: [{ message: expect.stringMatching(/OTHER.*restart/) }],
    });
    expect(hasRun(workspace)).toBe(false);
  });

  it('are not run for another workspace whose secrets were not read', async () => {
    await using workspace = await testWorkspace({ [FILE]: AGENT, 'x.sh': `echo ${API_KEY}` });
    const { folder, emulator } = workspace;
    const other = `  other:\n    base_url: ${emulator.url}\n    workspace_id: 01JOTHER000000000000000000\n`;
    await folder.write('voxform.yaml', projectFile(emulator, `${other}secrets: [{ command: [sh, x.sh, "{name}"] }]\n`));
    const starting = { args: ['-w', 'other'], env: { PROJECT: folder.root, VOXFORM_API_KEY: '' } };
    await using assistant = await TestAssistant.open(workspace, starting);
    await folder.write('x.sh', HOSTILE);
    const { message } = await assistant.error('plan', { workspace: 'test' });
    expect(message).toContain('the secret VOXFORM_API_KEY was not read when this server started: restart the server');
    expect(hasRun(workspace)).toBe(false);
  });

  it('reveal no variable that they did not reference before', async () => {
    const naming = (name: string) =>
      agentManifest('day').replace('spec:\n  name: day', `spec:\n  name: { $env: ${name} }`);
    // Without this limit, a rule could reveal a value letter by letter.
    const rule = `policies: [{ name: r, kind: Agent, message: told, deny: 'spec.name.startsWith("north") || spec.name.startsWith("k")' }]\n`;
    await using workspace = await testWorkspace({ [FILE]: naming('REGION') });
    const { folder, emulator } = workspace;
    const project = (more = '') => projectFile(emulator, more).replace('$secret: VOXFORM_API_KEY', '$env: THE_KEY');
    await folder.write('voxform.yaml', project());
    const env = { REGION: 'north', OTHER_TOKEN: 'k-of-the-person', THE_KEY: API_KEY };
    await using assistant = await TestAssistant.open(workspace, { env });
    expect(JSON.stringify(await assistant.result('plan'))).toContain('north');
    await folder.write('voxform.yaml', project(rule));
    expect((await assistant.result('validate')).result).toMatchObject({ errors: 1 });
    for (const name of ['THE_KEY', 'OTHER_TOKEN']) {
      await folder.write(FILE, naming(name));
      expect((await assistant.result('validate')).result).toMatchObject({ errors: 0 });
      const { diagnostics } = await assistant.error('plan');
      expect(JSON.stringify(diagnostics)).toContain(
        `the environment variable ${name} was not used by any $env when this server started; restart the server`,
      );
    }
  });

  it('may add a workspace for which this person has no key', async () => {
    await using workspace = await testWorkspace({ [FILE]: agentManifest('day') });
    const { folder, emulator } = workspace;
    const other = `  other:\n    base_url: ${emulator.url}\n    workspace_id: 01JOTHER000000000000000000\n    api_key: { $secret: OTHER_KEY }\n`;
    await folder.write('voxform.yaml', projectFile(emulator, `${other}default_workspace: test\n`));
    await using assistant = await TestAssistant.open(workspace);
    expect((await assistant.result('plan')).result).toMatchObject({ summary: { create: 1 } });
  });

  it('still validate after a secret command failed at startup', async () => {
    await using workspace = await withSecrets('[environment, { command: [sh, x.sh, "{name}"] }]', { 'x.sh': 'exit 3' });
    await using assistant = await TestAssistant.open(workspace);
    expect((await assistant.result('validate')).result).toMatchObject({ valid: true });
    await workspace.folder.write('x.sh', `echo ${KEY}`);
    for (const name of ['plan', 'status']) {
      expect(await assistant.error(name)).toMatchObject({
        message: expect.stringContaining('exit code 3'),
        hint: expect.stringContaining('restart'),
      });
    }
  });

  it('cannot make Git run a program or move the state', async () => {
    await using workspace = await testWorkspace({ [FILE]: agentManifest('day'), '.gitignore': 'ran\nbin\n' });
    const { folder, emulator } = workspace;
    const { root } = folder;
    await using remote = await temporaryFolder();
    await using proxy = await connectProxy(Number(new URL(emulator.url).port));
    beginRepository(remote.root, '[core]\n\tbare = true\n');
    const config = `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${remote.root}\n`;
    beginRepository(path.join(root, '.git'), config);
    // For an address on loopback, the commit of the last apply is not compared.
    const far = { ...emulator, url: 'http://voice.example.com' };
    await folder.write('voxform.yaml', projectFile(far, '    state: { backend: git }\n'));
    const git = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];
    const commit = (name: string) => {
      execFileSync('git', [...git, 'add', '-A'], { cwd: root });
      execFileSync('git', [...git, 'commit', '-q', '--allow-empty', '-m', name], { cwd: root });
    };
    commit('first');
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, PROJECT: root };
    expect((await workspace.runWith(env, 'state', 'init')).code).toBe(0);
    expect((await workspace.runWith(env, 'apply', '--auto-approve')).code).toBe(0);
    commit('second');

    await mkdir(path.join(root, 'bin'));
    const bin = path.join(root, 'bin');
    await using assistant = await TestAssistant.open(workspace, {
      env: { ...env, PATH: `${bin}:${process.env.PATH}` },
    });
    const program = path.join(root, 'hostile.sh');
    await folder.write('hostile.sh', `#!/bin/sh\n${HOSTILE}exit 1\n`);
    execFileSync('chmod', ['+x', program]);
    await symlink(program, path.join(bin, 'git'));
    await folder.write('.gitattributes', '* filter=hostile\n');
    await folder.write(
      '.git/config',
      `[core]\n\tbare = false\n\tfsmonitor = ${program}\n\tsshCommand = ${program}\n[remote "origin"]\n\turl = /nowhere\n\tuploadpack = ${program}\n[filter "hostile"]\n\tclean = ${program}\n\trequired = true\n[credential]\n\thelper = ${program}\n`,
    );
    await folder.write(FILE, agentManifest('day', 'Be brief.'));
    expect((await assistant.result('plan')).result).toMatchObject({ summary: { update: 1 } });
    for (const name of ['drift', 'status', 'history']) await assistant.result(name);
    expect(hasRun(workspace)).toBe(false);
  });

  it("are not read with Git if the repository's own settings name a program", async () => {
    await using workspace = await testWorkspace({ [FILE]: agentManifest('day') });
    const { folder, emulator } = workspace;
    const config = `[remote "origin"]\n\turl = ssh://git.example.com/x\n[core]\n\tsshCommand = ./ssh.sh\n`;
    beginRepository(path.join(folder.root, '.git'), `[core]\n\tbare = false\n${config}`);
    await folder.write('voxform.yaml', projectFile(emulator, '    state: { backend: git }\n'));
    await folder.write('ssh.sh', `#!/bin/sh\n${HOSTILE}`);
    execFileSync('chmod', ['+x', path.join(folder.root, 'ssh.sh')]);
    await using assistant = await TestAssistant.open(workspace, { env: { PROJECT: folder.root } });
    expect(await assistant.error('plan')).toMatchObject({
      message: expect.stringContaining('core.sshcommand'),
      hint: expect.stringContaining('--global'),
    });
    expect(hasRun(workspace)).toBe(false);
  });

  it.each([
    { before: undefined, reason: 'a new project' },
    { before: 'version: [', reason: 'a project file that was not valid' },
  ])('cannot send the key to $reason', async ({ before }) => {
    await using workspace = await testWorkspace({ [FILE]: agentManifest('day') });
    const { emulator } = workspace;
    await using folder = await temporaryFolder({ ...(before && { 'voxform.yaml': before }) });
    await using assistant = await TestAssistant.open({ folder });
    await folder.write('voxform.yaml', projectFile(emulator));
    for (const name of ['plan', 'status', 'history']) {
      expect(await assistant.error(name)).toMatchObject({
        message: expect.stringContaining('could not load this project'),
        hint: expect.stringContaining('restart'),
      });
    }
    expect(emulator.requests).toEqual([]);
  });

  it('cannot replace voxform itself', async () => {
    await using folder = await temporaryFolder({ 'voxform.yaml': 'version: 1\nworkspaces: {}\n' });
    const own = path.join(folder.root, 'node_modules/voxform/dist');
    await cp(inject('built'), own, { recursive: true });
    await cp('package.json', path.join(own, '../package.json'));
    const started = spawnSync(process.execPath, [path.join(own, 'main.js'), 'mcp'], {
      cwd: folder.root,
      encoding: 'utf8',
    });
    expect(started.status).toBe(1);
    expect(started.stderr).toContain('--global');
  });
});
