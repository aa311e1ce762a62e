import { chmodSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { InvalidProject } from '../../src/project/invalid-project.ts';
import { loadProject } from '../../src/project/load-project.ts';
import type { LocalPaths } from '../../src/project/local-paths.ts';
import type { ProjectConfig } from '../../src/project/project.ts';
import { type Files, lineOf, PLAIN_PROJECT, TemporaryProject } from './temporary-project.ts';

const PATH = process.env.PATH ?? '';

/** A script that appends a line to `runs` on each run. */
const script = (body: string) => `#!/bin/sh\necho "$*" >> runs\n${body}\n`;

interface Given {
  readonly secrets: readonly unknown[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly files?: Files;
  readonly settings?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Creates a project with these `secrets`. */
function projectWith({ secrets, scripts = {}, files = {}, settings = '' }: Given): TemporaryProject {
  const project = new TemporaryProject({
    ...files,
    'voxform.yaml': `${PLAIN_PROJECT}${settings}secrets: ${JSON.stringify(secrets)}\n`,
    ...Object.fromEntries(Object.entries(scripts).map(([name, body]) => [name, script(body)])),
  });
  for (const name of Object.keys(scripts)) chmodSync(path.join(project.root, name), 0o755);
  return project;
}

function runsIn({ root }: TemporaryProject): string[] {
  return readFileSync(path.join(root, 'runs'), 'utf8').trimEnd().split('\n').sort();
}

function secretsOf({ workspaces }: ProjectConfig) {
  const [workspace] = Object.values(workspaces);
  if (workspace === undefined) throw new Error('no workspace');
  return workspace.secrets;
}

/** Loads the project and returns the values of the names, or the message of an error. */
async function found(given: Given, ...names: string[]): Promise<unknown> {
  using project = projectWith(given);
  return await foundIn(project, given.env, ...names);
}

async function foundIn(project: TemporaryProject, env: Given['env'] = {}, ...names: string[]): Promise<unknown> {
  const secrets = secretsOf(await loadProject({ cwd: project.root, env: { PATH, ...env } }));
  try {
    await secrets.read(names);
  } catch (error) {
    if (error instanceof UserError) return error.message.replaceAll(project.root, '.');
    throw error;
  }
  return Object.fromEntries(
    names.map((name) => {
      const secret = secrets.named(name);
      return [name, secret.isSet ? secret.reveal() : secrets.problem(name)?.message];
    }),
  );
}

const command = (line: readonly string[], more: object = {}) => ({ command: line, ...more });

describe('secret', () => {
  it('comes from the first source that contains it', async () => {
    const given = {
      secrets: [command(['./all'], { format: 'json' }), 'environment', { env_file: 'team.env' }, { folder: 'files' }],
      scripts: { all: `echo '{"A": "command", "EMPTY": ""}'` },
      files: {
        'team.env': 'A=file\nB=file\nC="file of lines"\n',
        'files/C': 'folder',
        'files/D': 'folder\n',
        'files/EMPTY': 'folder',
      },
      env: { A: 'environment', B: 'environment' },
    };
    expect(await found(given, 'A', 'B', 'C', 'D', 'EMPTY', 'E')).toEqual({
      A: 'command',
      B: 'environment',
      C: 'file of lines',
      D: 'folder',
      EMPTY: 'folder',
      E: 'the secret E is not printed by "./all", and is not set in the environment or .env, and is not set in team.env, and is missing or empty in the folder files',
    });
  });

  it.each(['constructor', 'toString'])('with the name %s is found only if it is set', async (name) => {
    const all = command(['./all'], { format: 'dotenv' });
    const secrets = [all, { env_file: 'team.env' }];
    const given = { secrets, scripts: { all: 'echo A=1' }, files: { 'team.env': 'B=2' } };
    expect(await found(given, name)).toEqual({ [name]: expect.stringContaining('team.env') });
    expect(await found({ ...given, files: { 'team.env': `${name}=3` } }, name)).toEqual({ [name]: '3' });
  });

  it('is read from the list of its workspace, if it has one', async () => {
    const settings = '    secrets: [{ env_file: own.env }]\n';
    const files = { 'own.env': 'A=own\n', 'team.env': 'A=team\n' };
    expect(await found({ secrets: [{ env_file: 'team.env' }], settings, files }, 'A')).toEqual({ A: 'own' });
  });

  it.each<[string, unknown, string]>([
    [
      'a file',
      { folder: 'files' },
      'the secret A in the folder files: the file is not valid UTF-8; save it in that encoding',
    ],
    [
      'a command',
      command(['printf', '\\377', '{name}']),
      'the secret command "printf \\\\377 A" printed text that is not UTF-8',
    ],
  ])('from %s is refused if it is not text', async (_, source, message) => {
    const files = { 'files/A': Uint8Array.of(0xff) };
    const result = await found({ secrets: [source], files }, 'A');
    expect(typeof result === 'string' ? result : (result as { A: string }).A).toBe(message);
  });

  it('of an export is reported as a placeholder, regardless of its source', async () => {
    const scripts = { one: 'echo voxform-export-placeholder' };
    const { A } = (await found({ secrets: [command(['./one', '{name}'])], scripts }, 'A')) as { A: string };
    expect(A).toContain('still has the placeholder from an export');
  });
});

describe('secret command', () => {
  it('runs once for each secret that it names, with its arguments', async () => {
    using project = projectWith({
      secrets: [command(['./one', '{workspace}/{name}', '$(id) {other} ; *', '{project}'])],
      scripts: { one: 'printf "%s\\n" "of $1"' },
    });
    expect(await foundIn(project, {}, 'A', 'B', 'A')).toEqual({ A: 'of test/A', B: 'of test/B' });
    const folder = path.basename(project.root);
    expect(runsIn(project)).toEqual([`test/A $(id) {other} ; * ${folder}`, `test/B $(id) {other} ; * ${folder}`]);
  });

  it.each([
    ['json', `echo '{"A": "1", "B": "2"}'`],
    ['dotenv', `echo 'A=1'; echo 'export B="2"'`],
  ])('that prints %s runs once for all', async (format, body) => {
    using project = projectWith({ secrets: [command(['./all'], { format })], scripts: { all: body } });
    expect(await foundIn(project, {}, 'A', 'B')).toEqual({ A: '1', B: '2' });
    expect(runsIn(project)).toEqual(['']);
  });

  it('is called only for its names', async () => {
    using project = projectWith({
      secrets: [command(['./one', '{name}'], { names: ['OPENAI_*'] }), { folder: 'files' }],
      scripts: { one: 'echo x' },
      files: { 'files/OTHER': 'y' },
    });
    expect(await foundIn(project, {}, 'OPENAI_KEY', 'OTHER')).toEqual({ OPENAI_KEY: 'x', OTHER: 'y' });
    expect(runsIn(project)).toEqual(['OPENAI_KEY']);
  });

  it('runs at most four times at once', async () => {
    // The first four wait for each other.
    const body = `mkdir -p at all; touch at/$1; ls at | wc -l >> most; touch all/$1
until [ $(ls all | wc -l) -ge 4 ]; do sleep 0.01; done; rm at/$1; echo x`;
    using project = projectWith({ secrets: [command(['./one', '{name}'])], scripts: { one: body } });
    await foundIn(project, {}, ...'ABCDEFGHIJ');
    const most = readFileSync(path.join(project.root, 'most'), 'utf8').trim().split('\n').map(Number);
    expect(Math.max(...most)).toBe(4);
  });

  it('has no input and no terminal', async () => {
    const scripts = { one: 'cat; (echo x > /dev/tty) 2>/dev/null && echo terminal || echo none' };
    expect(await found({ secrets: [command(['./one', '{name}'])], scripts }, 'A')).toEqual({ A: 'none' });
  });

  it.each<[string, string, string, object?]>([
    [
      'fails',
      'for i in 1 2 3 4 5 6 7; do echo "line $i" >&2; done; exit 3',
      'the secret command "./one A" failed with exit code 3:\n  line 3\n  line 4\n  line 5\n  line 6\n  line 7',
    ],
    [
      'fails and prints secrets',
      'echo sk-printed; echo "no: sk-printed, $VAULT_TOKEN" >&2; printf "\\033[2Jred\\n" >&2; exit 1',
      'the secret command "./one A" failed with exit code 1:\n  no: (secret), (secret)\n   [2Jred',
    ],
    ['prints nothing', 'true', 'the secret command "./one A" printed nothing'],
    ['prints too much', 'head -c 2000000 /dev/zero', 'the secret command "./one A" printed more than 1 MiB'],
    ['never stops printing', 'yes', 'the secret command "./one A" printed more than 1 MiB'],
    [
      'hangs, with its child processes',
      'sleep 600 & setsid sleep 600 & sleep 600',
      'the secret command "./one A" did not end within 1 s',
      { timeout: '1s' },
    ],
    [
      'ignores SIGTERM',
      `trap '' TERM; sleep 600`,
      'the secret command "./one A" did not end within 1 s',
      { timeout: '1s' },
    ],
    ['prints invalid JSON', 'echo A=1', 'the secret command "./one A" did not print a JSON object', { format: 'json' }],
    [
      'prints a value that is not a string',
      `echo '{"A": {"b": 1}}'`,
      'the secret command "./one A" printed a JSON object in which A is not a string',
      { format: 'json' },
    ],
  ])('that %s is an error, and no other source is used', { tags: ['long'] }, async (_, one, message, more) => {
    const secrets = [command(['./one', '{name}'], more), 'environment'];
    const env = { A: 'environment', VAULT_TOKEN: 'hvs.token-of-the-vault' };
    expect(await found({ secrets, scripts: { one }, env }, 'A')).toBe(message);
  });

  it('prints no secret of the environment that the settings name', async () => {
    const secrets = ['environment', command(['./one', '{name}'])];
    const settings = '    vars: { pin: { $secret: PIN } }\n';
    const one = 'echo "bad: $PIN" >&2; exit 1';
    expect(await found({ secrets, settings, scripts: { one }, env: { PIN: '48151623' } }, 'A')).toBe(
      'the secret command "./one A" failed with exit code 1:\n  bad: (secret)',
    );
  });

  it('that is ended by a signal has the exit code of that signal', async () => {
    const secrets = [command(['./one', '{name}'])];
    expect(await found({ secrets, scripts: { one: 'kill -9 $$' } }, 'A')).toMatch(/failed with exit code 137$/);
  });

  it.each([
    ['./missing', 'the secret command "./missing A" cannot run: program not found: ./missing'],
    ['./voxform.yaml', 'the secret command "./voxform.yaml A" cannot run: ./voxform.yaml is not executable'],
  ])('that cannot run is an error: %s', async (program, message) => {
    expect(await found({ secrets: [command([program, '{name}'])] }, 'A')).toBe(message);
  });

  it('prints no secret that another command returned', async () => {
    const secrets = [command(['./all'], { format: 'json', names: ['A'] }), command(['./one', '{name}'])];
    const scripts = { all: `echo '{"A": "sk-first"}'`, one: 'echo "bad: sk-first" >&2; exit 1' };
    expect(await found({ secrets, scripts }, 'A', 'B')).toBe(
      'the secret command "./one B" failed with exit code 1:\n  bad: (secret)',
    );
  });

  it('does not run for offline checks', async () => {
    using project = projectWith({
      secrets: [command(['./one', '{name}'])],
      scripts: { one: 'echo x' },
      files: {
        'manifests/a.yaml':
          'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: a }\nspec: { name: A, llm_config: { provider: openai, api_key: { $secret: A } } }\n',
      },
    });
    const env = { PATH };
    expect((await project.load({ mode: 'offline', env })).diagnostics).toEqual([]);
    expect(() => runsIn(project)).toThrow('ENOENT');
    expect((await project.load({ mode: 'live', env })).diagnostics).toEqual([]);
    expect(runsIn(project)).toEqual(['A', 'PLATFORM_KEY']);
  });
});

async function problemsOf(given: Given, local?: Partial<LocalPaths>): Promise<readonly string[]> {
  using project = projectWith(given);
  const { root } = project;
  const fleet = local && { root: path.join(root, '..', 'home'), allowed: [], ...local };
  try {
    await loadProject({ cwd: root, env: {}, local: fleet });
    return [];
  } catch (error) {
    if (error instanceof InvalidProject)
      return error.diagnostics.map((each) => lineOf(each).replaceAll(path.dirname(root), '...'));
    throw error;
  }
}

describe('list of secrets', () => {
  it.each<[unknown, string]>([
    [[], 'secrets out-of-range secrets must be a list of at least 1 item, got 0'],
    ['environment', 'secrets wrong-type'],
    [
      ['env'],
      'expected environment, keychain, { env_file: FILE }, { folder: FOLDER } or { command: [PROGRAM, ARGUMENT, ...] }',
    ],
    [[{ command: 'pass show x' }], 'command must be a list'],
    [[{ command: ['vault', 'read'], format: 'yaml', names: ['A'] }], 'format must be one of'],
    [[{ command: ['vault', 'read'] }], 'would return the same value for each secret'],
    [[{ command: ['vault', 'read'], names: ['A', 'B'] }], 'would return the same value for each secret'],
    [[{ command: ['{name}', '{name}'] }], 'expected a program without placeholders'],
    [[{ command: ['vault', '{name}'], timeout: '1h' }], 'timeout: expected at most 5m'],
  ])('is validated: %j', async (secrets, message) => {
    const problems = await problemsOf({ secrets: secrets as unknown[] });
    expect(problems.join('\n')).toContain(message);
    expect(problems).toHaveLength(1);
  });

  it('replaces secrets_dir', async () => {
    expect(await problemsOf({ secrets: ['environment'], settings: '    secrets_dir: files\n' })).toEqual([
      expect.stringContaining('secrets_dir is not used, because there is a list of secrets'),
    ]);
  });

  it('of an external project runs nothing, and stays in its folder', async () => {
    const secrets = [command(['vault', '{name}']), 'keychain', { folder: '/etc' }, { env_file: '../.env' }];
    const problems = await problemsOf({ secrets }, {});
    expect(problems.map((each) => each.split(' ').slice(1, 3).join(' '))).toEqual([
      'secrets[0] forbidden-command',
      'secrets[1] forbidden-command',
      'secrets[2].folder outside-folder',
      'secrets[3].env_file outside-folder',
    ]);
    expect(await problemsOf({ secrets: secrets.slice(0, 1) }, { mayRunCommands: true })).toEqual([]);
  });

  it('of an external project reads no file through a link outside the project', async () => {
    using outside = new TemporaryProject({ 'other.env': 'A=other\n' });
    using project = projectWith({ secrets: [{ env_file: 'link.env' }] });
    symlinkSync(path.join(outside.root, 'other.env'), path.join(project.root, 'link.env'));
    const local = { root: path.join(project.root, '..', 'home'), allowed: [] };
    const secrets = secretsOf(await loadProject({ cwd: project.root, env: {}, local }));
    await secrets.read(['A']);
    expect(secrets.problem('A')?.code).toBe('missing-secret');
  });
});
