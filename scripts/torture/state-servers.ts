import assert from 'node:assert/strict';
import { http } from '../../src/state/backends/http/http-backend.ts';
import { type Fault, type Rules, TerraformServer } from '../../test/state/backends/http/terraform-server.ts';
import type { Case } from './cases.ts';
import { type Bench, CAMPAIGN, Lab } from './lab.ts';
import { agent, documents } from './manifests.ts';
import type { Random } from './random.ts';

const GROUP = 'state servers';
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

export const stateServerCases: readonly Case[] = (['gitlab', 'terraform'] as const).map((rules) => ({
  group: GROUP,
  name: `runs die and answers are lost, with the rules of ${rules}`,
  run: (bench, random) => diesAndLoses(bench, random, rules),
}));

async function diesAndLoses(bench: Bench, random: Random, rules: Rules): Promise<void> {
  await using server = await TerraformServer.start({ rules });
  const settings = server.settings('/state/test');
  const place = http.place(settings as never, { workspace: 'test', root: '/' });
  await using lab = await Lab.open(bench, {
    seed: random.seed,
    manifests: documents(...NAMES.map((name) => agent(name))),
    project: `state: ${JSON.stringify({ backend: 'http', ...settings })}`,
    store: http.open(place, { ...CAMPAIGN, root: '/' }),
  });
  const apply = ['apply', '--auto-approve', '--concurrency', '2'];
  for (let round = 1; round <= 4; round++) {
    const run = lab.start(apply);
    let left = random.int(1, 16);
    server.fault = () => {
      left -= 1;
      if (left === 0) run.child.kill('SIGKILL');
      return random.chance(0.2) ? random.pick<Fault>(['before', 'after', 500]) : undefined;
    };
    await lab.ended(run);
    server.fault = undefined;
    await lab.check(`after round ${round}`);
    const [lock] = server.locks.values();
    if (lock !== undefined) await lab.run('state', 'unlock', lock.ID);
    assert.equal(server.locks.size, 0, 'a lock is left');
  }
  await lab.run(...apply);
  await lab.check('at the end');
  const { resources, pending } = await lab.state();
  assert.equal(resources.size + pending.size, NAMES.length, 'something is neither created nor unknown');
}
