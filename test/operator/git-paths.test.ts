import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { LastLoad } from '../../src/operator/last-load.ts';
import { loadVersion } from '../../src/operator/load-version.ts';
import { backendOf } from '../../src/state/state-location.ts';
import { API_KEY, agentManifest, projectFile, testWorkspace } from '../cli/workspace.ts';
import { manifest } from '../project/temporary-project.ts';
import { lockRequest } from '../state/temporary-state.ts';
import { command } from '../trust/in-process.ts';
import { Remote } from './git-remote.ts';
import { testContext } from './test-context.ts';

const never = new AbortController().signal;

/** A project whose API key exists only in a secrets folder. */
const project = (settings: string): string => `version: 1
workspaces:
  test:
    base_url: https://platform.example.com
    workspace_id: 01JWORKSPACE
    api_key: { $secret: FOLDER_KEY }
    ${settings}
`;

const agent = (prompt: string): string => manifest('Agent', 'a', `prompt_config: { prompt: ${prompt} }`);

/** Loads the newest commit. Returns the paths that it uses, or the reasons why it is invalid. */
async function load(
  remote: Remote,
  { subfolder = '.', allowed = [] }: { subfolder?: string; allowed?: readonly string[] } = {},
) {
  const version = await remote.source(remote.bare, { subfolder }).fetch(never);
  const result = await loadVersion(testContext(remote.watched, { env: {} }), {
    version,
    local: { root: remote.watched, allowed },
    last: new LastLoad(),
  });
  if ('loaded' in result) {
    const { secrets, state, apiKey } = result.loaded.opened.workspace;
    return {
      secretFolders: secrets.folders,
      state: backendOf(state).fileOf?.(state),
      key: apiKey.reveal(),
      secretsWatched: result.inputs.secretFolders,
    };
  }
  const { diagnostics, error } = result.invalid;
  return [...diagnostics.map(({ path: at, message }) => `${at ?? ''} ${message}`), ...(error ? [String(error)] : [])];
}

/** Pushes a project with these workspace settings and one agent. */
function push(remote: Remote, settings: string): string {
  return remote.push({ 'voxform.yaml': project(settings), 'manifests/a.yaml': agent('Hi.') });
}

/** Creates a remote, a secrets folder outside the watched folder, and one inside it. */
function prepared(): { remote: Remote; outside: string } {
  const remote = new Remote();
  const outside = path.join(remote.root, 'outside');
  for (const folder of [outside, path.join(remote.watched, 'secrets')]) {
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'FOLDER_KEY'), `key in ${path.basename(folder)}\n`);
  }
  return { remote, outside };
}

describe('secrets_dir and state.path of a repository', () => {
  it("are relative to the operator's folder", async () => {
    const { remote } = prepared();
    using _ = remote;
    push(remote, 'secrets_dir: secrets\n    state: { path: states/not/yet.json }');
    const secretsDir = path.join(remote.watched, 'secrets');
    expect(await load(remote)).toEqual({
      secretFolders: [secretsDir],
      state: path.join(remote.watched, 'states/not/yet.json'),
      key: 'key in secrets',
      secretsWatched: [secretsDir],
    });
  });

  it.each([
    ['upwards', 'secrets_dir: ../outside', 'secrets_dir'],
    ['to an absolute path', 'secrets_dir: OUTSIDE', 'secrets_dir'],
    ['through a link', 'secrets_dir: link', 'secrets_dir'],
    ['to nothing that exists, through a link', 'secrets_dir: dangling/sub', 'secrets_dir'],
    ['through a loop of links', 'secrets_dir: round', 'secrets_dir'],
    ['upwards', 'secrets_dir: secrets\n    state: { path: ../outside/x.json }', 'state.path'],
    ['to an absolute path', 'secrets_dir: secrets\n    state: { path: OUTSIDE/x.json }', 'state.path'],
    ['through a link', 'secrets_dir: secrets\n    state: { path: link/new/x.json }', 'state.path'],
    ['through a link to a file', 'secrets_dir: secrets\n    state: { path: dangling }', 'state.path'],
  ])('cannot lead out %s: %s', { tags: ['long'] }, async (_way, settings, setting) => {
    const { remote, outside } = prepared();
    using _ = remote;
    symlinkSync(outside, path.join(remote.watched, 'link'));
    symlinkSync(path.join(outside, 'none'), path.join(remote.watched, 'dangling'));
    symlinkSync('round', path.join(remote.watched, 'round'));
    push(remote, settings.replace('OUTSIDE', outside));
    const refused = await load(remote);
    expect(refused).toEqual([expect.stringContaining(`workspaces.test.${setting} ${setting} points to `)]);
    expect(refused).toEqual([expect.stringContaining(`outside ${remote.watched}; allow it with --allow-dir`)]);
  });

  it.each([
    ['an absolute path', 'OUTSIDE/other.git'],
    ['a file URL', 'file://OUTSIDE/other.git'],
    ['a relative path upwards', '../outside/other.git'],
  ])('refuses a state repository outside: %s', { tags: ['long'] }, async (_way, address) => {
    const { remote, outside } = prepared();
    using _ = remote;
    const setting = address.replace('OUTSIDE', outside);
    push(remote, `secrets_dir: secrets\n    state: { backend: git, remote: "${setting}" }`);
    expect(await load(remote)).toEqual([
      expect.stringContaining(`workspaces.test.state.remote state.remote points to ${outside}/other.git`),
    ]);
    expect(await load(remote, { allowed: [outside] })).toMatchObject({ key: 'key in secrets' });
  });

  it('keeps the state in the repository of the project', { tags: ['long'] }, async () => {
    const { remote } = prepared();
    using _ = remote;
    push(remote, 'secrets_dir: secrets\n    state: { backend: git }');
    const result = await loadVersion(testContext(remote.watched, { env: {} }), {
      version: await remote.source().fetch(never),
      local: { root: remote.watched, allowed: [], source: remote.bare },
      last: new LastLoad(),
    });
    if (!('loaded' in result)) throw new Error('the project is not valid');
    await (await result.loaded.opened.store.lock(lockRequest())).release();
    expect(remote.git('for-each-ref')).toContain('refs/voxform/test');
  });

  it('may point to a folder that the operator allowed', async () => {
    const { remote, outside } = prepared();
    using _ = remote;
    push(remote, `secrets_dir: ${outside}\n    state: { path: ../outside/states/x.json }`);
    expect(await load(remote)).toHaveLength(2);
    expect(await load(remote, { allowed: [outside] })).toMatchObject({
      key: 'key in outside',
      state: path.join(outside, 'states/x.json'),
    });
  });

  it('cannot point into a checkout, where links of the repository would apply', { tags: ['long'] }, async () => {
    const { remote, outside } = prepared();
    using _ = remote;
    remote.link({ stolen: outside });
    const commit = remote.push({ 'voxform.yaml': project(''), 'manifests/a.yaml': agent('Hi.') });
    const { checkout = '' } = await remote.source().fetch(never);
    const name = path.relative(remote.watched, checkout);
    expect(path.basename(name)).toBe(commit);
    remote.push({ 'voxform.yaml': project(`secrets_dir: ${name}\n    state: { path: ${name}/x.json }`) });
    expect(await load(remote)).toEqual([
      expect.stringContaining('secrets_dir points into a checkout'),
      expect.stringContaining('state.path points into a checkout'),
    ]);
    remote.push({ 'voxform.yaml': project(`secrets_dir: ${name}/stolen`) });
    expect(await load(remote)).toEqual([expect.stringContaining(`secrets_dir points to ${outside}, outside`)]);
  });
});

it('refuses a second state for the workspace of an existing state', async () => {
  const { remote } = prepared();
  using _ = remote;
  push(remote, 'secrets_dir: secrets\n    state: { path: states/renamed.json }');
  mkdirSync(path.join(remote.watched, '.voxform'), { recursive: true });
  writeFileSync(path.join(remote.watched, '.voxform/test.state.json'), 'damaged');
  const version = await remote.source().fetch(never);
  const result = await loadVersion(testContext(remote.watched, { env: {} }), {
    version,
    local: { root: remote.watched, allowed: [] },
    last: new LastLoad(),
  });
  if (!('loaded' in result)) throw new Error('expected valid manifests');
  await expect(result.loaded.opened.refuseSecondState()).rejects.toThrow(
    'but .voxform/test.state.json, which cannot be read, belongs to the same workspace 01JWORKSPACE',
  );
});

it('names a command that moves a state with an old workspace name', { tags: ['long'] }, async () => {
  await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
  await workspace.run('apply', '--auto-approve');
  const { remote } = prepared();
  using _ = remote;
  remote.push({
    'voxform.yaml': projectFile(workspace.emulator).replace('  test:', '  live:'),
    'manifests/a.yaml': agentManifest('day'),
  });
  const old = path.join(remote.watched, '.voxform/test.state.json');
  mkdirSync(path.dirname(old));
  copyFileSync(path.join(workspace.folder.root, '.voxform/test.state.json'), old);
  const version = await remote.source().fetch(never);
  const result = await loadVersion(testContext(remote.watched, { env: { VOXFORM_API_KEY: API_KEY } }), {
    version,
    local: { root: remote.watched, allowed: [] },
    last: new LastLoad(),
  });
  if (!('loaded' in result)) throw new Error('expected valid manifests');
  const refused: unknown = await result.loaded.opened.state().catch((error: unknown) => error);
  const copy = `cp ${version.folder}/voxform.yaml ${remote.watched} && cd ${remote.watched} && `;
  expect(refused).toMatchObject({
    hint: expect.stringContaining(`${copy}voxform state move --from .voxform/test.state.json. `),
  });
  copyFileSync(path.join(version.folder, 'voxform.yaml'), path.join(remote.watched, 'voxform.yaml'));
  const args = ['state', 'move', '--from', '.voxform/test.state.json'];
  const { code, stdout } = await command(args, { cwd: remote.watched, env: { VOXFORM_API_KEY: API_KEY } });
  expect([code, stdout]).toEqual([0, expect.stringContaining('to .voxform/live.state.json: 1 resource')]);
  expect((await result.loaded.opened.state()).resources.has('Agent/day')).toBe(true);
});

describe('symbolic links in a repository', () => {
  it('allow --path to point to another folder of the repository, but not outside', { tags: ['long'] }, async () => {
    const { remote, outside } = prepared();
    using _ = remote;
    writeFileSync(path.join(outside, 'voxform.yaml'), project('secrets_dir: secrets'));
    remote.link({ alias: 'voice', out: outside, 'out-and-down': '../../../../../outside' });
    remote.push({ 'voice/voxform.yaml': project('secrets_dir: secrets'), 'voice/manifests/a.yaml': agent('Hi.') });
    expect(await load(remote, { subfolder: 'alias' })).toMatchObject({ key: 'key in secrets' });
    for (const subfolder of ['out', 'out-and-down']) {
      expect(await load(remote, { subfolder }), subfolder).toEqual([
        'UserError: --path is outside the repository, because of a symbolic link',
      ]);
    }
    expect(await load(remote, { subfolder: 'vice' })).toEqual([
      expect.stringMatching(/^UserError: the repository has no folder vice at commit [0-9a-f]{40}$/),
    ]);
  });

  it('cannot point manifests, $file or the project file outside', { tags: ['long'] }, async () => {
    const { remote, outside } = prepared();
    using _ = remote;
    writeFileSync(path.join(outside, 'stolen.yaml'), agent('From outside.'));
    remote.link({ 'prompt.md': path.join(outside, 'FOLDER_KEY'), more: outside });
    remote.push({
      'voxform.yaml': `${project('secrets_dir: secrets')}manifests: ["manifests/*.yaml", "more/*.yaml"]\n`,
      'manifests/a.yaml': agent('{ $file: ../prompt.md }'),
    });
    expect(await load(remote)).toEqual([
      expect.stringContaining('$file: prompt.md is outside the project folder'),
      expect.stringContaining('a symbolic link points outside the project folder'),
    ]);
    remote.git('rm', '--quiet', 'voxform.yaml');
    writeFileSync(path.join(outside, 'voxform.yaml'), project('secrets_dir: secrets'));
    remote.link({ 'voxform.yaml': path.join(outside, 'voxform.yaml') });
    remote.push({ other: '' });
    expect(await load(remote)).toEqual([
      expect.stringContaining('the file is outside the project folder; symbolic links must stay inside it'),
    ]);
  });
});
