import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Case } from './cases.ts';
import { FleetGround } from './fleet-ground.ts';
import { manifestsOf } from './fleets.ts';
import type { Bench } from './lab.ts';
import type { Random } from './random.ts';
import { ownDatabase } from './shared-locations.ts';

export const takeoverCases: readonly Case[] = [
  { group: 'fleets', name: 'the workspace of a killed process is taken over in time', backend: 'fleet', run: takeOver },
];

const MAX_TAKEOVER_SECONDS = 60;

/** Measures the time until another process takes over a workspace whose process was killed in mid-apply. */
async function takeOver(bench: Bench, random: Random): Promise<void> {
  await using database = await ownDatabase();
  await using ground = await FleetGround.ofBench(bench.built, {
    projects: ['p0'],
    seed: random.seed,
    manifests: (project) => manifestsOf(project, 1),
    url: database.url,
    fleet: 'workspaces: { "*": { mode: apply, interval: 1s } }\n',
  });
  const victim = ground.serve({ host: 'machine-1', ahead: 0 });
  const killed = Promise.withResolvers<void>();
  ground.hook = async (_, { method }) => {
    if (method !== 'POST') return undefined;
    ground.hook = async () => undefined;
    victim.child.kill('SIGKILL');
    killed.resolve();
    return { cut: 'before' };
  };
  await killed.promise;
  const since = performance.now();
  const other = ground.serve({ host: 'machine-2', ahead: 0 });
  await other.waitForOutput('serving the fleet');
  for (;;) {
    const [row] = await ground.inDatabase(({ query }) =>
      query(`SELECT status FROM voxform_fleet.workspaces WHERE status IN ('in-sync', 'pending')`),
    );
    if (row !== undefined) break;
    assert.ok(performance.now() - since < MAX_TAKEOVER_SECONDS * 1_000, `no takeover within ${MAX_TAKEOVER_SECONDS} s`);
    await delay(100);
  }
  const seconds = Math.ceil((performance.now() - since) / 1_000);
  bench.figures.count('seconds until another process took over', `${seconds} s after SIGKILL in mid-apply`);
}
