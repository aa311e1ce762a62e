import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { FleetGround } from './fleet-ground.ts';
import { type Bench, Lab } from './lab.ts';
import { agent, documents } from './manifests.ts';
import type { Random } from './random.ts';

const GROUP = 'recorded creates';

/** Kills runs during their creates, and checks that no more creates are unknown than the limit allows. */
export const intentCases: readonly Case[] = [
  { group: GROUP, name: 'within the limits of a project', short: true, run: inProject },
  { group: GROUP, name: 'within the limit of a fleet', backend: 'fleet', run: inFleet },
];

const MANIFESTS = documents(...Array.from({ length: 40 }, (_, index) => agent(`a${index}`)));

async function inProject(bench: Bench, random: Random): Promise<void> {
  const max = random.int(1, 6);
  const limit = random.pick(['concurrency', 'requests_per_second']);
  await using lab = await Lab.open(bench, {
    manifests: MANIFESTS,
    project: `limits: { ${limit}: ${max} }\n`,
  });
  const running = lab.start(['apply', '--auto-approve']);
  lab.hook = killAtPost(max, () => running.child.kill('SIGKILL'));
  await lab.waitFor(running);
  const { size } = (await lab.state()).pending;
  assert.ok(size > 0 && size <= max, `${size} unknown creates, with ${limit}: ${max}`);
}

async function inFleet(bench: Bench, random: Random): Promise<void> {
  const max = random.int(1, 6);
  await using ground = await FleetGround.ofBench(bench.built, {
    projects: ['p0'],
    seed: random.seed,
    manifests: () => MANIFESTS,
    fleet: `workspaces: { "*": { mode: apply } }\nlimits: { concurrency: ${max} }\n`,
  });
  const victim = ground.serve();
  const kill = killAtPost(max, () => victim.child.kill('SIGKILL'));
  ground.hook = (_, request) => kill(request);
  await victim.ended;
  const { stdout, stderr } = await ground.run(
    'fleet',
    'exec',
    'voices/p0:test',
    '--',
    'state',
    'list',
    '--output',
    'json',
  );
  assert.notEqual(stdout, '', stderr);
  const listed = JSON.parse(stdout) as readonly { readonly status: string }[];
  const { length } = listed.filter(({ status }) => status === 'unknown');
  assert.ok(length > 0 && length <= max, `${length} unknown creates, with the limit ${max} of the fleet`);
}

/** Delays the responses to all creates, and kills the run at the nth create. */
function killAtPost(nth: number, kill: () => void) {
  let remaining = nth;
  return async ({ method }: { readonly method: string }) => {
    if (method !== 'POST') return undefined;
    remaining -= 1;
    if (remaining === 0) kill();
    return remaining > 0 ? ({ delayMs: 60_000 } as const) : ({ cut: 'before' } as const);
  };
}
