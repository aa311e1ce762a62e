import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Case } from './cases.ts';
import { converges, refused, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, webhook } from './manifests.ts';
import { Random } from './random.ts';

const GROUP = 'disk faults';
const STATE = '.voxform/test.state.json';
const FLIPS = 20;

/** Valid states that differ from the state written last. */
export const olderStateCases: readonly Case[] = [
  {
    group: GROUP,
    name: 'an older state is restored from Git, with backups',
    short: true,
    run: (bench) => restoreOlderState(bench, true),
  },
  {
    group: GROUP,
    name: 'an older state is restored from Git, without backups',
    run: (bench) => restoreOlderState(bench, false),
  },
  { group: GROUP, name: 'flipped bits in the state', run: flippedBits },
];

async function restoreOlderState(bench: Bench, hasBackups: boolean): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: documents(agent('a'), webhook('one')) });
  git(lab, 'init', '-q');
  git(lab, 'add', '-f', STATE);
  git(lab, 'commit', '-q', '-m', 'state');
  lab.write('manifests/more.yaml', webhook('two'));
  // In separate processes, because the mark of this machine is kept in the home folder.
  succeeded(await lab.runWith({}, ...APPLY));
  const newer = lab.read(STATE);
  git(lab, 'checkout', '-q', STATE);
  for (const name of Object.keys(lab.stateFiles())) {
    if (!hasBackups && name.includes('.backup-')) rmSync(path.join(lab.root, '.voxform', name));
  }
  assert.match(
    unwrapped((await lab.runWith({}, '-q', 'plan')).stderr),
    /^warning: the state \S+ \(serial 1\) is older/,
  );
  for (const args of [APPLY, ['state', 'rm', 'Agent/a']]) {
    const result = await writesNothing(lab, () => lab.runWith({}, ...args));
    refused(result, hasBackups ? /Missing records: Webhook\/two \(\w+\)/ : /last state written on this machine/);
  }
  lab.write('newer.json', newer);
  succeeded(await lab.runWith({}, 'state', 'push', 'newer.json'));
  await converges(lab);
}

/** Each flipped bit must be detected, or must not change the content of the state. */
async function flippedBits(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: documents(agent('a'), webhook('one')) });
  const state = lab.read(STATE);
  const { stdout: before } = await lab.run('state', 'pull');
  const random = new Random('flips');
  for (let count = 0; count < FLIPS; count++) {
    const bytes = Buffer.from(state);
    const bit = random.int(0, bytes.length * 8 - 1);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    writeFileSync(path.join(lab.root, STATE), bytes);
    const result = await lab.run('state', 'pull');
    if (result.code === 0) assert.equal(result.stdout, before, `the flipped bit ${bit} was not detected`);
    else refused(result, /or damaged|is damaged|in format/);
  }
  lab.write(STATE, state);
  await converges(lab);
}

function git(lab: Lab, ...args: string[]): void {
  const identity = ['-c', 'user.name=campaign', '-c', 'user.email=campaign@example.com'];
  const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: lab.root, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}
