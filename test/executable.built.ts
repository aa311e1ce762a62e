import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmulator } from '../src/emulator/start-emulator.ts';
import { Secret } from '../src/values/value.ts';
import { VERSION } from '../src/version.ts';
import { GitlabHost } from './ci-kit/gitlab-host.ts';
import { runGitlabJob, type Template } from './ci-kit/gitlab-runner.ts';
import { Repository, sha256 } from './ci-kit/repository.ts';
import { shipped } from './ci-kit/workflow.ts';
import { type Ended, type Running, type RunOptions, start, temporaryFolder } from './cli/voxform-process.ts';
import { agentManifest, projectFile } from './cli/workspace.ts';
import { freshDatabase } from './state/backends/postgres/databases.ts';
import { settingsOf, testableBackends } from './state/backends/settings.ts';

const root = path.resolve(import.meta.dirname, '..');
const target = `${process.platform}-${process.arch}`;
const folder = mkdtempSync(path.join(tmpdir(), 'voxform-executable-test-'));
const home = path.join(folder, 'home');
const file = path.join(folder, 'voxform');

function build(to: string): void {
  const args = [path.join(root, 'scripts', 'executable.ts'), target, to];
  execFileSync(process.execPath, args, { cwd: folder, stdio: 'pipe' });
}

beforeAll(() => {
  mkdirSync(home);
  build(file);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts the executable in an empty environment: no program in the path, and NODE_OPTIONS that would end Node. */
function starting(args: readonly string[], { cwd, env, input }: Partial<RunOptions> = {}): Running {
  const nothing = {
    PATH: '',
    HOME: home,
    XDG_CACHE_HOME: home,
    XDG_STATE_HOME: home,
    NODE_OPTIONS: '--require /none.js',
  };
  return start(args, {
    program: file,
    cwd: cwd ?? home,
    env: { ...nothing, ...env },
    ...(input !== undefined && { input }),
  });
}

async function succeed(args: readonly string[], options: Partial<RunOptions> = {}): Promise<Ended> {
  const ended = await starting(args, options).ended;
  expect(ended.code, `${args.join(' ')}\n${ended.stdout}${ended.stderr}`).toBe(0);
  return ended;
}

describe('one-file executable', () => {
  it('is reproducible, and prints its version', async () => {
    const again = path.join(folder, 'again');
    build(again);
    expect(sha256(readFileSync(again))).toBe(sha256(readFileSync(file)));
    expect((await succeed(['--version'])).stdout).toBe(`${VERSION}\n`);
  });

  it('creates a project from its embedded files, and validates it', async () => {
    await succeed(['init', 'new']);
    expect((await succeed(['-C', 'new', 'validate'])).stdout).toContain('Valid');
    expect((await succeed(['completion', 'bash'])).stdout).toBe(
      readFileSync(path.join(root, 'completions/voxform.bash'), 'utf8'),
    );
    expect((await succeed(['schema', 'Agent'])).stdout).toContain('Agent manifest');
    const windows = 'watch: { windows: [{ cron: "0 9 * * 1", duration: 1h }] }\n';
    await using project = await temporaryFolder({
      'voxform.yaml': `version: 1\nworkspaces: { w: { base_url: "http://127.0.0.1:1", workspace_id: w } }\n${windows}`,
      // Enough for the second thread.
      ...Object.fromEntries(
        Array.from({ length: 40 }, (_, index) => [
          `manifests/${index}.yaml`,
          agentManifest(`a${index}`, 'Be kind. '.repeat(2500)),
        ]),
      ),
    });
    expect((await succeed(['-C', project.root, 'validate'])).stdout).toContain('40 Agent ');
  });

  it.each(Object.keys(testableBackends))('plans and applies with a sealed state in: %s', async (backend) => {
    const identity = await generateX25519Identity();
    await using emulator = await startEmulator({ seed: 1 });
    await using project = await temporaryFolder({ 'manifests/a.yaml': agentManifest('day') });
    const env: Record<string, string> = { VOXFORM_API_KEY: 'key', STATE_IDENTITY: identity };
    // git must be found in the path.
    if (backend === 'git') Object.assign(env, { PATH: process.env.PATH });
    const settings = Object.entries(await settingsOf(backend, project.root)).map(([name, value]: [string, unknown]) => {
      if (!(value instanceof Secret)) return [name, value];
      env[value.name] = value.reveal();
      return [name, { $secret: value.name }];
    });
    const seal = { recipients: [await identityToRecipient(identity)], identity: { $secret: 'STATE_IDENTITY' } };
    const state = JSON.stringify({ backend, ...Object.fromEntries(settings), seal });
    await project.write('voxform.yaml', projectFile(emulator, `state: ${state}\n`));
    const run = (...args: readonly string[]) => succeed(['-C', project.root, ...args], { env });
    await run('apply', '--auto-approve');
    const { stdout } = await run('plan', '--output', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ summary: { create: 0, update: 0 } });
  });

  it('plans a merge request in a job without Node that installs it by its SHA-256', async () => {
    const template = shipped<Template>('ci/gitlab/voxform.gitlab-ci.yml');
    await using emulator = await startEmulator({ seed: 1 });
    await using host = await GitlabHost.start();
    using repository = new Repository({
      'voxform.yaml': projectFile(emulator, 'state: { backend: git }\n'),
      'manifests/day.yaml': agentManifest('day'),
    });
    rmSync(path.join(repository.bin, 'voxform'));
    host.repositories = repository.folder;
    const variables = {
      ...template.variables,
      VOXFORM_PACKAGE: file,
      VOXFORM_SHA256: sha256(readFileSync(file)),
      VOXFORM_API_KEY: 'key',
      CI_MERGE_REQUEST_IID: '7',
      CI_COMMIT_SHA: repository.git(['rev-parse', 'HEAD']),
    };
    const job = { ...template['.voxform'], ...template['voxform:plan'] };
    const { code, log } = await runGitlabJob(job, { repository, host, variables });
    expect(code, log).toBe(0);
    expect(host.notes.map(({ body }) => body)).toEqual([expect.stringContaining('Agent/day')]);
  });

  it('watches, and serves the page with its style and its script', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    await using project = await temporaryFolder({
      'voxform.yaml': projectFile(emulator),
      'manifests/a.yaml': agentManifest('day'),
    });
    const watching = starting(['-C', project.root, 'watch', '--listen', '127.0.0.1:0'], {
      env: { VOXFORM_API_KEY: 'key' },
    });
    const url = await addressOf(watching);
    const page = await read(url);
    expect(page).toContain('</html>');
    const assets = [...page.matchAll(/(?:href|src)="(\/[^"]+\.(?:css|js)[^"]*)"/g)].map(([, each = '']) => each);
    expect(assets.length).toBeGreaterThan(1);
    for (const each of assets) expect((await read(new URL(each, url).href)).length).toBeGreaterThan(1000);
    watching.child.kill('SIGTERM');
    await watching.ended;
  });

  it('serves editors and assistants', async () => {
    await using project = await temporaryFolder({
      'voxform.yaml': 'version: 1\nworkspaces: { w: { base_url: "http://127.0.0.1:1", workspace_id: w } }\n',
      'manifests/a.yaml': agentManifest('day'),
    });
    const message = (body: object) => JSON.stringify({ jsonrpc: '2.0', ...body });
    const opening = message({
      id: 1,
      method: 'initialize',
      params: { capabilities: {}, processId: null, rootUri: null },
    });
    const editor = starting(['lsp'], { cwd: project.root, input: { open: true } });
    editor.child.stdin?.write(`Content-Length: ${opening.length}\r\n\r\n${opening}`);
    await saying(editor, 'completionProvider');
    const clientInfo = { name: 'test', version: '1' };
    const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const messages = [
      message({ id: 1, method: 'initialize', params: client }),
      message({ method: 'notifications/initialized' }),
      message({ id: 2, method: 'resources/read', params: { uri: 'voxform://docs/ci' } }),
      message({ id: 3, method: 'tools/call', params: { name: 'validate', arguments: {} } }),
    ];
    const assistant = starting(['mcp'], { cwd: project.root, input: { open: true } });
    assistant.child.stdin?.write(`${messages.join('\n')}\n`);
    await saying(assistant, '# In CI', '"structuredContent"');
  });

  it('serves a fleet with PostgreSQL, and reports that it has no embedded database', async () => {
    await using emulator = await startEmulator({ seed: 1 });
    const sources = 'version: 1\nsources: { voices: { path: voices, projects: ["*"] } }\n';
    await using fleet = await temporaryFolder({
      'fleet.yaml': sources,
      'voices/acme/voxform.yaml': projectFile(emulator).replace('VOXFORM_API_KEY', 'VOXFORM_TEST_KEY'),
      'voices/acme/manifests/a.yaml': agentManifest('day'),
    });
    const args = ['fleet', 'serve', '--listen', '127.0.0.1:0'];
    const refused = await starting(args, { cwd: fleet.root }).ended;
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('PostgreSQL')]);
    await fleet.write('fleet.yaml', `${sources}database: { $secret: FLEET_DATABASE_URL }\n`);
    const { url } = await freshDatabase();
    const env = { FLEET_DATABASE_URL: url, VOXFORM_TEST_KEY: 'key', VOXFORM_WATCH_TOKEN: 'token' };
    const serving = starting(args, { cwd: fleet.root, env });
    expect(await read(new URL('/healthz', await addressOf(serving)).href)).toContain('alive');
    serving.child.kill('SIGTERM');
    expect((await serving.ended).code).toBe(0);
    await succeed(['fleet', 'status'], { cwd: fleet.root, env });
  });
});

/** Waits until the output contains all of these texts, and ends the process. */
async function saying({ child, ended }: Running, ...texts: readonly string[]): Promise<void> {
  if (child.stdout === null) throw new Error('it has no output');
  let all = '';
  for await (const part of child.stdout) {
    all += part;
    if (texts.every((each) => all.includes(each))) break;
  }
  child.kill('SIGTERM');
  const { stderr } = await ended;
  expect(
    texts.filter((each) => !all.includes(each)),
    all + stderr,
  ).toEqual([]);
}

/** Returns the URL of the page. */
async function addressOf({ child }: Running): Promise<string> {
  let all = '';
  if (child.stderr === null) throw new Error('it has no output');
  for await (const line of createInterface({ input: child.stderr })) {
    all += `${line}\n`;
    const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error(all);
}

async function read(url: string): Promise<string> {
  return (await fetch(url)).text();
}
