import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { git as gitBackend } from '../../src/state/backends/git/git-backend.ts';
import { type Fault, GitServer, git, newRepository } from '../../test/state/backends/git/git-server.ts';
import type { Case } from './cases.ts';
import { type Bench, CAMPAIGN, Lab } from './lab.ts';
import { agent, documents } from './manifests.ts';
import type { Random } from './random.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

export const gitServerCases: readonly Case[] = [
  { group: 'git servers', name: 'runs die, and pushes and fetches are cut anywhere', run: diesAndCuts },
];

async function diesAndCuts(bench: Bench, random: Random): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'voxform-torture-git-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const bare = newRepository(path.join(folder, 'unused'), path.join(folder, 'voice.git'));
  git(bare, 'config', 'http.receivepack', 'true');
  const server = cleanup.use(await GitServer.start(folder));
  const remote = server.address('voice.git');
  const ref = 'refs/voxform/test';
  const user = { ...CAMPAIGN, root: folder, env: process.env, cacheFolder: path.join(folder, 'cache') };
  const store = () => gitBackend.open({ remote, ref, root: folder }, user);
  const lab = cleanup.use(
    await Lab.open(bench, {
      seed: random.seed,
      manifests: documents(...NAMES.map((each) => agent(each))),
      project: `state: { backend: git, remote: "${remote}" }`,
      store: store(),
    }),
  );
  const apply = ['apply', '--auto-approve', '--concurrency', '2'];
  /** A push of a run that was killed may still arrive, with its lock. */
  const unlocked = async (): Promise<void> => {
    for (let holder = await store().holder(); holder !== undefined; holder = await store().holder()) {
      await lab.run('state', 'unlock', holder.id);
    }
  };
  for (let round = 1; round <= 4; round++) {
    const run = lab.start(apply);
    let left = random.int(1, 30);
    server.fault = () => {
      left -= 1;
      if (left === 0) run.child.kill('SIGKILL');
      return random.chance(0.1) ? random.pick<Fault>(['cut', 'swallowed']) : undefined;
    };
    await lab.ended(run);
    server.fault = undefined;
    await unlocked();
    await lab.check(`after round ${round}`);
  }
  await unlocked();
  await lab.run(...apply);
  await lab.check('at the end');
  const { resources, pending } = await lab.state();
  assert.equal(resources.size + pending.size, NAMES.length, 'something is neither created nor unknown');
}
