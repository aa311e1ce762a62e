/** @module-tag long */

import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { type Folder, temporaryFolder } from '../cli/voxform-process.ts';
import { API_KEY, agentManifest, projectFile, webhookManifest } from '../cli/workspace.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { RunningWatch } from './running-watch.ts';

const env = { VOXFORM_API_KEY: API_KEY };

/** A window that is always open, and a chat that receives all notifications. */
const SETTINGS = `watch: { windows: [{ cron: "* * * * *", duration: 5m }] }
notify: [{ url: { $secret: CHAT } }]
`;
const quick = ['--interval', '1h', '--first-retry', '0.2s', '--longest-retry', '0.4s', '--listen', '127.0.0.1:0'];
const applying = ['--mode', 'apply', '--auto-approve', ...quick];

interface Status {
  readonly ready: boolean;
  readonly commit: string | null;
  readonly failures: number;
  readonly last_run: {
    readonly result: string;
    readonly manifests_valid: boolean;
    readonly resources: Readonly<Record<string, number>>;
    readonly applied: readonly unknown[];
  };
}

async function status(url: string): Promise<Status> {
  return (await (await fetch(`${url}/status`)).json()) as Status;
}

async function figure(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
}

async function ask(url: string): Promise<void> {
  expect((await fetch(`${url}/reconcile`, { method: 'POST' })).status).toBe(202);
}

async function expectConverged(folder: string): Promise<void> {
  const { code, stdout, stderr } = await command(['plan', '--detailed-exitcode'], { cwd: folder, env });
  expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining('No changes.') });
}

/** Expects that one more run has nothing to do. */
async function expectInSync(watch: RunningWatch, url: string): Promise<void> {
  await ask(url);
  await watch.until('run', ({ triggers }) => String(triggers).includes('request'));
  const { result, resources, applied } = (await status(url)).last_run;
  expect({ result, applied, kinds: Object.keys(resources) }).toEqual({
    result: 'ok',
    applied: [],
    kinds: ['in_sync'],
  });
}

/** Returns the agent with this name. */
function agentNamed(emulator: Emulator, name: string) {
  const found = [...emulator.world.agents.values()].filter((agent) => agent.name === name);
  expect(found).toHaveLength(1);
  return found[0] as (typeof found)[number];
}

/** Edits a prompt as a user of the dashboard. */
function editPrompt(emulator: Emulator, prompt: string): void {
  const { id } = agentNamed(emulator, 'reception');
  emulator.dashboard.edit('agents', id, { prompt_config: { prompt } });
}

function promptOf(emulator: Emulator, name: string): unknown {
  return agentNamed(emulator, name).prompt_config?.prompt;
}

interface Day extends AsyncDisposable {
  readonly emulator: Emulator;
  readonly folder: Folder;
  readonly sent: readonly { readonly event: string; readonly text: string }[];
  /** Starts a watch of the folder. */
  start(args: readonly string[], place?: 'a process'): RunningWatch;
}

/** Creates a platform, a project with an agent and a webhook, and a chat for notifications. */
async function day(): Promise<Day> {
  const emulator = await startEmulator({ seed: 7 });
  const folder = await temporaryFolder({
    'voxform.yaml': projectFile(emulator, SETTINGS),
    'manifests/a.yaml': agentManifest('reception'),
    'manifests/b.yaml': `${webhookManifest('calls', 'https://hooks.example.com/calls')}`,
  });
  const sent: { readonly event: string; readonly text: string }[] = [];
  const chat = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (more: string) => (text += more));
    request.on('end', () => {
      sent.push(JSON.parse(text) as (typeof sent)[number]);
      response.end();
    });
  });
  await new Promise<void>((resolve) => chat.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(chat.address() as AddressInfo).port}/secret`;
  const started: RunningWatch[] = [];
  return {
    emulator,
    folder,
    sent,
    start(args, place) {
      const watch = new RunningWatch(args, {
        cwd: folder.root,
        env: { ...env, CHAT: address },
        ...(place && { in: place }),
      });
      started.push(watch);
      return watch;
    },
    async [Symbol.asyncDispose]() {
      for (const watch of started) watch.signal('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      chat.close();
      await folder[Symbol.asyncDispose]();
      await emulator[Symbol.asyncDispose]();
    },
  };
}

/** Creates the same with a watch that has applied everything. */
async function begunDay(place?: 'a process'): Promise<Day & { readonly watch: RunningWatch; readonly url: string }> {
  const begun = await day();
  const watch = begun.start(applying, place);
  const url = await watch.url();
  await watch.until('run', ({ result }) => result === 'ok');
  return { ...begun, watch, url };
}

async function stopped(watch: RunningWatch): Promise<void> {
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0, stdout: '' });
}

const eventsOf = ({ sent }: Day): string[] => [...new Set(sent.map(({ event }) => event))].sort();

it('converges after edits and drift, also while the manifests are invalid', async () => {
  await using begun = await begunDay('a process');
  const { emulator, folder, watch, url, sent } = begun;
  await step('the first run applies everything', async () => {
    expect([emulator.world.agents.size, emulator.world.webhooks.size]).toEqual([1, 1]);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  await step('an editor writes a new file and renames it: the edit is applied', async () => {
    await folder.write('manifests/a.tmp', agentManifest('reception', 'Be brief.'));
    await rename(path.join(folder.root, 'manifests/a.tmp'), path.join(folder.root, 'manifests/a.yaml'));
    await watch.until('applied', ({ address }) => address === 'Agent/reception');
    await watch.until('run', ({ result }) => result === 'ok');
    expect(promptOf(emulator, 'reception')).toBe('Be brief.');
    await expectInSync(watch, url);
  });

  await step('a change in the dashboard: reported as drift and reverted', async () => {
    editPrompt(emulator, 'Be rude.');
    await ask(url);
    expect(await watch.until('drift')).toMatchObject({
      address: 'Agent/reception',
      fields: ['prompt_config.prompt'],
    });
    await watch.until('run', ({ result }) => result === 'ok');
    expect(promptOf(emulator, 'reception')).toBe('Be brief.');
    await expectInSync(watch, url);
  });

  await step('an invalid file: the last valid manifests still revert drift', async () => {
    await writeFile(path.join(folder.root, 'manifests/a.yaml'), 'apiVersion: voxform/v1\nkind: Agent\nmetadata: {');
    await watch.until('manifests-refused');
    editPrompt(emulator, 'Be rude again.');
    watch.signal('SIGHUP');
    await watch.until('applied', ({ address }) => address === 'Agent/reception');
    await watch.until('run', ({ result }) => result === 'ok');
    expect((await status(url)).last_run.manifests_valid).toBe(false);
    expect(promptOf(emulator, 'reception')).toBe('Be brief.');
  });

  await step('the file is valid again: it is applied', async () => {
    await folder.write('manifests/a.yaml', agentManifest('reception', 'Be exact.'));
    await watch.until('valid');
    await watch.until('run', ({ result }) => result === 'ok');
    expect(promptOf(emulator, 'reception')).toBe('Be exact.');
    await expectInSync(watch, url);
  });

  await stopped(watch);
  await expectConverged(folder.root);
  expect(eventsOf(begun)).toEqual(['changes', 'drift', 'failure']);
  expect(sent.filter(({ text }) => text.includes('drift\nAgent/reception'))).toHaveLength(2);
});

it('applies hundreds of files that a checkout writes at once in a few runs', async () => {
  await using begun = await begunDay();
  const { emulator, folder, watch, url } = begun;
  const before = await figure(url, 'voxform_run_duration_seconds_count');
  await mkdir(path.join(folder.root, 'manifests/many'));
  for (let number = 0; number < 200; number++)
    await folder.write(`manifests/many/${number}.yaml`, agentManifest(`many-${number}`));
  await watch.until('applied', ({ address }) => address === 'Agent/many-199');
  await watch.until('run', ({ result }) => result === 'ok');
  expect(emulator.world.agents.size).toBe(201);
  // A loaded machine may interrupt the writes and so cause more than one run.
  expect((await figure(url, 'voxform_run_duration_seconds_count')) - before).toBeLessThan(6);
  await expectInSync(watch, url);
});

it('retries a short outage within a run, and resumes after a long one with an edit in between', async () => {
  await using begun = await begunDay();
  const { emulator, folder, watch, url } = begun;
  await step('two 503 and a broken connection: the run retries and succeeds', async () => {
    emulator.faults.add({ times: 2, fault: { status: 503 } });
    emulator.faults.add({ times: 1, fault: { cut: 'before' } });
    await expectInSync(watch, url);
    expect(await figure(url, 'voxform_api_retries_total{method="GET"}')).toBeGreaterThan(0);
  });

  await step('every request is refused, and a manifest is edited: runs fail and are retried', async () => {
    emulator.faults.add({ times: 100_000, fault: { status: 401 } });
    await ask(url);
    await watch.until('failed');
    await folder.write('manifests/a.yaml', agentManifest('reception', 'Be patient.'));
    const failed = (trigger: string) =>
      watch.until('run', ({ triggers, result }) => result === 'failed' && String(triggers).includes(trigger));
    await failed('files');
    await failed('retry');
    expect((await status(url)).failures).toBeGreaterThan(1);
  });

  await step('the platform answers again: the edit is applied', async () => {
    emulator.faults.clear();
    await watch.until('recovered');
    await watch.until('run', ({ result }) => result === 'ok');
    expect(promptOf(emulator, 'reception')).toBe('Be patient.');
    await expectInSync(watch, url);
  });

  await stopped(watch);
  expect(eventsOf(begun)).toContain('failure');
});

it('creates no duplicate after a kill during an apply', async () => {
  await using begun = await begunDay('a process');
  const { emulator, folder, watch } = begun;
  await step('the watch is killed after the platform created the agent, before the response', async () => {
    emulator.faults.add({ match: { method: 'POST' }, fault: { delayMs: 3_600_000 } });
    const created = Promise.withResolvers<void>();
    emulator.world.onWrite = () => created.resolve();
    await folder.write('manifests/c.yaml', agentManifest('evening'));
    await created.promise;
    watch.signal('SIGKILL');
    await watch.ended;
  });

  const next = await step('the next watch reports an unknown create and creates nothing', async () => {
    const restarted = begun.start(applying);
    await restarted.until('manual-steps', ({ address, action }) => address === 'Agent/evening' && action === 'unknown');
    await restarted.until('run', ({ result }) => result === 'ok');
    return restarted;
  });

  const { id } = agentNamed(emulator, 'evening');
  const importing = ['import', 'Agent/evening', id, '--lock-timeout', '20s'];
  expect((await command(importing, { cwd: folder.root, env })).code).toBe(0);
  await stopped(next);
  await expectConverged(folder.root);
});

it('releases a removed resource after the debounce, and continues after a restart', async () => {
  await using begun = await begunDay();
  const { folder, watch, sent } = begun;
  await step('a manifest is deleted: its resource is released after the debounce', async () => {
    await rm(path.join(folder.root, 'manifests/b.yaml'));
    await watch.until('held', ({ why }) => why === 'leaving');
    await watch.until('applied', ({ address, action }) => address === 'Webhook/calls' && action === 'forget');
    await watch.until('run', ({ result }) => result === 'ok');
    await stopped(watch);
    await expectConverged(folder.root);
  });

  await step('a watch in report mode restarts', async () => {
    const reports = begun.start(quick);
    await reports.until('run', ({ result }) => result === 'ok');
    reports.signal('SIGINT');
    expect(await reports.ended).toMatchObject({ code: 0 });
  });

  expect(sent.map(({ text }) => text)).toContain('voxform test: changes\nforgotten Webhook/calls');
});

it('follows a branch through invalid commits and rewritten history', async () => {
  await using emulator = await startEmulator({ seed: 8 });
  await using folder = await temporaryFolder();
  const git = gitIn(folder);
  const [remote, home] = [path.join(folder.root, 'remote.git'), path.join(folder.root, 'home')];
  await mkdir(home);
  execFileSync('git', ['init', '--quiet', '--bare', '-b', 'main', remote]);
  git('init', '--quiet', '-b', 'main');
  const push = async (files: Readonly<Record<string, string>>, ...how: string[]): Promise<string> => {
    for (const [name, text] of Object.entries(files)) await folder.write(`work/${name}`, text);
    git('add', '-A');
    git('commit', '--quiet', '-m', 'x', ...how);
    git('push', '--quiet', '--force', remote, 'main');
    return git('rev-parse', 'HEAD');
  };
  const first = await push({
    'voice/voxform.yaml': projectFile(emulator),
    'voice/manifests/a.yaml': agentManifest('reception', 'One.'),
  });
  const args = ['--git', remote, '--path', 'voice', ...applying];
  let watch = new RunningWatch(args, { cwd: home, env });
  let url = await watch.url();
  await step('the first commit is applied', async () => {
    await watch.until('commit', ({ commit }) => commit === first);
    await watch.until('run', ({ result }) => result === 'ok');
    expect(promptOf(emulator, 'reception')).toBe('One.');
  });

  await step('a commit with an invalid manifest: the previous commit remains in effect', async () => {
    await push({ 'voice/manifests/a.yaml': 'kind: Nonsense' });
    await ask(url);
    await watch.until('manifests-refused');
    await watch.until('run', ({ result }) => result === 'ok');
    expect((await status(url)).commit).toBe(first);
  });

  await step('after a restart: the last good commit and the state are still known', async () => {
    watch.signal('SIGTERM');
    await watch.ended;
    editPrompt(emulator, 'Rude.');
    watch = new RunningWatch(args, { cwd: home, env });
    url = await watch.url();
    await watch.until('commit', ({ commit }) => commit === first);
    await watch.until('run', ({ result }) => result === 'ok');
    expect(promptOf(emulator, 'reception')).toBe('One.');
    expect(await readFile(path.join(home, '.voxform/test.state.json'), 'utf8')).toContain('Agent/reception');
  });

  await step(
    'the history is rewritten while the remote is unavailable: the commit is applied when the remote is back',
    async () => {
      const rewritten = await push({ 'voice/manifests/a.yaml': agentManifest('reception', 'Two.') }, '--amend');
      await rename(remote, `${remote}.away`);
      await ask(url);
      await watch.until('fetch-failed');
      await watch.until('run', ({ result }) => result === 'ok');
      await rename(`${remote}.away`, remote);
      await ask(url);
      await watch.until('commit', ({ commit }) => commit === rewritten);
      await watch.until('run', ({ result }) => result === 'ok');
      expect([promptOf(emulator, 'reception'), emulator.world.agents.size]).toEqual(['Two.', 1]);
    },
  );

  await expectInSync(watch, url);
  watch.signal('SIGTERM');
  expect(await watch.ended).toMatchObject({ code: 0 });
});

function gitIn({ root }: Folder): (...args: string[]) => string {
  const work = path.join(root, 'work');
  execFileSync('mkdir', ['-p', work]);
  const settings = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  return (...args) =>
    execFileSync('git', ['-C', work, ...settings, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
}
