import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { converges, refused, succeeded, writesNothing } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, projectFile, webhook } from './manifests.ts';

const GROUP = 'moved states';
const STATE = '.voxform/test.state.json';
const MOVE_BACK = ['state', 'move', '--from', '.voxform/renamed.state.json'];

/** Kill points of a move, in the fold of the old journal, the copy, and the mark. */
const killPoints = [
  ['before-fold', 1],
  ['after-rename', 1],
  ['before-truncate', 1],
  ['before-fold', 2],
  ['before-rename', 2],
  ['after-rename', 2],
  ['before-truncate', 2],
  ['before-mark', 1],
  ['after-mark', 1],
] as const;

export const moveCases: readonly Case[] = [
  { group: GROUP, name: 'a workspace renamed in voxform.yaml', short: true, run: renamedWorkspace },
  ...killPoints.map(
    ([point, nth]): Case => ({
      group: GROUP,
      name: `a move killed at ${point}, time ${nth}`,
      short: point === 'before-mark',
      run: (bench) => killedMove(bench, point, nth),
    }),
  ),
  { group: GROUP, name: 'a push without some of the ids', short: true, run: pushWithoutIds },
];

const MANIFESTS = documents(agent('a'), agent('b'), webhook('hook'));

function rename(lab: Lab): void {
  lab.write('voxform.yaml', projectFile(lab.emulator).replace('  test:', '  renamed:'));
}

async function renamedWorkspace(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  rename(lab);
  for (const args of [['plan'], ['apply', '--auto-approve'], ['import', 'Agent/x', '01J']]) {
    refused(
      await writesNothing(lab, () => lab.run(...args)),
      /test\.state\.json, with 3 records, belongs to the same workspace.*voxform state move --from/,
    );
  }
  succeeded(await lab.run('state', 'move', '--from', STATE));
  assert.equal((await lab.run('plan', '--detailed-exitcode')).code, 0);
  lab.write('voxform.yaml', projectFile(lab.emulator));
  refused(await writesNothing(lab, () => lab.run(...APPLY)), /was moved to/);
  succeeded(await lab.run(...MOVE_BACK));
  await converges(lab);
}

async function killedMove(bench: Bench, point: string, nth: number): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  lab.write('manifests/more.yaml', agent('c'));
  // The journal then has an id that the state document lacks.
  await lab.runAndDie('after outcome', 1, 'apply', '--auto-approve', '--concurrency', '1');
  rename(lab);
  await lab.runAndDie(point, nth, 'state', 'move', '--from', STATE);
  succeeded(await lab.run('state', 'move', '--from', STATE));
  assert.equal((await lab.run('plan', '--detailed-exitcode')).code, 0);
  lab.write('voxform.yaml', projectFile(lab.emulator));
  succeeded(await lab.run(...MOVE_BACK));
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 3);
}

async function pushWithoutIds(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  const { resources, ...rest } = JSON.parse(lab.read(STATE)) as { resources: Record<string, unknown> };
  const { 'Agent/b': dropped, ...others } = resources;
  lab.write('twice.json', JSON.stringify({ ...rest, resources: { ...resources, 'Agent/c': dropped } }));
  refused(await lab.run('state', 'push', 'twice.json'), /at two addresses: Agent\/b and Agent\/c/);
  lab.write('fewer.json', JSON.stringify({ ...rest, resources: others }));
  succeeded(await lab.run('state', 'push', 'fewer.json'));
  lab.write('manifests/all.yaml', documents(agent('a'), webhook('hook')));
  await converges(lab);
  assert.equal((await lab.state()).orphans.length, 1);
}
