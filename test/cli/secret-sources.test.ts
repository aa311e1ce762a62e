import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { voxform } from './voxform-process.ts';
import { API_KEY, projectFile, type TestWorkspace, testWorkspace } from './workspace.ts';

const MAIN = path.join(inject('built'), 'main.js');

const PROVIDER_KEY = 'sk-provider-key-of-the-test';

const AGENT = `apiVersion: voxform/v1
kind: Agent
metadata: { name: day }
spec: { name: Day, llm_config: { provider: openai, api_key: { $secret: PROVIDER_KEY } } }
`;

const PAGE = readFileSync(path.resolve(import.meta.dirname, '../../docs/secrets.md'), 'utf8');

/** Returns the entry of `secrets` for a tool in docs/secrets.md. */
function documented(tool: string): unknown {
  const [, entry = ''] = new RegExp(`^\\| \\[${tool}\\].* \\| \`(.*)\` \\|$`, 'm').exec(PAGE) ?? [];
  return parse(entry);
}

/** A project with this list of secret sources. */
async function workspaceWith(secrets: readonly unknown[]): Promise<TestWorkspace> {
  const workspace = await testWorkspace({ 'manifests/day.yaml': AGENT }, { apiKey: API_KEY });
  const more = `secrets: ${JSON.stringify(secrets)}\n`;
  await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator, more));
  return workspace;
}

/** An environment without secrets. */
function plainEnvironment(root: string, more: Readonly<Record<string, string>> = {}) {
  return { PATH: process.env.PATH ?? '', HOME: root, XDG_CACHE_HOME: path.join(root, 'cache'), ...more };
}

function present(...programs: readonly string[]): boolean {
  return programs.every((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0);
}

const titled = (title: string, isPresent: boolean, what: string): string =>
  `${title}${isPresent ? '' : ` (NOT RUN: ${what} IS MISSING)`}`;

describe('secrets in a password manager', () => {
  const hasPass = present('pass', 'gpg');
  it.skipIf(!hasPass)(titled('are read from pass', hasPass, 'pass'), { tags: ['long'] }, async () => {
    await using w = await workspaceWith([documented('pass')]);
    const { root } = w.folder;
    const env = plainEnvironment(root, { GNUPGHOME: path.join(root, '.gnupg') });
    await mkdir(path.join(root, '.gnupg'), { mode: 0o700 });
    const run = (program: string, args: readonly string[], input?: string) =>
      execFileSync(program, args, { env, input, cwd: root, stdio: ['pipe', 'pipe', 'pipe'] });
    try {
      const key = ['--batch', '--passphrase', '', '--quick-generate-key', 'team@example.com', 'default', 'default'];
      run('gpg', key);
      run('pass', ['init', 'team@example.com']);
      run('pass', ['insert', '--multiline', 'voices/VOXFORM_API_KEY'], `${API_KEY}\n`);

      const own = { env: { ...env, VOXFORM_API_KEY: '' } };
      const missing = await w.start(['plan'], own).ended;
      expect([missing.code, missing.stderr.replace(/\s+/g, ' ')]).toEqual([
        1,
        expect.stringContaining(
          '"pass show voices/PROVIDER_KEY" failed with exit code 1: Error: voices/PROVIDER_KEY is not in the password store.',
        ),
      ]);

      run('pass', ['insert', '--multiline', 'voices/PROVIDER_KEY'], `${PROVIDER_KEY}\n`);
      const applied = await w.start(['apply', '--auto-approve'], own).ended;
      expect([applied.code, applied.stderr]).toEqual([0, expect.not.stringContaining('error')]);
      expect(w.writes()).toBe(1);
    } finally {
      run('gpgconf', ['--kill', 'all']);
    }
  });

  const hasAge = present('age', 'age-keygen');
  it.skipIf(!hasAge)(titled('are read from a file that age decrypts', hasAge, 'age'), { tags: ['long'] }, async () => {
    await using w = await workspaceWith([documented('age')]);
    const { root } = w.folder;
    await mkdir(path.join(root, 'secrets'));
    execFileSync('age-keygen', ['-o', 'secrets/identity.txt'], { cwd: root, stdio: 'ignore' });
    const recipient = execFileSync('age-keygen', ['-y', 'secrets/identity.txt'], { cwd: root, encoding: 'utf8' });
    execFileSync('age', ['-r', recipient.trim(), '-o', 'secrets.env.age'], {
      cwd: root,
      input: `VOXFORM_API_KEY=${API_KEY}\nPROVIDER_KEY="${PROVIDER_KEY}"\n`,
    });
    const { stdout, stderr, code } = await w.start(['plan'], { env: { VOXFORM_API_KEY: '' } }).ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('1 to create');
    expect(stdout).not.toContain(PROVIDER_KEY);
  });
});

describe('docs/secrets.md', () => {
  it('contains valid lists', async () => {
    const lists = [...PAGE.matchAll(/^```yaml\n(secrets:.*?)```$/gms)].map(([, text = '']) => text);
    const tools = [...PAGE.matchAll(/^\| \[(.*?)\]\(.*\| `\{/gm)].map(([, tool = '']) => tool);
    expect([lists.length, tools.length]).toEqual([1, 10]);
    await using w = await workspaceWith(tools.map(documented));
    expect(await w.run('validate')).toMatchObject({ code: 0 });
    for (const list of lists) {
      await w.folder.write('voxform.yaml', projectFile(w.emulator, list));
      expect(await w.run('validate')).toMatchObject({ code: 0 });
    }
  });

  it('names the command that checks all secrets', async () => {
    await using w = await workspaceWith(['environment']);
    expect(PAGE).toContain('\n$ voxform validate --secrets\n');
    const { code, stdout, stderr } = await w.run('validate', '--secrets');
    expect([code, stdout + stderr]).toEqual([1, expect.stringContaining('PROVIDER_KEY is not set')]);
  });
});

describe('a secret command', () => {
  it('returns secrets that no command prints, even if the platform returns them', { tags: ['long'] }, async () => {
    await using w = await workspaceWith(['environment', { command: ['sh', '-c', `echo ${PROVIDER_KEY} # {name}`] }]);
    expect((await w.run('apply', '--auto-approve')).code).toBe(0);
    const [id = ''] = w.emulator.world.agents.keys();
    w.emulator.dashboard.edit('agents', id, { name: `key ${PROVIDER_KEY}` });
    w.emulator.dashboard.publishAgent(id);
    w.emulator.dashboard.recordCall({ agent_id: id, end_reason: PROVIDER_KEY });
    await w.folder.write('ids.csv', `address,id\nAgent/day,${PROVIDER_KEY}\n`);
    const commands = [
      ...['get agents', `get agents ${id} -o yaml`, 'get calls -o csv', `get versions ${id}`, 'versions Agent/day 1'],
      ...[
        'versions Agent/day --diff published',
        'impact Agent/day',
        'recover -o json',
        'import -f ids.csv',
        'export out',
      ],
    ];
    for (const line of commands) {
      const { stdout, stderr } = await w.run(...line.split(' '));
      expect(stdout + stderr, line).not.toContain(PROVIDER_KEY);
      expect(stdout + stderr, line).not.toBe('');
    }
    for (const file of globSync('**/*', { cwd: path.join(w.folder.root, 'out') }))
      if (file.endsWith('.yaml'))
        expect(readFileSync(path.join(w.folder.root, 'out', file), 'utf8')).not.toContain(PROVIDER_KEY);
  });

  it('stops when a signal stops the run', async () => {
    await using w = await workspaceWith([{ command: ['./hang', '{name}'], timeout: '5m' }]);
    await w.folder.write('hang', '#!/bin/sh\necho $$ > pid\nmkfifo held\ncat held\n');
    await chmod(path.join(w.folder.root, 'hang'), 0o755);
    const { child, ended } = w.start(['plan']);
    const file = path.join(w.folder.root, 'pid');
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8').trim()).toMatch(/\d/);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 130, stderr: expect.stringContaining('interrupted') });
    const pid = Number(readFileSync(file, 'utf8'));
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it.each([[['validate']], [['fmt', '--check']], [['graph']], [['explain', 'Agent']], [['state', 'list']]])(
    'does not run for %j',
    async (args) => {
      await using w = await workspaceWith([{ command: ['./gone', '{name}'] }]);
      expect(await w.runWith({ VOXFORM_API_KEY: '' }, ...args)).toMatchObject({ code: 0 });
    },
  );

  it.each([
    [['validate'], 0],
    [['fmt', '--check'], 0],
    [['graph'], 0],
    [['explain', 'Agent'], 0],
    [['state', 'list'], 1],
    [['history'], 1],
  ])('for the identity of a sealed state ends %j with %i', async (args, code) => {
    await using w = await workspaceWith([{ command: ['./gone', '{name}'] }]);
    const recipient = 'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p';
    const seal = `seal: { recipients: [${recipient}], identity: { $secret: STATE_IDENTITY } }`;
    const project = readFileSync(path.join(w.folder.root, 'voxform.yaml'), 'utf8');
    await w.folder.write('voxform.yaml', `${project}state: { ${seal} }\n`);
    const ran = await w.runWith({ VOXFORM_API_KEY: '' }, ...args);
    expect([ran.code, ran.stderr.includes('./gone')], ran.stderr).toEqual([code, code === 1]);
  });
});

describe('an API key on stdin', () => {
  /** Records its environment and returns another key. */
  const spying = ['sh', '-c', 'env > seen; test {name} = PROVIDER_KEY && printf %s of-the-provider || printf %s other'];
  const input = `${API_KEY}\n`;
  const env = { VOXFORM_API_KEY: '' };

  it.each(['plan', 'drift'])('is used by %s, and passed to no other process', { tags: ['long'] }, async (name) => {
    await using w = await workspaceWith(['environment', { command: spying }]);
    const file = path.join(w.folder.root, 'plan.json');
    const args = [name, '--api-key-stdin', ...(name === 'plan' ? ['--out', file] : [])];
    const { code, stdout, stderr } = await w.start(args, { env, input }).ended;
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const seen = readFileSync(path.join(w.folder.root, 'seen'), 'utf8');
    for (const text of [seen, stdout, stderr]) expect(text).not.toContain(API_KEY);
  });

  it.each([
    { args: [], input: '', reason: 'stdin is empty' },
    { args: ['--all-workspaces'], input, reason: 'several workspaces are selected' },
  ])('is refused if $reason', async ({ args, input }) => {
    await using w = await workspaceWith(['environment']);
    const { code, stderr } = await w.start(['plan', '--api-key-stdin', ...args], { env, input }).ended;
    expect(code, stderr).toBe(64);
    expect(w.emulator.requests).toEqual([]);
  });
});

describe('the key store', () => {
  it('is reported once if it is missing', { tags: ['long'] }, async () => {
    await using w = await workspaceWith(['keychain']);
    const env = plainEnvironment(w.folder.root, { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' });
    for (const args of [['secret', 'list'], ['secret', 'set', 'A'], ['secret', 'remove', 'A'], ['plan']]) {
      // The value is empty, and is not read.
      const { code, stderr } = await voxform(args, { env, cwd: w.folder.root, input: '' });
      expect([code, stderr.match(/^error: /gm)?.length]).toEqual([1, 1]);
      expect(stderr).toContain('the key store of this machine cannot be used');
      expect(stderr).not.toMatch(/^ +at /m);
    }
  });

  it.each([
    [['secret', 'set', 'A', 'topsecret'], 'too many arguments'],
    [['secret', 'set', 'A=topsecret'], 'is not a valid secret name'],
    [['secret', 'set', 'A', '--value=topsecret'], 'unknown option'],
    [['secret', 'set', '../a'], 'is not a valid secret name'],
    [['secret', 'remove'], "missing required argument 'name'"],
  ])('is not accessed by %j', async (args, message) => {
    await using w = await workspaceWith(['keychain']);
    const { code, stderr } = await w.run(...args);
    expect([code, stderr]).toEqual([64, expect.stringContaining(message)]);
    expect(stderr).not.toContain('topsecret');
  });

  const hasStore = process.platform === 'linux' && present('dbus-run-session', 'gnome-keyring-daemon');
  it.skipIf(!hasStore)(
    titled('stores secrets per project', hasStore, 'gnome-keyring'),
    { tags: ['long'] },
    async () => {
      await using w = await workspaceWith(['keychain']);
      await using other = await workspaceWith(['environment']);
      const [set = '', list = '', remove = ''] = [...PAGE.matchAll(/^\$ (voxform secret .*)$/gm)].map(([, line = '']) =>
        line.replace('OPENAI_API_KEY', 'PROVIDER_KEY'),
      );
      expect(set.split(' ').slice(1)).toEqual(['secret', 'set', 'PROVIDER_KEY']);
      const script = `
        printf '\\n' | gnome-keyring-daemon --unlock --components=secrets >/dev/null
        voxform() { "${process.execPath}" "${MAIN}" "$@"; }
        echo "== set";  printf %s ${API_KEY} | voxform secret set VOXFORM_API_KEY
        echo "== empty"; voxform secret set EMPTY </dev/null; echo "code $?"
        echo "== prompt"; script -qec '"${process.execPath}" "${MAIN}" secret set PROVIDER_KEY' /dev/null
        echo "== list"; ${list}
        echo "== other"; voxform -C "${other.folder.root}" secret list
        printf x | voxform -C "${other.folder.root}" secret set A
        echo "== apply"; voxform apply --auto-approve; echo "code $?"
        echo "== remove"; ${remove}; voxform secret remove PROVIDER_KEY; echo "code $?"
        echo "== plan"; voxform plan; echo "code $?"`;
      const child = spawn('dbus-run-session', ['--', 'sh', '-c', `exec 2>&1; ${script}`], {
        cwd: w.folder.root,
        env: plainEnvironment(w.folder.root, { XDG_RUNTIME_DIR: w.folder.root }),
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        const wasAsked = text.includes('not shown');
        text += part;
        if (!wasAsked && text.includes('not shown')) child.stdin.write(`${PROVIDER_KEY}\n`);
      });
      await once(child, 'close');
      const parts = Object.fromEntries(
        text
          .split('== ')
          .slice(1)
          .map((each) => [each.slice(0, each.indexOf('\n')), each.slice(each.indexOf('\n') + 1)]),
      );
      expect(text).not.toContain(PROVIDER_KEY);
      expect(parts.set).toBe(`Stored VOXFORM_API_KEY for the project ${w.folder.root}.\n`);
      expect(parts.empty).toContain('no value for EMPTY; nothing was stored');
      expect(parts.empty).toContain('code 1');
      expect(parts.prompt).toContain('Stored PROVIDER_KEY');
      expect(parts.list).toContain('PROVIDER_KEY\nVOXFORM_API_KEY\n');
      expect(parts.other).not.toContain('VOXFORM_API_KEY');
      expect(parts.other).toContain('does not use the key store');
      expect(parts.apply).toContain('code 0');
      expect(w.writes()).toBe(1);
      expect(parts.remove).toContain('Removed PROVIDER_KEY');
      expect(parts.remove).toContain('has no PROVIDER_KEY');
      expect(parts.plan).toContain('the secret PROVIDER_KEY has no entry for this project in the key store');
    },
  );
});
