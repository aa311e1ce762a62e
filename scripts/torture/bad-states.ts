import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import type { Case } from './cases.ts';
import { converges, refused, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, projectFile, webhook } from './manifests.ts';

const GROUP = 'disk faults';
const STATE = '.voxform/test.state.json';

/** A damage to the state file, and the error that reports it. */
interface Damage {
  readonly name: string;
  readonly short?: boolean;
  readonly damage: (text: string) => string;
  /** Matches the error message. */
  readonly message: RegExp;
}

const damages: readonly Damage[] = [
  { name: 'an empty state file', damage: () => '', message: /is damaged: it is empty/ },
  {
    name: 'a truncated state file',
    damage: (text) => text.slice(0, text.length / 2),
    message: /is damaged: it is invalid or truncated JSON/,
  },
  { name: 'a state file of zeros', damage: (text) => '\0'.repeat(text.length), message: /is damaged/ },
  {
    name: 'a state file with an invalid field',
    damage: (text) => text.replace('"pending": {}', '"pending": []'),
    message: /is damaged: at pending/,
  },
  {
    name: 'a repeated address in the state file',
    damage: (text) => text.replace('"Agent/b"', '"Agent/a"'),
    message: /is damaged: line \d+ repeats the key "Agent\/a"/,
  },
  {
    name: 'a reserved key in the state file',
    damage: (text) => text.replace('"Agent/b"', '"__proto__"'),
    message: /is damaged: line \d+ has the key "__proto__"/,
  },
  {
    name: 'an id edited in the state file',
    short: true,
    damage: (text) => text.replace(/"id": "01(.)/, '"id": "0$11'),
    message: /was edited or damaged: its content does not match its digest/,
  },
  {
    name: 'a state of a newer format',
    damage: (text) => text.replace('"format_version": 2', '"format_version": 4'),
    message: /in format 4; this version of voxform reads formats up to 3.*Upgrade voxform/,
  },
];

export const badStateCases: readonly Case[] = [
  ...damages.map(
    ({ name, damage, message, short = false }): Case => ({
      group: GROUP,
      name,
      short,
      async run(bench) {
        await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
        lab.write(STATE, damage(lab.read(STATE)));
        for (const args of [['plan'], ['apply', '--auto-approve'], ['state', 'list']]) {
          refused(await writesNothing(lab, () => lab.run(...args)), message);
        }
        const { stderr } = await lab.run('plan');
        if (/Upgrade/.test(stderr)) return;
        restoreFromHint(lab, stderr);
        await converges(lab);
      },
    }),
  ),
  { group: GROUP, name: 'a state of another workspace', run: foreignState },
  { group: GROUP, name: 'a merge conflict in the state file', short: true, run: conflictingState },
  { group: GROUP, name: 'a missing state with backups', run: missingWithBackups },
  { group: GROUP, name: 'a missing state with a journal', run: missingWithJournal },
  { group: GROUP, name: 'an older state restored beside a newer journal', run: olderState },
  { group: GROUP, name: 'a flipped bit in the last line of the journal', short: true, run: flippedJournal },
  { group: GROUP, name: 'a journal of zeros', short: true, run: zeroedJournal },
];

const MANIFESTS = documents(agent('a'), agent('b'), webhook('hook'));

/** Runs the copy command in the hint. */
function restoreFromHint(lab: Lab, stderr: string): void {
  const command = /: (cp ('.+?'|\S+) ('.+?'|\S+))/.exec(unwrapped(stderr))?.[1];
  assert.ok(command, `no command that restores the state: ${stderr}`);
  assert.equal(spawnSync('sh', ['-c', command], { cwd: lab.root }).status, 0, command);
}

async function foreignState(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  lab.write('voxform.yaml', projectFile({ url: lab.emulator.url, workspaceId: '01OTHERWORKSPACE0000000000' }));
  for (const args of [['plan'], ['apply', '--auto-approve']]) {
    refused(
      await writesNothing(lab, () => lab.run(...args)),
      /belongs to workspace \S+, but 01OTHERWORKSPACE0000000000 is configured/,
    );
  }
  lab.write('voxform.yaml', projectFile(lab.emulator));
  await converges(lab);
}

/** The hint must not offer a backup, because each backup lacks the records of one side. */
async function conflictingState(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  const whole = lab.read(STATE);
  const theirs = whole.replace(/"Agent\/b": \{([\s\S]*?"id": ")01/, '"Agent/theirs": {$102');
  const conflicts = [
    { text: `<<<<<<< ours\n${whole}=======\n${theirs}>>>>>>> job\n`, message: /voxform import Agent\/\S+ 0/ },
    { text: whole.replace('  "serial"', '<<<<<<< ours\n  "serial"'), message: /Take one side/ },
  ];
  for (const { text, message } of conflicts) {
    lab.write(STATE, text);
    for (const args of [['plan'], ['apply', '--auto-approve']]) {
      const result = await writesNothing(lab, () => lab.run(...args));
      refused(result, /unresolved merge conflict.*Do not restore a backup/);
      refused(result, message);
      assert.ok(!result.stderr.includes('.backup-'), result.stderr);
    }
  }
  lab.write(STATE, whole);
  await converges(lab);
}

async function missingWithBackups(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  rmSync(path.join(lab.root, STATE));
  for (const args of [['plan'], ['apply', '--auto-approve'], ['import', 'Agent/x', '01J']]) {
    refused(
      await writesNothing(lab, () => lab.run(...args)),
      /is missing, but its backup test\.state\.json\.backup-1 exists/,
    );
  }
  restoreFromHint(lab, (await lab.run('plan')).stderr);
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 2);
}

async function missingWithJournal(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  lab.write('manifests/more.yaml', documents(agent('c'), agent('d')));
  await lab.runAndDie('after outcome', 1, 'apply', '--auto-approve', '--concurrency', '1');
  const state = lab.read(STATE);
  for (const name of Object.keys(lab.stateFiles())) {
    if (!name.endsWith('.journal')) rmSync(path.join(lab.root, '.voxform', name));
  }
  refused(await writesNothing(lab, () => lab.run(...APPLY)), /is missing, but its journal exists.*Restore the state/);
  lab.write(STATE, state);
  await converges(lab);
}

async function olderState(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  const older = lab.read(STATE);
  lab.write('manifests/more.yaml', agent('c'));
  succeeded(await lab.run(...APPLY));
  const newer = lab.read(STATE);
  lab.write('manifests/more.yaml', documents(agent('c'), agent('d'), agent('e')));
  await lab.runAndDie('after outcome', 1, 'apply', '--auto-approve', '--concurrency', '1');
  lab.write(STATE, older);
  refused(
    await writesNothing(lab, () => lab.run(...APPLY)),
    /continues serial 2, but the state has serial 1: the state was replaced by an older one.*backup-2/,
  );
  lab.write(STATE, newer);
  await converges(lab);
}

async function flippedJournal(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  lab.write('manifests/more.yaml', documents(agent('c'), agent('d')));
  await lab.runAndDie('after outcome', 1, 'apply', '--auto-approve', '--concurrency', '1');
  const journal = `${STATE}.journal`;
  const whole = lab.read(journal);
  const at = whole.lastIndexOf('"id":"') + 8;
  const flipped = String.fromCharCode(whole.charCodeAt(at) ^ 1);
  lab.write(journal, whole.slice(0, at) + flipped + whole.slice(at + 1));
  for (const args of [['plan'], ['apply', '--auto-approve']]) {
    refused(
      await writesNothing(lab, () => lab.run(...args)),
      /journal:2 {1,2}the journal of the state is damaged.*Restore the journal.*voxform recover/,
    );
  }
  lab.write(journal, whole);
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 4);
}

async function zeroedJournal(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: MANIFESTS });
  lab.write('manifests/more.yaml', documents(agent('c'), agent('d')));
  await lab.runAndDie('after outcome', 1, 'apply', '--auto-approve', '--concurrency', '1');
  const journal = `${STATE}.journal`;
  const whole = lab.read(journal);
  for (const [start, line] of [
    [0, 1],
    [whole.indexOf('\n') + 1, 2],
  ] as const) {
    lab.write(journal, whole.slice(0, start) + '\0'.repeat(whole.length - start));
    for (const args of [['plan'], ['apply', '--auto-approve']]) {
      refused(
        await writesNothing(lab, () => lab.run(...args)),
        new RegExp(`journal:${line} {1,2}the journal of the state is damaged.*truncate -s ${start} `),
      );
    }
  }
  lab.write(journal, whole);
  await converges(lab);
  assert.equal(lab.emulator.world.agents.size, 4);
}
