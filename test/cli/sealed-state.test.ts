import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { describe, expect, inject, it } from 'vitest';
import type { Emulator } from '../../src/emulator/start-emulator.ts';
import { git, newRepository } from '../state/backends/git/git-server.ts';
import { step } from '../step.ts';
import { API_KEY, agentManifest, projectFile, type TestWorkspace, testWorkspace } from './workspace.ts';

const VICTIM = path.resolve(import.meta.dirname, '../../scripts/torture/victim.ts');

/** Occurs in each prompt and in no other string. */
const PROMPT = 'Greet each caller with the word periwinkle.';
const AGENTS = 12;
const FILES = Object.fromEntries(
  Array.from({ length: AGENTS }, (_, index) => [`manifests/${index}.yaml`, agentManifest(`line-${index}`, PROMPT)]),
);

async function newIdentity(): Promise<{ readonly identity: string; readonly recipient: string }> {
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}

const first = await newIdentity();
const second = await newIdentity();
const WITH_FIRST = { STATE_IDENTITY: first.identity };

function sealedProject(emulator: Emulator, recipients: readonly string[], backend = 'local'): string {
  const seal = `{ recipients: [${recipients.join(', ')}], identity: { $secret: STATE_IDENTITY } }`;
  return projectFile(emulator, `state: { backend: ${backend}, seal: ${seal} }\n`);
}

/** A workspace whose state is not sealed yet. */
async function scene(): Promise<TestWorkspace & { seal(...recipients: string[]): Promise<void> }> {
  const workspace = await testWorkspace(FILES);
  const seal = (...recipients: string[]) =>
    workspace.folder.write('voxform.yaml', sealedProject(workspace.emulator, recipients));
  return Object.assign(workspace, { seal });
}

/** Returns the files, except the manifests, that contain this string in plain text or in base64. */
function filesWith(text: string, folder: string): string[] {
  const offsets = [0, 1, 2].map((skip) => Buffer.from(text.slice(skip)).toString('base64').slice(0, -4));
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile() && path.basename(each.parentPath) !== 'manifests')
    .map(({ parentPath, name }) => path.join(parentPath, name))
    .filter((file) => [text, ...offsets].some((each) => readFileSync(file, 'latin1').includes(each)))
    .map((file) => path.relative(folder, file));
}

/** Starts an apply and kills it after some records were created. */
async function killedApply(w: TestWorkspace, env: Readonly<Record<string, string>>): Promise<void> {
  const created = () => w.emulator.requests.filter(({ method }) => method === 'POST').length;
  const before = created();
  const running = w.start(['apply', '--auto-approve', '--concurrency', '2'], { env });
  await expect.poll(created, { interval: 2 }).toBeGreaterThanOrEqual(before + 4);
  running.child.kill('SIGKILL');
  await running.ended;
}

describe('a sealed state', () => {
  it('contains no prompt in any file, even after a run was killed', { tags: ['long'] }, async () => {
    await using w = await scene();
    await w.seal(first.recipient);
    await step('continues after a run was killed', async () => {
      await killedApply(w, WITH_FIRST);
      const { code, stderr } = await w.runWith(WITH_FIRST, 'apply', '--auto-approve');
      expect([code, stderr]).toEqual([expect.any(Number), expect.not.stringContaining('cannot decrypt')]);
      expect(filesWith('periwinkle', w.folder.root)).toEqual([]);
    });
    await step('has sealed plans that can be shown and applied', async () => {
      await w.folder.write('manifests/0.yaml', agentManifest('line-0', `${PROMPT} Twice.`));
      const withCache = { ...WITH_FIRST, XDG_CACHE_HOME: path.join(w.folder.root, 'cache') };
      expect((await w.runWith(withCache, 'plan', '--out', 'today.plan')).code).toBe(0);
      expect(readdirSync(path.join(w.folder.root, 'cache/voxform/manifests'))).toHaveLength(2);
      expect(readFileSync(path.join(w.folder.root, 'today.plan'), 'utf8')).toMatch(
        /^-----BEGIN AGE ENCRYPTED FILE-----\n/,
      );
      expect((await w.runWith(WITH_FIRST, 'show', 'today.plan')).stdout).toContain('Twice.');
      expect((await w.run('show', 'today.plan')).stderr).toContain('STATE_IDENTITY');
      await w.folder.write('.env', `STATE_IDENTITY=${WITH_FIRST.STATE_IDENTITY}\n`);
      expect((await w.run('show', 'today.plan')).stdout).toContain('Twice.');
      expect((await w.run('--no-env-file', 'show', 'today.plan')).stderr).toContain('STATE_IDENTITY');
      await w.folder.write('.env', '');
      const applied = await w.runWith(WITH_FIRST, 'apply', 'today.plan');
      expect(applied.stdout).toMatch(/Applied: .*1 updated/);
      expect(filesWith('periwinkle', w.folder.root)).toEqual([]);
    });
    await step('has a history and backups', async () => {
      const { stdout } = await w.runWith(WITH_FIRST, 'history', '--output', 'json');
      expect(JSON.parse(stdout).runs).toEqual(
        expect.arrayContaining([expect.objectContaining({ command: 'apply', result: 'died' })]),
      );
      expect(filesWith('"command"', path.join(w.folder.root, '.voxform'))).toEqual([]);
      await rm(path.join(w.folder.root, '.voxform/test.state.json'));
      const lost = await w.runWith(WITH_FIRST, 'recover');
      expect(lost.stdout).toContain('line-0');
    });
  });

  it('cannot be read without its identity', async () => {
    await using w = await scene();
    await w.seal(first.recipient);
    await w.runWith(WITH_FIRST, 'apply', '--auto-approve');
    for (const args of [['plan'], ['apply', '--auto-approve'], ['state', 'list'], ['status'], ['history']]) {
      const { code, stderr } = await w.run(...args);
      expect([args, code, stderr]).toEqual([args, 1, expect.stringContaining('needs STATE_IDENTITY')]);
    }
    const other = await w.runWith({ STATE_IDENTITY: second.identity }, 'plan');
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining(first.recipient)]);
    const wrong = await w.runWith({ STATE_IDENTITY: first.recipient }, 'plan');
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('not an age identity')]);
    expect(wrong.stderr).not.toContain(first.identity);
    expect((await w.run('validate')).code).toBe(0);
    const writes = w.writes();
    await w.run('apply', '--auto-approve');
    expect(w.writes()).toBe(writes);
  });

  it('is sealed later, sealed for others, and decrypted again, each time with its backups', {
    tags: ['long'],
  }, async () => {
    await using w = await scene();
    await w.run('apply', '--auto-approve');
    expect(filesWith('periwinkle', w.folder.root)).not.toEqual([]);
    const { stdout: plain } = await w.run('state', 'pull');
    await w.seal(first.recipient);
    await step('is refused until it is sealed', async () => {
      const { code, stderr } = await w.runWith(WITH_FIRST, 'plan');
      expect([code, stderr]).toEqual([1, expect.stringContaining('voxform state seal')]);
      expect((await w.runWith(WITH_FIRST, 'state', 'seal')).code).toBe(0);
      expect(filesWith('periwinkle', w.folder.root)).toEqual([]);
      const { stdout } = await w.runWith(WITH_FIRST, 'state', 'pull');
      expect(JSON.parse(stdout).resources).toEqual(JSON.parse(plain).resources);
      expect((await w.runWith(WITH_FIRST, 'plan', '--detailed-exitcode')).code).toBe(0);
    });
    await step('changes its recipients', async () => {
      await w.seal(second.recipient);
      expect((await w.runWith({ STATE_IDENTITY: second.identity }, 'plan')).code).toBe(1);
      const both = { STATE_IDENTITY: `# two\n${first.identity}\n${second.identity}\n` };
      expect((await w.runWith(both, 'state', 'seal')).code).toBe(0);
      expect((await w.runWith({ STATE_IDENTITY: second.identity }, 'history')).stdout).toContain('apply');
      expect((await w.runWith({ STATE_IDENTITY: second.identity }, 'plan')).code).toBe(0);
      expect((await w.runWith(WITH_FIRST, 'plan')).code).toBe(1);
    });
    await step('is decrypted', async () => {
      const withSecond = { STATE_IDENTITY: second.identity };
      expect((await w.runWith(withSecond, 'state', 'unseal')).code).toBe(0);
      expect(filesWith('"sealed"', path.join(w.folder.root, '.voxform'))).toEqual([]);
      await w.folder.write('voxform.yaml', projectFile(w.emulator));
      expect((await w.run('plan', '--detailed-exitcode')).code).toBe(0);
      expect((await w.run('history')).stdout).toContain('state unseal');
    });
    await step('needs its settings to be decrypted', async () => {
      await w.seal(first.recipient);
      await w.runWith(WITH_FIRST, 'state', 'seal');
      await w.folder.write('voxform.yaml', projectFile(w.emulator));
      const { code, stderr } = await w.run('plan');
      expect([code, stderr]).toEqual([1, expect.stringContaining('voxform state unseal')]);
      expect((await w.run('state', 'unseal')).stderr).toContain('state.seal is not set');
    });
  });

  it.each(['before-fold', 'before-rename', 'after-rename', 'before-truncate'])(
    'is complete after "state seal" was killed %s, and sealed by the next run',
    { tags: ['long'] },
    async (place) => {
      await using w = await scene();
      await w.run('apply', '--auto-approve');
      const { stdout: plain } = await w.run('state', 'pull');
      await w.seal(first.recipient);
      const state = path.join(w.folder.root, '.voxform/test.state.json');
      const args = [VICTIM, inject('built'), state, place, '1', 'state', 'seal'];
      const env = { ...process.env, ...WITH_FIRST, VOXFORM_API_KEY: API_KEY };
      const { signal } = spawnSync(process.execPath, args, { cwd: w.folder.root, env });
      expect(signal).toBe('SIGKILL');
      const again = await w.runWith(WITH_FIRST, 'state', 'seal');
      expect([again.code, again.stdout], again.stderr).toEqual([0, expect.stringContaining('ealed')]);
      const { stdout } = await w.runWith(WITH_FIRST, 'state', 'pull');
      expect(JSON.parse(stdout).resources).toEqual(JSON.parse(plain).resources);
      expect(filesWith('periwinkle', w.folder.root)).toEqual([]);
      expect((await w.runWith(WITH_FIRST, 'plan', '--detailed-exitcode')).code).toBe(0);
    },
  );

  it('keeps a damaged journal unchanged, because a line of it may contain the only copy of an id', async () => {
    await using w = await scene();
    await w.run('apply', '--auto-approve');
    await w.seal(first.recipient);
    const damaged = path.join(w.folder.root, '.voxform/test.state.json.journal.aside-x');
    const bytes = Buffer.from(`00000000 {"damaged":"line"}\n${'0'.repeat(8)} also damaged\n`);
    await writeFile(damaged, bytes);
    const { code, stderr } = await w.runWith(WITH_FIRST, 'state', 'seal');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/journal\.aside-x\s+cannot be read, and is unchanged/)]);
    expect(readFileSync(damaged)).toEqual(bytes);
  });

  it('keeps a readable history after a run with another key', async () => {
    await using w = await scene();
    await w.seal(first.recipient);
    await w.runWith(WITH_FIRST, 'apply', '--auto-approve');
    await w.seal(second.recipient);
    const withSecond = { STATE_IDENTITY: second.identity };
    expect((await w.runWith(withSecond, 'apply', '--auto-approve')).stderr).toContain(first.recipient);
    await w.seal(first.recipient);
    const runs = async (env: Readonly<Record<string, string>>) =>
      JSON.parse((await w.runWith(env, 'history', '--output', 'json')).stdout).runs.length;
    expect(await runs(WITH_FIRST)).toBe(1);
    expect(await runs(withSecond)).toBe(1);
    expect((await w.runWith(WITH_FIRST, 'state', 'seal')).stderr).toBe('');
    expect(await runs(withSecond)).toBe(1);
    expect((await w.runWith(WITH_FIRST, 'state', 'unseal')).stderr).toBe('');
    await w.folder.write('voxform.yaml', projectFile(w.emulator));
    expect(await runs({})).toBe(3);
  });

  it('is refused after an edit', async () => {
    await using w = await scene();
    await w.seal(first.recipient);
    await w.runWith(WITH_FIRST, 'apply', '--auto-approve');
    const file = path.join(w.folder.root, '.voxform/test.state.json');
    const document = JSON.parse(readFileSync(file, 'utf8'));
    const [backup = ''] = readdirSync(path.dirname(file)).filter((name) => name.endsWith('.backup-0'));
    const other = JSON.parse(readFileSync(path.join(path.dirname(file), backup), 'utf8'));
    for (const change of [{ serial: 9 }, { sealed: other.sealed }, { sealed: document.sealed.replace(/A/g, 'B') }]) {
      await writeFile(file, JSON.stringify({ ...document, ...change }));
      const { code, stderr } = await w.runWith(WITH_FIRST, 'plan');
      expect([change, code, stderr]).toEqual([change, 1, expect.stringContaining('error:')]);
    }
  });

  it('is moved to another backend without a prompt in its objects', { tags: ['long'] }, async () => {
    await using w = await scene();
    await w.run('apply', '--auto-approve');
    const bare = newRepository(w.folder.root, path.join(w.folder.root, 'voice.git'));
    await w.folder.write('voxform.yaml', sealedProject(w.emulator, [first.recipient], 'git'));
    const moved = await w.runWith(WITH_FIRST, 'state', 'move', '--from', 'local');
    expect([moved.code, moved.stderr]).toEqual([0, '']);
    await w.folder.write('manifests/0.yaml', agentManifest('line-0', `${PROMPT} Twice.`));
    expect((await w.runWith(WITH_FIRST, 'apply', '--auto-approve')).code).toBe(0);
    const objects = git(bare, 'cat-file', '--batch-all-objects', '--batch-check=%(objectname)').split('\n');
    const texts = objects.map((id) => git(bare, 'cat-file', '-p', id));
    expect(texts.join('\n')).toContain('"sealed"');
    expect(texts.filter((text) => text.includes('periwinkle'))).toEqual([]);
  });

  const hasAge = spawnSync('age', ['--version']).error === undefined;
  it.skipIf(!hasAge)(`can be decrypted by age${hasAge ? '' : ' (NOT RUN: age IS MISSING)'}`, async () => {
    await using w = await scene();
    await w.seal(first.recipient, second.recipient);
    await w.runWith(WITH_FIRST, 'apply', '--auto-approve');
    const { stdout: plain } = await w.runWith(WITH_FIRST, 'state', 'pull');
    const { stdout: sealed } = await w.runWith(WITH_FIRST, 'state', 'pull', '--sealed');
    await w.folder.write('identity.txt', second.identity);
    const age = spawnSync('age', ['--decrypt', '-i', path.join(w.folder.root, 'identity.txt')], {
      input: sealed,
      encoding: 'utf8',
    });
    expect([age.status, age.stdout]).toEqual([0, plain]);
    const stored = JSON.parse(readFileSync(path.join(w.folder.root, '.voxform/test.state.json'), 'utf8'));
    const inside = spawnSync('sh', ['-c', 'age --decrypt -i identity.txt | gunzip'], {
      cwd: w.folder.root,
      input: stored.sealed,
      encoding: 'utf8',
    });
    expect(JSON.parse(inside.stdout).resources).toEqual(JSON.parse(plain).resources);
    await w.folder.write('state.age', sealed);
    expect((await w.runWith(WITH_FIRST, 'state', 'push', 'state.age')).stdout).toContain('identical');
    await w.folder.write('windows.age', sealed.replaceAll('\n', '\r\n'));
    expect((await w.runWith(WITH_FIRST, 'state', 'push', 'windows.age')).stdout).toContain('identical');
  });
});
