import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { FleetGround } from './fleet-ground.ts';
import { type Bench, Lab } from './lab.ts';
import { agent, documents } from './manifests.ts';
import type { Random } from './random.ts';

const GROUP = 'creates recorded ahead';

/** Kills runs whose creates have no answer yet, and counts what they leave unknown against the limit in force. */
export const intentCases: readonly Case[] = [
  { group: GROUP, name: 'by the limits of a project', short: true, run: inProject },
  { group: GROUP, name: 'by the limit of a fleet', backend: 'fleet', run: inFleet },
];

const MANIFESTS = documents(...Array.from({ length: 40 }, (_, index) => agent(`a${index}`)));

async function inProject(bench: Bench, random: Random): Promise<void> {
  const most = random.int(1, 6);
  const limit = random.pick(['concurrency', 'requests_per_second']);
  await using lab = await Lab.open(bench, {
    manifests: MANIFESTS,
    project: `limits: { ${limit}: ${most} }\n`,
  });
  const running = lab.start(['apply', '--auto-approve']);
  lab.hook = killAtPost(most, () => running.child.kill('SIGKILL'));
  await lab.ended(running);
  const { size } = (await lab.state()).pending;
  assert.ok(size > 0 && size <= most, `${size} unknown creates, with ${limit}: ${most}`);
}

async function inFleet(bench: Bench, random: Random): Promise<void> {
  const most = random.int(1, 6);
  await using ground = await FleetGround.ofBench(bench.built, {
    projects: ['p0'],
    seed: random.seed,
    manifests: () => MANIFESTS,
    fleet: `workspaces: { "*": { mode: apply } }\nlimits: { concurrency: ${most} }\n`,
  });
  const victim = ground.serve();
  const kill = killAtPost(most, () => victim.child.kill('SIGKILL'));
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
  assert.ok(length > 0 && length <= most, `${length} unknown creates, with the limit ${most} of the fleet`);
}

/** Answers no create, and kills when so many have arrived. */
function killAtPost(nth: number, kill: () => void) {
  let left = nth;
  return async ({ method }: { readonly method: string }) => {
    if (method !== 'POST') return undefined;
    left -= 1;
    if (left === 0) kill();
    return left > 0 ? ({ delayMs: 60_000 } as const) : ({ cut: 'before' } as const);
  };
}
