import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it, vi } from 'vitest';
import { Interrupts } from '../../src/cli/interrupts.ts';
import type { HistoryDocument, PastRun } from '../../src/runs/past-runs.ts';
import type { JournalEvent } from '../../src/state/journal-lines.ts';
import { beginningLine } from '../../src/state/run-history.ts';
import { createLocalStore, creating, lockRequest, saved } from '../state/temporary-state.ts';
import { command } from '../trust/in-process.ts';
import { API_KEY, agentManifest, type TestWorkspace, testWorkspace } from './workspace.ts';

const FILES = { 'manifests/a.yaml': agentManifest('day'), 'manifests/b.yaml': agentManifest('night') };
const HISTORY = '.voxform/test.history.jsonl';
const CI = {
  GITHUB_RUN_ID: '7',
  GITHUB_SERVER_URL: 'https://github.example.com',
  GITHUB_REPOSITORY: 'org/voices',
  GITHUB_WORKFLOW: 'voxform',
  GITHUB_JOB: 'apply',
};

async function runsIn({ run }: TestWorkspace, ...args: string[]): Promise<readonly PastRun[]> {
  const { stdout } = await run('history', '--output', 'json', ...args);
  const validate = new Ajv2020().compile(
    JSON.parse(readFileSync(path.resolve(import.meta.dirname, '../../schemas/history.schema.json'), 'utf8')),
  );
  const document = JSON.parse(stdout) as HistoryDocument;
  expect(validate(document), JSON.stringify(validate.errors)).toBe(true);
  return document.runs;
}

it('history lists a rename, and records that still exist after their release', async () => {
  await using w = await testWorkspace(FILES);
  await w.run('apply', '--auto-approve');
  const renamed = agentManifest('day').replace('name: day', 'name: dawn\n  previous_names: [day]');
  await w.folder.write('manifests/a.yaml', renamed);
  const { stdout } = await w.run('apply', '--auto-approve');
  expect(stdout).toContain('Plan: 1 to rename.');
  expect(stdout).toContain('Applied: 1 renamed.');
  await rm(path.join(w.folder.root, 'manifests/b.yaml'));
  expect((await w.run('apply', '--auto-approve')).stdout).toContain('voxform orphans');
  const [released, rename] = await runsIn(w);
  expect(rename?.resources).toMatchObject([
    { action: 'rename', from: 'Agent/day', address: 'Agent/dawn', result: 'done' },
  ]);
  expect(released?.resources).toMatchObject([{ action: 'forget', address: 'Agent/night' }]);
});

it('history lists every run that locked the state, with its changes and its result', async () => {
  await using w = await testWorkspace(FILES);
  await w.run('apply', '--auto-approve');
  await w.folder.write('manifests/b.yaml', agentManifest('night', 'Be quick.'));
  await w.run('plan', '--out', 'p.plan');
  await w.run('apply', 'p.plan', '--auto-approve');
  await w.run('apply', 'p.plan', '--auto-approve');
  await w.run('state', 'mv', 'Agent/day', 'Agent/morning');
  await w.run('state', 'rm', 'Agent/morning');
  const id = [...w.emulator.world.agents.values()].find(({ name }) => name === 'day')?.id ?? '';
  await w.run('import', 'Agent/day', id);
  await w.run('import', 'Agent/other', '01ARZ3NDEKTSV4RRFFQ69G5FAV');
  await w.run('apply');
  await w.run('state', 'pull');
  const runs = await runsIn(w);
  const told = runs.map(({ command: name, result, resources = [] }) => [
    name,
    result,
    ...resources.map((each) => `${each.action} ${each.address} ${each.id === null ? 'no id' : 'id'} ${each.paths}`),
  ]);
  expect(told.reverse()).toEqual([
    ['apply', 'done', 'create Agent/day id ', 'create Agent/night id '],
    ['apply', 'done', 'update Agent/night id prompt_config.prompt'],
    ['apply', 'refused'],
    ['state mv', 'done', 'rename Agent/morning id '],
    ['state rm', 'done', 'release Agent/morning id '],
    ['import', 'done', 'import Agent/day id '],
    ['import', 'refused'],
    ['apply', 'done'],
  ]);
  const digest = (JSON.parse(readFileSync(path.join(w.folder.root, 'p.plan'), 'utf8')) as { digest: string }).digest;
  const applied = runs.filter(({ command: name }) => name === 'apply').reverse();
  const saved = { digest, summary: { update: 1 } };
  const other = { digest: expect.stringMatching(/^[0-9a-f]{32}$/) };
  expect(applied.map(({ plan }) => plan)).toMatchObject([{ ...other, summary: { create: 2 } }, saved, saved, other]);
  expect(runs.find(({ result }) => result === 'refused')?.error).toContain('01ARZ3NDEKTSV4RRFFQ69G5FAV');
  expect(readFileSync(path.join(w.folder.root, HISTORY), 'utf8')).not.toContain('Be quick');
  expect((await runsIn(w, 'Agent/day')).map((run) => run.command)).toEqual(['import', 'state mv', 'apply']);
  expect((await runsIn(w, '-n', '2')).map((run) => run.command)).toEqual(['apply', 'import']);
  expect(await runsIn(w, '--since', '2999-01-01')).toEqual([]);
  const anHourLater = new Date(Date.now() + 3_600_000).toISOString().slice(0, 19);
  const inTokyo = w.start(['history', '--since', anHourLater], { env: { TZ: 'Asia/Tokyo' } });
  expect((await inTokyo.ended).stdout).toBe('');
});

it('history lists failures, guards and interrupts, and no value from an error response', async () => {
  const interrupts = new Interrupts(() => undefined);
  let isLast = false;
  await using w = await testWorkspace(FILES, {
    onRequest({ method }) {
      if (method === 'POST' && isLast) interrupts.raise('SIGINT');
    },
  });
  await w.run('apply', '--auto-approve', '--target', 'Agent/night');
  const message = `nobody may say Be kind. with ${API_KEY}`;
  const body = { errors: [{ path: 'prompt_config.prompt', code: 'not_allowed', message }] };
  w.emulator.faults.add({ match: { method: 'POST' }, fault: { status: 422, body } });
  const refused = await w.run('apply', '--auto-approve');
  expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('nobody may say Be kind.')]);
  // A failed read is retried while the manifests are still being loaded.
  w.emulator.faults.add({ match: { method: 'GET' }, times: 100, fault: { status: 400, body } });
  expect((await w.run('apply', '--auto-approve')).code).toBe(1);
  w.emulator.faults.clear();
  const names = Array.from({ length: 12 }, (_, index) => `a${index}`);
  for (const name of names) await w.folder.write(`manifests/${name}.yaml`, agentManifest(name));
  expect((await w.run('apply', '--auto-approve')).code).toBe(0);
  for (const name of names) await w.folder.write(`manifests/${name}.yaml`, agentManifest(name, 'Be quick.'));
  expect((await w.run('apply', '--auto-approve')).code).toBe(1);
  const large = await w.run('apply', '--auto-approve', '--allow-large-change');
  expect([large.code, large.stdout]).toEqual([0, expect.not.stringContaining('Guards')]);
  await w.folder.write('manifests/c.yaml', agentManifest('evening'));
  isLast = true;
  const surroundings = { cwd: w.folder.root, env: { VOXFORM_API_KEY: API_KEY }, interrupts };
  expect((await command(['apply', '--auto-approve'], surroundings)).code).toBe(130);

  const [interrupted, lifted, guarded, , unread, failed] = await runsIn(w);
  expect(interrupted).toMatchObject({ result: 'interrupted', resources: [{ address: 'Agent/evening' }] });
  expect(lifted).toMatchObject({
    result: 'done',
    lifted: ['large_change'],
    plan: { summary: { update: 12 } },
  });
  expect(guarded).toMatchObject({
    result: 'refused',
    error: expect.stringContaining('nothing was written'),
    plan: lifted?.plan,
  });
  expect(failed?.result).toBe('failed');
  const [wrong] = failed?.resources?.filter(({ result }) => result === 'failed') ?? [];
  for (const error of [wrong?.error, unread?.error]) {
    expect(error).toMatch(/4\d\d .*not_allowed.*prompt_config\.prompt/);
  }
  expect(readFileSync(path.join(w.folder.root, HISTORY), 'utf8')).not.toMatch(/nobody may|Be kind|test-workspace/);
});

it('history lists the runs of watch', async () => {
  await using w = await testWorkspace(FILES);
  const surroundings = { cwd: w.folder.root, env: { VOXFORM_API_KEY: API_KEY }, until: /"event":"run"/ };
  await command(['watch', '-v', '--mode', 'apply', '--auto-approve'], surroundings);
  expect(await runsIn(w)).toMatchObject([
    { command: 'watch', result: 'done', resources: [{ address: 'Agent/day' }, { address: 'Agent/night' }] },
  ]);
});

it('history lists the user, the job and the commit of a run', async () => {
  await using w = await testWorkspace(FILES);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: w.folder.root,
      encoding: 'utf8',
    }).trim();
  await w.folder.write('.gitignore', '*.plan\n');
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message', 'Begin');
  const commit = git('rev-parse', 'HEAD');
  await w.runWith(CI, 'apply', '--auto-approve');
  await w.folder.write('manifests/b.yaml', agentManifest('night', 'Be quick.'));
  // These variables are set as in a hook of another repository.
  const hook = { GIT_DIR: '/elsewhere/.git', GIT_INDEX_FILE: '/elsewhere/.git/index' };
  for (const [name, value] of Object.entries(hook)) vi.stubEnv(name, value);
  await w.runWith(hook, 'apply', '--auto-approve').finally(() => vi.unstubAllEnvs());
  const [later, first] = await runsIn(w);
  const url = 'https://github.example.com/org/voices/actions/runs/7';
  expect(first).toMatchObject({ commit, job: { name: 'voxform / apply', url } });
  expect(later?.commit).toBe(`${commit}-dirty`);
  expect(later?.job).toBeUndefined();
});

it('history distinguishes running from dead runs, and the lock names its job', async () => {
  await using w = await testWorkspace(FILES);
  await w.run('apply', '--auto-approve');
  const job = { name: 'nightly', url: 'https://ci.example.com/7' };
  const now = () => new Date();
  const at = (file: string) => path.join(w.folder.root, file);
  const user = { host: 'runner', user: 'ci', pid: process.pid, version: '0.0.0', job, now };
  const store = createLocalStore({ ...user, root: w.folder.root, path: at('.voxform/test.state.json') });
  const deadRun = {
    id: 'dead-1',
    operation: 'apply',
    who: 'ann@here',
    host: 'here',
    voxform_version: '0',
    since: '2030',
  };
  appendFileSync(at(HISTORY), `${beginningLine(deadRun, undefined)}\n`);
  const lease = await store.lock(lockRequest({ isStep: false }));
  try {
    expect((await runsIn(w)).map(({ result }) => result)).toEqual(['running', 'died', 'done']);
    const { stderr } = await w.run('state', 'rm', 'Agent/day');
    expect(stderr.replace(/\s+/g, ' ')).toContain('locked by ci@runner (nightly https://ci.example.com/7)');
  } finally {
    await lease.release();
  }
  expect((await runsIn(w)).map(({ result }) => result)).toEqual(['done', 'died', 'done']);
  const left = await store.lock(lockRequest({ isStep: false }));
  const { stdout } = await w.run('state', 'unlock', left.info.id);
  expect(stdout).toMatch(/^Released the lock of ci@runner \(nightly .* for .*, lock \S+, last heartbeat \d+ s ago\.$/m);
  await left.release().catch(() => undefined);
});

it('history lists the changes of a killed run from its journal, once the next run has read it', async () => {
  await using w = await testWorkspace(FILES);
  await w.run('apply', '--auto-approve');
  const store = createLocalStore({
    host: 'runner',
    user: 'ci',
    pid: process.pid,
    version: '0.0.0',
    now: () => new Date(),
    root: w.folder.root,
    path: path.join(w.folder.root, '.voxform/test.state.json'),
  });
  const lease = await store.lock(lockRequest({ isStep: false }));
  const { document } = await lease.read();
  const { lineage = '', serial = 0 } = document ?? {};
  const paths = ['prompt_config.prompt'];
  const events: JournalEvent[] = [
    creating('new'),
    creating('lost'),
    creating('refused'),
    saved('new'),
    { type: 'not-done', address: 'Agent/refused' },
    { type: 'updating', address: 'Agent/day', paths },
  ];
  for (const [index, event] of events.entries())
    await lease.append({ lineage, serial, sequence: index + 1, at: new Date().toISOString(), event });
  // Releases the lock without a line about the end of the run in any history.
  await store.unlock(lease.info.id);
  await lease.release().catch(() => undefined);
  expect((await runsIn(w))[0]).toMatchObject({ run: lease.info.id, result: 'died' });

  await w.run('state', 'rm', 'Agent/night');
  const [, deadRun] = await runsIn(w);
  const told = deadRun?.resources?.map((each) => [each.action, each.address, each.id, each.result, each.error]);
  const day = document?.resources['Agent/day']?.id;
  expect(deadRun).toMatchObject({ run: lease.info.id, result: 'died', ended: expect.any(String) });
  expect(told).toEqual([
    ['create', 'Agent/new', 'id-new', 'done', undefined],
    ['create', 'Agent/refused', null, 'failed', 'not done'],
    ['create', 'Agent/lost', null, 'unknown', undefined],
    ['update', 'Agent/day', day, 'unknown', undefined],
  ]);
  const { stdout } = await w.run('history', 'show', lease.info.id);
  expect(stdout).toMatch(/^Last write +\d/m);
  expect(stdout).not.toContain('Ended');
  expect(stdout).toMatch(/^Agent\/lost +create +unknown/m);
  expect((await runsIn(w, 'Agent/new')).map(({ run }) => run)).toEqual([lease.info.id]);
});

it('history prints a table in 80 columns, and one run with all details', async () => {
  await using w = await testWorkspace(FILES);
  expect((await w.run('history')).stderr).toContain('No runs yet.');
  await w.runWith(CI, 'apply', '--auto-approve');
  await w.run('state', 'rm', 'Agent/not-there-at-all-nowhere');
  const env = { VOXFORM_API_KEY: API_KEY, NO_COLOR: '1', USER: 'ann' };
  const { stdout } = await command(['history'], { cwd: w.folder.root, env, columns: 80 });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines[0]).toMatch(/^RUN +WHEN \(UTC\) +WHO +COMMAND +RESULT +CHANGES$/);
  expect(lines[1]).toMatch(/^[\da-f]{8} {2}[-\d]{10} [:\d]{5} {2}\S+ +state rm +refused +the state/);
  expect(lines.at(-1)).toMatch(/^[\da-f]{8} {2}[-\d]{10} [:\d]{5} {2}voxform \/ apply +apply +done +2 created$/);
  const [refused, applied] = await runsIn(w);
  expect((await w.run('history')).stdout.split('\n')[1]).toMatch(/refused +the state.{25,30}…$/);
  const shown = await w.run('history', 'show', applied?.run.slice(0, 8) ?? '');
  expect(shown.stdout).toMatch(/^Job +voxform \/ apply\s+https:\S+\/7$/m);
  expect(shown.stdout).toMatch(/^Plan +2 to create$/m);
  expect(shown.stdout).toMatch(/^Agent\/day +create +done +\w+$/m);
  const json = await w.run('history', 'show', refused?.run ?? '', '--output', 'json');
  expect(JSON.parse(json.stdout)).toEqual(refused);
  expect((await w.run('history', 'show', 'zz')).stderr).toContain('the history has no run zz');
  expect((await w.run('history', 'show', '')).stderr).toContain('2 runs begin with');
  const jsonLines = (await w.run('history', '--output', 'jsonl')).stdout.trim().split('\n');
  expect(jsonLines.map((line) => JSON.parse(line) as PastRun)).toEqual([refused, applied]);
});
