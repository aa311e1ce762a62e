import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { asOrdinaryUser } from '../../test/as-ordinary-user.ts';
import { type Case, Skipped } from './cases.ts';
import { recordsOf } from './census.ts';
import { converges, refused, succeeded, unwrapped, writesNothing } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, webhook } from './manifests.ts';
import { settleUnknowns } from './person.ts';
import type { ProcessResult } from './processes.ts';

const GROUP = 'disk faults';

/** Failing writes to the disk. Damaged states are in `bad-states.ts`. */
export const diskCases: readonly Case[] = [
  { group: GROUP, name: 'the outcome of a create cannot be written', short: true, run: unwritableOutcome },
  { group: GROUP, name: 'a limit of a few kB for each file', run: limitedFiles },
  { group: GROUP, name: 'the disk is full', run: fullDisk },
  { group: GROUP, name: 'a read-only folder', short: true, run: readOnlyFolder },
  { group: GROUP, name: 'a read-only file system', run: readOnlyFileSystem },
  { group: GROUP, name: 'a full device for the plan', short: true, run: fullDevice },
  { group: GROUP, name: 'a torn last line of the journal, and damaged complete lines', run: tornJournal },
];

const names = (count: number) => Array.from({ length: count }, (_, index) => `agent-${index}`);
const TWENTY = documents(...names(18).map((name) => agent(name)), webhook('hook-a'), webhook('hook-b'));

/** Writes to the journal fail from the fourth create on. */
async function unwritableOutcome(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: TWENTY });
  const running = lab.start(['apply', '--auto-approve', '--concurrency', '1']);
  let posts = 0;
  lab.hook = ({ method }) => {
    if (method !== 'POST') return undefined;
    posts += 1;
    if (posts === 4) {
      const size = statSync(`${lab.statePath}.journal`).size;
      const limited = spawnSync('prlimit', [`--pid=${running.child.pid}`, `--fsize=${size}:${size}`]);
      if (limited.status !== 0) running.child.kill('SIGTERM');
    }
    return undefined;
  };
  const result = await lab.waitFor(running);
  lab.hook = () => undefined;
  if (result.code === 143) throw new Skipped('prlimit is not installed');
  assert.equal(result.code, 1);
  assert.equal(posts, 4, 'the run continued although the state could not be written');
  await importsPrintedIds(lab, result, 1);
}

async function limitedFiles(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: TWENTY });
  const result = await lab.runWith({ wrapper: ['bash', '-c', 'ulimit -f 6; exec "$@"', 'limited'] }, ...APPLY);
  await importsPrintedIds(lab, result);
}

async function fullDisk(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: TWENTY });
  const small = 'mount -t tmpfs -o size=24k none .voxform';
  await importsPrintedIds(lab, await inNamespace(lab, small, APPLY));
}

async function readOnlyFolder(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: agent('a') });
  const folder = path.dirname(lab.statePath);
  mkdirSync(folder);
  chmodSync(folder, 0o555);
  const wrapper = asOrdinaryUser;
  const [probe = '', ...words] = [...wrapper, 'test', '!', '-w', folder];
  if (spawnSync(probe, words).status !== 0) throw new Skipped('root can write everywhere on this machine');
  refused(await writesNothing(lab, () => lab.runWith({ wrapper }, ...APPLY)), /permission denied/);
  succeeded(await lab.runWith({ wrapper }, 'plan'));
  chmodSync(folder, 0o700);
  await converges(lab);
}

async function readOnlyFileSystem(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: agent('a') });
  const readOnly = 'mount --bind .voxform .voxform && mount -o remount,ro,bind .voxform';
  refused(await inNamespace(lab, readOnly, APPLY), /the file system is read-only/);
  assert.equal(lab.writes(), 0);
  await converges(lab);
}

async function fullDevice(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: agent('a') });
  refused(await lab.run('plan', '--out', '/dev/full'), /cannot write \/dev\/full/);
  assert.ok(statSync('/dev/full').isCharacterDevice(), 'the device was replaced by a file');
}

async function tornJournal(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: TWENTY });
  await lab.runAndDie('after outcome', 6, ...APPLY, '--concurrency', '1');
  const journal = '.voxform/test.state.json.journal';
  const whole = lab.read(journal);
  const known = (await lab.state()).resources.size;
  const [last = ''] = whole.trimEnd().split('\n').slice(-1);
  for (const damaged of ['\n', `${'0'.repeat(8)} {}\n`]) {
    lab.write(journal, whole + damaged);
    refused(await writesNothing(lab, () => lab.run(...APPLY)), /journal.* is damaged/);
  }
  for (const torn of [last.slice(0, 30), last.slice(0, -1)]) {
    lab.write(journal, whole + torn);
    succeeded(await lab.run('plan'));
    assert.equal((await lab.state()).resources.size, known);
  }
  await converges(lab);

  await lab.runAndDie('after intent', 1, ...APPLY);
  lab.write('manifests/more.yaml', agent('one-more'));
  await lab.runAndDie('after outcome', 1, ...APPLY, '--concurrency', '1');
  const lines = lab.read(journal).split('\n');
  lab.write(journal, [`${lines[0]?.slice(0, -9)}"damaged"}`, ...lines.slice(1)].join('\n'));
  refused(await writesNothing(lab, () => lab.run(...APPLY)), /journal.*:1 .* is damaged/);
}

/** Checks that the run stopped and printed an import command for each id that it could not save. Runs these commands, then applies. */
async function importsPrintedIds(lab: Lab, result: ProcessResult, expected?: number): Promise<void> {
  assert.equal(result.code, 1, result.stderr);
  const output = unwrapped(result.stdout + result.stderr);
  assert.match(output, /the state.* (could not|cannot) be written|cannot (write|lock) the state/);
  await lab.check('after the disk refused');
  const commands = [...output.matchAll(/voxform import (\S+) (01\w+)/g)].map(([, address, id]) => ({
    address,
    id,
  }));
  if (expected !== undefined) assert.equal(commands.length, expected, output);
  const { resources } = await lab.state();
  const ids = new Set([...resources.values()].map(({ id }) => id));
  for (const { address, id } of recordsOf(lab.emulator.world)) {
    if (ids.has(id)) continue;
    const printed = commands.find((each) => each.address === address);
    assert.equal(printed?.id, id, `${address} is ${id} on the platform, and the run did not print it: ${output}`);
    succeeded(await lab.run('import', address, id));
  }
  await settleUnknowns(lab);
  await converges(lab, '--allow-large-change');
}

/** Runs the command with another file system mounted at the state folder, and copies the resulting files back. */
async function inNamespace(lab: Lab, mount: string, args: readonly string[]): Promise<ProcessResult> {
  const folder = path.join(lab.root, '.voxform');
  mkdirSync(folder, { recursive: true });
  const script = `${mount} || exit 99; "$@"; code=$?; cp -a .voxform after; exit $code`;
  const namespace = process.getuid?.() === 0 ? '-m' : '-Urm';
  const result = await lab.runWith({ wrapper: ['unshare', namespace, 'sh', '-c', script, 'mounted'] }, ...args);
  if (result.code === 99) throw new Skipped('this machine does not allow mounts');
  rmSync(folder, { recursive: true });
  renameSync(path.join(lab.root, 'after'), folder);
  return result;
}
