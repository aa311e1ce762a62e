import { describe, expect, it } from 'vitest';
import type { Environment } from '../../src/manifests/secret-reader.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { InvalidProject } from '../../src/project/invalid-project.ts';
import { loadProject } from '../../src/project/load-project.ts';
import { backends } from '../../src/state/backends/index.ts';
import { lineOf, PLAIN_PROJECT, TemporaryProject } from './temporary-project.ts';

async function problemsOf(text: string | Uint8Array, env: Environment = {}): Promise<string[]> {
  using folder = new TemporaryProject({ 'voxform.yaml': text });
  try {
    await loadProject({ cwd: folder.root, env });
    return [];
  } catch (error) {
    if (!(error instanceof InvalidProject)) throw error;
    return error.diagnostics.map((each) => lineOf(each).replace('voxform.yaml', ''));
  }
}

const PLAIN_WORKSPACE = '{ base_url: "https://x.example", workspace_id: w }';

interface Row {
  readonly reason: string;
  readonly text: string | Uint8Array;
  readonly env?: Environment;
  /** The expected diagnostics, without the file. */
  readonly expected: readonly string[];
}

const rows: readonly Row[] = [
  { reason: 'an empty file', text: '', expected: [' - empty-file the file is empty'] },
  {
    reason: 'two documents',
    text: `${PLAIN_PROJECT}---\nversion: 1\n`,
    expected: [':8:1 - extra-document the project file must contain exactly one document'],
  },
  {
    reason: 'broken YAML',
    text: 'version: [1',
    expected: [':1:10 - yaml-syntax unclosed ['],
  },
  {
    reason: 'invalid UTF-8',
    text: new Uint8Array([0x76, 0xff]),
    expected: [':1:2 - invalid-utf8 the file is not valid UTF-8; save it in that encoding'],
  },
  {
    reason: 'a string',
    text: 'voxform',
    expected: [':1:1 - wrong-type the project file must be an object, got "voxform"'],
  },
  {
    reason: 'another version',
    text: PLAIN_PROJECT.replace('version: 1', 'version: 2'),
    expected: [':1:10 version not-allowed version must be 1, got 2'],
  },
  {
    reason: 'no workspaces',
    text: 'version: 1\n',
    expected: [':1:1 workspaces missing-field workspaces is missing; it must be an object'],
  },
  {
    reason: 'empty workspaces',
    text: 'version: 1\nworkspaces: {}\n',
    expected: [':2:13 workspaces bad-format workspaces: expected at least one workspace'],
  },
  {
    reason: 'a misspelled key',
    text: `${PLAIN_PROJECT}defualts: {}\n`,
    expected: [':7:1 defualts unknown-field unknown field "defualts"; did you mean "defaults"?'],
  },
  {
    reason: 'a misspelled key in a workspace',
    text: PLAIN_PROJECT.replace('base_url', 'base_ulr'),
    expected: [':4:5 workspaces.test.base_ulr unknown-field unknown field "base_ulr"; did you mean "base_url"?'],
  },
  {
    reason: 'a workspace that is not an object',
    text: 'version: 1\nworkspaces:\n  test: yes\n',
    expected: [':3:9 workspaces.test wrong-type test must be an object, got "yes"'],
  },
  {
    reason: 'a workspace whose name is a path',
    text: PLAIN_PROJECT.replace('test:', '../x:'),
    expected: [':3:3 workspaces."../x" bad-key "../x": expected a name of up to 63 letters, digits, ".", "_" and "-"'],
  },
  {
    reason: 'an unknown default workspace',
    text: `${PLAIN_PROJECT}default_workspace: tset\n`,
    expected: [':7:20 default_workspace unknown-workspace unknown workspace "tset"; did you mean "test"?'],
  },
  {
    reason: 'an API key in plain text',
    text: PLAIN_PROJECT.replace('{ $secret: PLATFORM_KEY }', 'sk-12345'),
    expected: [
      ':6:14 workspaces.test.api_key plain-secret api_key must not be in the project file as plain text; use { $secret: NAME } or { $env: NAME }',
    ],
  },
  {
    reason: 'an API key of digits',
    text: PLAIN_PROJECT.replace('{ $secret: PLATFORM_KEY }', '12345'),
    expected: [
      ':6:14 workspaces.test.api_key plain-secret api_key must not be in the project file as plain text; use { $secret: NAME } or { $env: NAME }',
    ],
  },
  {
    reason: 'an API key as default of a variable',
    text: PLAIN_PROJECT.replace('{ $secret: PLATFORM_KEY }', '{ $env: KEY, default: sk-12345 }'),
    expected: [
      ':6:14 workspaces.test.api_key plain-secret api_key must not be in the project file as plain text; use { $secret: NAME } or { $env: NAME }',
    ],
  },
  {
    reason: 'an API key as literal',
    text: PLAIN_PROJECT.replace('{ $secret: PLATFORM_KEY }', '{ $literal: sk-12345 }'),
    expected: [
      ':6:14 workspaces.test.api_key plain-secret api_key must not be in the project file as plain text; use { $secret: NAME } or { $env: NAME }',
    ],
  },
  {
    reason: 'a badly named secret',
    text: PLAIN_PROJECT.replace('PLATFORM_KEY', 'a/b'),
    expected: [
      ':6:25 workspaces.test.api_key bad-form $secret needs a name of letters, digits, "_", "-" and ".", got "a/b"',
    ],
  },
  {
    reason: 'entries of secrets with several mistakes',
    text: `${PLAIN_PROJECT}secrets: [{ command: [x, "{name}"], format: yaml, names: A, foo: 1 }, { folder: "" }, { file: x }]\n`,
    expected: [
      ':7:45 secrets[0].format not-allowed format must be one of "text", "json", "dotenv", got "yaml"',
      ':7:58 secrets[0].names wrong-type names must be a list, got "A"',
      ':7:61 secrets[0].foo unknown-field unknown field "foo"',
      ':7:81 secrets[1].folder out-of-range folder must not be empty',
      ':7:87 secrets[2] wrong-type secrets[2]: expected environment, keychain, { env_file: FILE }, { folder: FOLDER } or { command: [PROGRAM, ARGUMENT, ...] }',
    ],
  },
  {
    reason: 'secrets of a state that are literal or missing',
    text: `${PLAIN_PROJECT}state: { backend: http, address: "https://x.example.com", username: 3, password: p, seal: { recipients: [] } }\n`,
    expected: [
      ':7:69 state.username wrong-type username must be a string or { $secret: NAME } or { $env: NAME }, got 3',
      ':7:82 state.password bad-format password: must not be in the file as text; use { $secret: NAME } or { $env: NAME }',
      ':7:85 state.seal.identity missing-field identity is missing; it must be { $secret: NAME } or { $env: NAME }',
      ':7:105 state.seal.recipients out-of-range recipients must be a list of at least 1 item, got 0',
    ],
  },
  {
    reason: 'a knowledge base without a name',
    text: `${PLAIN_PROJECT}    knowledge_bases: { "": FAQ }\n`,
    expected: [':7:24 workspaces.test.knowledge_bases."" bad-key "": expected a name'],
  },
  {
    reason: 'a base URL without scheme',
    text: PLAIN_PROJECT.replace('https://', ''),
    expected: [
      ':4:15 workspaces.test.base_url bad-format base_url: expected an http or https URL, such as https://api.example.com, got "platform.example.com"',
    ],
  },
  {
    reason: 'a base URL of another scheme',
    text: PLAIN_PROJECT.replace('https://', 'ftp://'),
    expected: [
      ':4:15 workspaces.test.base_url bad-format base_url: expected an http or https URL, such as https://api.example.com, got "ftp://platform.example.com"',
    ],
  },
  {
    reason: 'a password in the base URL',
    text: PLAIN_PROJECT.replace('https://', 'https://me:pass@'),
    expected: [
      ':4:15 workspaces.test.base_url bad-format base_url: expected a URL without user name, query and fragment',
    ],
  },
  {
    reason: 'a password in the address of the state',
    text: `${PLAIN_PROJECT}state: { backend: git, remote: "https://bob:hunter2@host/x.git" }\n`,
    expected: [
      ':7:32 state.remote bad-format remote: the password must not be in the project file; use { $secret: NAME } or { $env: NAME }',
    ],
  },
  {
    reason: 'a base URL from a variable with a wrong value',
    text: PLAIN_PROJECT.replace('https://platform.example.com', '{ $env: URL }'),
    env: { URL: 'nowhere' },
    expected: [
      ':4:15 workspaces.test.base_url bad-format base_url: expected an http or https URL, such as https://api.example.com, got "nowhere"',
    ],
  },
  {
    reason: 'a base URL as secret',
    text: PLAIN_PROJECT.replace('https://platform.example.com', '{ $secret: URL }'),
    expected: [':4:15 workspaces.test.base_url bad-form base_url must be a string or { $env: NAME }'],
  },
  {
    reason: 'a workspace id that is a path',
    text: PLAIN_PROJECT.replace('01JWORKSPACE', 'a/../b'),
    expected: [':5:19 workspaces.test.workspace_id bad-format workspace_id: expected a workspace id, got "a/../b"'],
  },
  {
    reason: 'limits out of range',
    text: `${PLAIN_PROJECT}limits: { concurrency: 0, timeout_seconds: -1, requests_per_second: 0 }\n`,
    expected: [
      ':7:24 limits.concurrency out-of-range concurrency must be "auto" or a whole number between 1 and 256, got 0',
      ':7:44 limits.timeout_seconds out-of-range timeout_seconds must be a number between 0.1 and 3600, got -1',
      ':7:69 limits.requests_per_second out-of-range requests_per_second must be a number between 0.01 and 10000, got 0',
    ],
  },
  ...(
    [
      ['257', 'out-of-range', 'got 257'],
      ['1.5', 'wrong-type', 'got 1.5'],
      ['many', 'wrong-type', 'got "many"'],
      ['"16"', 'wrong-type', 'got "16"; remove the quotes'],
      ['null', 'wrong-type', 'but is empty; set a value or remove the field'],
    ] as const
  ).map(([text, code, is]) => ({
    reason: `concurrency: ${text}`,
    text: `${PLAIN_PROJECT}limits: { concurrency: ${text} }\n`,
    expected: [
      `:7:24 limits.concurrency ${code} concurrency must be "auto" or a whole number between 1 and 256, ${is}`,
    ],
  })),
  {
    reason: 'guards out of range',
    text: `${PLAIN_PROJECT}guards: { max_changed_percent: 101, min_resources: 1.5 }\n`,
    expected: [
      ':7:32 guards.max_changed_percent out-of-range max_changed_percent must be a number between 0 and 100, got 101',
      ':7:52 guards.min_resources wrong-type min_resources must be a whole number of at least 0, got 1.5',
    ],
  },
  {
    reason: 'one state file for two workspaces',
    text: `version: 1\nworkspaces:\n  a: ${PLAIN_WORKSPACE}\n  b: ${PLAIN_WORKSPACE.replace('}', ', state: { path: .voxform/a.state.json } }')}\n`,
    expected: [
      ':4:72 workspaces.b.state.path shared-state the workspaces a and b have the same state path; each workspace needs its own',
    ],
  },
  {
    reason: 'one state location for every workspace',
    text: `version: 1\nstate: { path: s.json }\nworkspaces:\n  a: ${PLAIN_WORKSPACE}\n  b: ${PLAIN_WORKSPACE}\n`,
    expected: [
      ':2:16 state.path shared-state the workspaces a and b have the same state path; use {workspace} in its value',
    ],
  },
  {
    reason: 'a secret in a setting of the state that allows none, reported once for all workspaces',
    text: `version: 1\nstate: { path: { $secret: P } }\nworkspaces:\n  a: ${PLAIN_WORKSPACE}\n  b: ${PLAIN_WORKSPACE}\n`,
    expected: [':2:16 state.path wrong-type path must be a string, got an object'],
  },
  {
    reason: 'an unknown backend',
    text: `${PLAIN_PROJECT}    state: { backend: floppy }\n`,
    expected: [
      `:7:23 workspaces.test.state.backend wrong-type backend: expected one of ${Object.keys(backends).join(', ')}`,
    ],
  },
  {
    reason: 'a misspelt backend',
    text: `${PLAIN_PROJECT}    state: { backend: postgre }\n`,
    expected: [
      `:7:23 workspaces.test.state.backend wrong-type backend: expected one of ${Object.keys(backends).join(', ')}; did you mean "postgres"?`,
    ],
  },
  {
    reason: 'a patch that is not an object',
    text: `${PLAIN_PROJECT}    patches: { Agent/a: x }\n`,
    expected: [':7:25 workspaces.test.patches.Agent/a wrong-type Agent/a must be an object, got "x"'],
  },
  {
    reason: 'a variable defined by another',
    text: `${PLAIN_PROJECT}    vars: { a: { $var: b } }\n`,
    expected: [':7:24 workspaces.test.vars.a bad-form a variable cannot use another variable'],
  },
  {
    reason: 'a missing file of a variable',
    text: `${PLAIN_PROJECT}    vars: { a: { $file: none.md } }\n`,
    expected: [':7:25 workspaces.test.vars.a unreadable-file $file: none.md cannot be read: no such file'],
  },
  {
    reason: 'a duplicate key',
    text: `${PLAIN_PROJECT}version: 1\n`,
    expected: [':7:1 version duplicate-key the key "version" appears twice in the same object'],
  },
  {
    reason: 'the key __proto__',
    text: `${PLAIN_PROJECT}defaults: { Agent: { __proto__: { name: x } } }\n`,
    expected: [':7:22 defaults.Agent forbidden-key the key "__proto__" is not allowed'],
  },
];

describe('invalid project file', () => {
  it.each(rows)('is reported: $reason', async ({ text, env = {}, expected }) => {
    expect(await problemsOf(text, env)).toEqual(expected);
  });

  it('is reported without the API key that it contains', async () => {
    for (const key of ['sk-12345', '12345', '{ $env: KEY, default: sk-12345 }', '[sk-12345]']) {
      const lines = await problemsOf(PLAIN_PROJECT.replace('{ $secret: PLATFORM_KEY }', key));
      expect(lines).toHaveLength(1);
      expect(lines.join()).not.toContain('12345');
    }
  });
});

describe('valid project file', () => {
  it('is read with every default', async () => {
    using folder = new TemporaryProject({});
    const { workspaces, ...project } = await loadProject({ cwd: folder.root, env: {} });
    expect(project).toEqual({
      root: folder.root,
      file: 'voxform.yaml',
      manifests: ['manifests/**/*.{yaml,yml,json}'],
      defaultWorkspace: undefined,
      defaults: {},
      limits: { concurrency: 'auto', requestsPerSecond: null, timeoutSeconds: 30 },
      literalVariables: [],
      guards: { maxChangedPercent: 50, minResources: 10 },
      windows: [],
      webhooks: [],
      policies: [],
      pullRequests: {},
    });
    expect(workspaces.test).toMatchObject({
      name: 'test',
      baseUrl: 'https://platform.example.com',
      workspaceId: '01JWORKSPACE',
      vars: {},
      patches: {},
      skip: [],
      state: { backend: 'local', path: `${folder.root}/.voxform/test.state.json` },
    });
    expect(workspaces.test?.apiKey.name).toBe('PLATFORM_KEY');
    expect(workspaces.test?.apiKey.isSet).toBe(false);
  });

  it('may refer to the environment, and the key of a workspace is read on demand', async () => {
    using folder = new TemporaryProject({
      'voxform.yaml': `version: 1
workspaces:
  one:
    base_url: { $env: BASE, default: http://localhost:4010 }
    workspace_id: { $env: ID }
    api_key: { $secret: KEY }
    secrets_dir: keys
  two: { base_url: { $env: BASE2 }, workspace_id: w, api_key: { $env: KEY } }
`,
      'keys/KEY': 'from-the-file\n',
    });
    const { workspaces } = await loadProject({ cwd: folder.root, env: { ID: '01J' } });
    expect(workspaces.one).toMatchObject({ baseUrl: 'http://localhost:4010', workspaceId: '01J', unset: [] });
    expect(workspaces.one?.apiKey.isSet).toBe(false);
    await workspaces.one?.secrets.read();
    expect(workspaces.one?.apiKey.reveal()).toBe('from-the-file');
    expect(workspaces.two?.unset).toEqual([{ setting: 'base_url', variable: 'BASE2' }]);
    expect(workspaces.two?.apiKey.isSet).toBe(false);
    const again = await loadProject({ cwd: folder.root, env: { KEY: 'from-the-environment' } });
    expect(again.workspaces.one?.apiKey.reveal()).toBe('from-the-environment');
    expect(again.workspaces.two?.apiKey.reveal()).toBe('from-the-environment');
  });
});

describe('folder without a project file', () => {
  const ENV = {
    VOXFORM_BASE_URL: 'http://localhost:1',
    VOXFORM_WORKSPACE_ID: 'w',
    VOXFORM_API_KEY: 'secret-key',
  };

  it('is a project if the environment has all settings', async () => {
    using folder = new TemporaryProject({ 'x/y.txt': '' });
    const project = await loadProject({ cwd: `${folder.root}/x`, env: ENV });
    expect(project.file).toBeUndefined();
    expect(project.manifests).toEqual(['manifests/**/*.{yaml,yml,json}']);
    expect(Object.keys(project.workspaces)).toEqual(['default']);
    expect(project.workspaces.default?.apiKey.reveal()).toBe('secret-key');
  });

  it.each(Object.keys(ENV))('has a hint on how to create one when %s is empty', async (name) => {
    using folder = new TemporaryProject({ 'x/y.txt': '' });
    const loading = loadProject({ cwd: `${folder.root}/x`, env: { ...ENV, [name]: '' } });
    await expect(loading).rejects.toThrow(UserError);
    await expect(loading).rejects.toMatchObject({ hint: expect.stringContaining('voxform init') });
  });

  it('accepts a project file with the other extension', async () => {
    using folder = new TemporaryProject({ 'x/voxform.yml': PLAIN_PROJECT });
    const loading = loadProject({ cwd: `${folder.root}/x`, env: {} });
    await expect(loading).resolves.toMatchObject({ file: 'voxform.yml' });
  });

  it('is not a project if the folder is missing', async () => {
    using folder = new TemporaryProject({});
    await expect(loadProject({ cwd: `${folder.root}/none`, env: ENV })).rejects.toThrow(UserError);
  });

  it('uses the state of a workspace from the project if it has none', async () => {
    const own = PLAIN_WORKSPACE.replace('}', ', state: { path: own.json } }');
    const text = `version: 1\nstate: { path: "states/{workspace}.json" }\nworkspaces:\n  a: ${PLAIN_WORKSPACE}\n  b: ${own}\n`;
    using folder = new TemporaryProject({ 'voxform.yaml': text });
    const { workspaces } = await loadProject({ cwd: folder.root, env: {} });
    const paths = Object.values(workspaces).map(({ state }) => 'path' in state && state.path);
    expect(paths).toEqual([`${folder.root}/states/a.json`, `${folder.root}/own.json`]);
  });
});
