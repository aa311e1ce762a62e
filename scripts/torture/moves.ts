import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { converges, refused, succeeded, writesNothing } from './expectations.ts';
import { type Bench, Lab } from './lab.ts';
import { agent, documents, projectFile, webhook } from './manifests.ts';

const GROUP = 'moved states';
const STATE = '.voxform/test.state.json';
const MOVE_BACK = ['state', 'move', '--from', '.voxform/renamed.state.json'];

/** Passages of a move: of the old state's journal, of the copy, of the mark. */
const passages = [
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
  ...passages.map(
    ([place, nth]): Case => ({
      group: GROUP,
      name: `a move killed at ${place}, passage ${nth}`,
      short: place === 'before-mark',
      run: (bench) => killedMove(bench, place, nth),
    }),
  ),
  { group: GROUP, name: 'a push without some of the ids', short: true, run: pushWithoutIds },
];

async function appliedLab(bench: Bench): Promise<Lab> {
  const lab = await Lab.open(bench, { manifests: documents(agent('a'), agent('b'), webhook('hook')) });
  succeeded(await lab.run('apply', '--auto-approve'));
  return lab;
}

function rename(lab: Lab): void {
  lab.write('voxform.yaml', projectFile(lab.emulator).replace('  test:', '  renamed:'));
}

async function renamedWorkspace(bench: Bench): Promise<void> {
  await using lab = await appliedLab(bench);
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
  refused(await writesNothing(lab, () => lab.run('apply', '--auto-approve')), /was moved to/);
  succeeded(await lab.run(...MOVE_BACK));
  await converges(lab);
}

async function killedMove(bench: Bench, place: string, nth: number): Promise<void> {
  await using lab = await appliedLab(bench);
  lab.write('manifests/more.yaml', agent('c'));
  // Its journal holds an id that the document does not.
  await lab.runAndDie('after outcome', 1, 'apply', '--auto-approve', '--concurrency', '1');
  rename(lab);
  await lab.runAndDie(place, nth, 'state', 'move', '--from', STATE);
  succeeded(await lab.run('state', 'move', '--from', STATE));
  assert.equal((await lab.run('plan', '--detailed-exitcode')).code, 0);
  lab.write('voxform.yaml', projectFile(lab.emulator));
  succeeded(await lab.run(...MOVE_BACK));
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 3);
}

async function pushWithoutIds(bench: Bench): Promise<void> {
  await using lab = await appliedLab(bench);
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
