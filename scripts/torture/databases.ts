import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { postgres } from '../../src/state/backends/postgres/postgres-backend.ts';
import { PostgresProxy } from '../../test/state/backends/postgres/postgres-proxy.ts';
import { startPostgres } from '../../test/state/backends/postgres/postgres-server.ts';
import type { Case } from './cases.ts';
import { type Bench, CAMPAIGN, Lab } from './lab.ts';
import { agent, documents } from './manifests.ts';
import type { Random } from './random.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

export const databaseCases: readonly Case[] = [
  { group: 'databases', name: 'runs die, and connections are cut anywhere', run: diesAndCuts },
];

async function diesAndCuts(bench: Bench, random: Random): Promise<void> {
  await using server = await startPostgres();
  const direct = server.url('postgres');
  await using proxy = await PostgresProxy.start(server.port);
  const name = randomUUID();
  const url = direct.replace(`:${server.port}/`, `:${proxy.port}/`);
  await using lab = await Lab.open(bench, {
    seed: random.seed,
    manifests: documents(...NAMES.map((each) => agent(each))),
    project: `state: { backend: postgres, url: { $secret: STATE_URL }, name: ${name} }`,
    store: postgres.open({ url: direct, name, schema: 'voxform' }, { ...CAMPAIGN, root: '/' }),
  });
  const env = { STATE_URL: url };
  const apply = ['apply', '--auto-approve', '--concurrency', '2'];
  for (let round = 1; round <= 4; round++) {
    const run = lab.start(apply, { env });
    let left = random.int(1, 40);
    proxy.fate = () => {
      left -= 1;
      if (left === 0) run.child.kill('SIGKILL');
      return random.chance(0.1) ? random.pick(['lost', 'passed'] as const) : undefined;
    };
    await lab.ended(run);
    proxy.fate = () => undefined;
    await lab.check(`after round ${round}`);
    await passMinute(direct, name);
  }
  await lab.ended(lab.start(apply, { env }));
  await lab.check('at the end');
  const { resources, pending } = await lab.state();
  assert.equal(resources.size + pending.size, NAMES.length, 'something is neither created nor unknown');
}

/** Lets the lock of a dead run grow old, by the server's clock. */
async function passMinute(url: string, name: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client
    .query("UPDATE voxform.states SET heard = heard - interval '60 s' WHERE name = $1", [name])
    // A first run that died early made no table.
    .catch(() => undefined);
  await client.end();
}
