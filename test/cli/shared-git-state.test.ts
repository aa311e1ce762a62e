/** @module-tag long */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import type { StateDocument } from '../../src/state/state-document.ts';
import { git, newRepository } from '../state/backends/git/git-server.ts';
import { type Ended, type Running, start } from './voxform-process.ts';
import { API_KEY, agentManifest, projectFile } from './workspace.ts';

const CREATE = ['apply', '--auto-approve', '--lock-timeout', '120'];

interface Machine {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  start(...args: string[]): Running;
  run(...args: string[]): Promise<Ended>;
}

interface Scene {
  readonly emulator: Emulator;
  readonly bare: string;
  /** Returns a clone of the manifests with its own home folder. */
  machine(): Machine;
}

/** Creates this number of agent manifests in a repository that also contains their state. */
async function scene(agents: number): Promise<Scene> {
  const emulator = await startEmulator({ seed: 1 });
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'voxform-shared-')));
  onTestFinished(async () => {
    await emulator.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });
  const first = path.join(root, 'first');
  const bare = newRepository(first, path.join(root, 'voice.git'));
  mkdirSync(path.join(first, 'manifests'));
  writeFileSync(path.join(first, 'voxform.yaml'), projectFile(emulator, 'state: { backend: git }\n'));
  for (let index = 0; index < agents; index++) {
    writeFileSync(path.join(first, `manifests/${index}.yaml`), agentManifest(`line-${index}`));
  }
  git(first, 'add', '-A');
  git(first, 'commit', '--quiet', '-m', 'manifests');
  git(first, 'push', '--quiet', 'origin', 'main');
  let count = 0;
  return {
    emulator,
    bare,
    machine() {
      count += 1;
      const folder = path.join(root, `machine-${count}`);
      execFileSync('git', ['clone', '--quiet', '--depth=1', '--branch=main', `file://${bare}`, folder]);
      const home = path.join(root, `home-${count}`);
      const env = {
        VOXFORM_API_KEY: API_KEY,
        HOME: home,
        XDG_CACHE_HOME: path.join(home, 'cache'),
        XDG_STATE_HOME: path.join(home, 'state'),
        GIT_CONFIG_NOSYSTEM: '1',
      };
      const begin = (...args: string[]): Running => start(args, { cwd: folder, env });
      return { folder, env, start: begin, run: (...args) => begin(...args).ended };
    },
  };
}

function names({ world }: Emulator): string[] {
  return [...world.agents.values()].map(({ name }) => String(name)).sort();
}

async function stateOf(machine: Machine): Promise<StateDocument> {
  return JSON.parse((await machine.run('state', 'pull')).stdout) as StateDocument;
}

/** Returns the content of every file of a repository and of its work tree. */
function bytesOf(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return new Map(
    files.map(({ parentPath, name }) => {
      const file = path.join(parentPath, name);
      return [file, readFileSync(file, 'base64')];
    }),
  );
}

it('a state in Git leaves no trace in the work tree and its local refs', async () => {
  const { machine, bare } = await scene(2);
  const here = machine();
  writeFileSync(path.join(here.folder, 'staged'), 'x');
  git(here.folder, 'add', 'staged');
  const before = bytesOf(here.folder);
  const facts = () =>
    [
      ['status', '--porcelain', '--branch'],
      ['config', '--list', '--local'],
      ['for-each-ref'],
      ['rev-parse', 'HEAD'],
    ].map((args) => git(here.folder, '--no-optional-locks', ...args));
  const factsBefore = facts();
  expect((await here.run('plan')).code).toBe(0);
  expect((await here.run(...CREATE)).code).toBe(0);
  expect((await here.run('state', 'list')).stdout.match(/managed/g)).toHaveLength(2);
  const { stderr } = await here.run('state', 'unlock', 'none');
  expect(stderr).toContain('the state refs/voxform/test of origin is not locked');
  expect(facts()).toEqual(factsBefore);
  expect(bytesOf(here.folder)).toEqual(before);
  expect(git(bare, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\nrefs/voxform/test');
  const { code, stdout } = await machine().run('plan', '--detailed-exitcode');
  expect([code, stdout]).toEqual([0, expect.stringContaining('No changes')]);
});

it('concurrent applies of several machines create every record once', async () => {
  const { machine, emulator } = await scene(6);
  const all = [machine(), machine(), machine()];
  const ended = await Promise.all(all.map((each) => each.run(...CREATE)));
  expect(ended.map(({ code, stderr }) => [code, code === 0 ? '' : stderr])).toEqual(all.map(() => [0, '']));
  expect(names(emulator)).toEqual(Array.from({ length: 6 }, (_, index) => `line-${index}`));
  const { resources } = await stateOf(machine());
  expect(Object.values(resources).map(({ id }) => id)).toHaveLength(6);
});

const creates = (emulator: Emulator): number => emulator.requests.filter(({ method }) => method === 'POST').length;

it('many creates cause few commits', async () => {
  const { machine, bare } = await scene(64);
  expect((await machine().run(...CREATE, '--concurrency', '16')).code).toBe(0);
  // At best 64 / 16 + 4, which the tests of the engine show in one process. Here, response times may split a batch.
  expect(Number(git(bare, 'rev-list', '--count', 'refs/voxform/test'))).toBeLessThanOrEqual(64 / 16 + 8);
});

it('the ids of a killed run are kept for another machine', async () => {
  const { machine, emulator, bare } = await scene(24);
  const killed = machine().start(...CREATE, '--concurrency', '4');
  await expect.poll(() => creates(emulator), { interval: 5 }).toBeGreaterThanOrEqual(9);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const there = machine();
  const lock = JSON.parse(git(bare, 'show', 'refs/voxform/test:lock.json')) as { id: string };
  const waiting = await there.run('apply', '--auto-approve');
  expect([waiting.code, waiting.stderr]).toEqual([1, expect.stringContaining(lock.id)]);
  expect((await there.run('state', 'unlock', lock.id)).code).toBe(0);
  await there.run(...CREATE);
  const { resources, pending } = await stateOf(machine());
  const known = new Set([...Object.keys(resources), ...Object.keys(pending)]);
  expect(new Set(names(emulator)).size).toBe(names(emulator).length);
  expect(names(emulator).filter((name) => !known.has(`Agent/${name}`))).toEqual([]);
  expect(known.size).toBe(24);
});

it('apply stops in order when Ctrl-C reaches all its processes on the terminal', async () => {
  const { machine, emulator, bare } = await scene(24);
  const here = machine();
  const child = spawn(process.execPath, [path.join(inject('built'), 'main.js'), ...CREATE], {
    cwd: here.folder,
    env: { PATH: process.env.PATH, ...here.env },
    // The child has its own process group, like a job of a shell.
    detached: true,
    stdio: 'ignore',
  });
  await expect.poll(() => creates(emulator), { interval: 5 }).toBeGreaterThanOrEqual(3);
  process.kill(-(child.pid ?? 0), 'SIGINT');
  await once(child, 'exit');
  expect(git(bare, 'ls-tree', '--name-only', 'refs/voxform/test')).toBe('history.jsonl\nstate.json');
  const { resources, pending } = await stateOf(here);
  expect(Object.keys(pending)).toEqual([]);
  expect(Object.keys(resources)).toHaveLength(names(emulator).length);
});
