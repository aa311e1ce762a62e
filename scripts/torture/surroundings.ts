import assert from 'node:assert/strict';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { type Case, Skipped } from './cases.ts';
import { converges, succeeded } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents, number, webhook } from './manifests.ts';

const GROUP = 'environments';

/** Users and environments that must not change the outcome. */
export const surroundingCases: readonly Case[] = [
  { group: GROUP, name: 'a user without a name or a home', short: true, run: userWithoutName },
  {
    group: GROUP,
    name: 'other locales, time zones, homes and temporary folders',
    short: true,
    run: otherEnvironments,
  },
];

const manifests = (prompt: string) =>
  documents(agent('istanbul', prompt), agent('izmir'), webhook('hook'), number('main', 1));

/** Runs as in a container with an arbitrary user id. */
async function userWithoutName(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: manifests('Be kind.') });
  const script =
    'for file in nsswitch.conf passwd; do mount --bind /dev/null /etc/$file || exit 99; done; exec env -u HOME -u USER -u NODE_COMPILE_CACHE "$@"';
  const namespace = process.getuid?.() === 0 ? '-m' : '-Urm';
  const result = await lab.runWith({ wrapper: ['unshare', namespace, 'sh', '-c', script, 'nobody'] }, ...APPLY);
  if (result.code === 99 || /unshare/.test(result.stderr)) throw new Skipped('this machine does not allow mounts');
  succeeded(result);
  await converges(lab);
}

async function otherEnvironments(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: manifests('Be kind.') });
  mkdirSync(path.join(lab.root, 'spaced out'));
  symlinkSync('spaced out', path.join(lab.root, 'a link'));
  const environments = [
    { LC_ALL: 'tr_TR.UTF-8', TZ: 'America/St_Johns', HOME: '' },
    { LC_ALL: 'C', TZ: 'Pacific/Auckland', HOME: '/dev/null', TMPDIR: path.join(lab.root, 'a link') },
    {
      LANG: 'ja_JP.UTF-8',
      TZ: 'Nowhere/Nothing',
      FORCE_COLOR: '1',
      CI: 'true',
      HOME: '/dev/null',
      TMPDIR: '/dev/null',
    },
  ].map((env) => ({ env, wrapper: ['env', '-u', 'NODE_COMPILE_CACHE'] }));
  await converges(lab);
  lab.write('manifests/all.yaml', manifests('IĞDIR, ığdır, i.'));
  const plain = await lab.runWith({}, 'plan', '--output', 'json');
  for (const each of environments) {
    assert.deepEqual(await lab.runWith(each, 'plan', '--output', 'json'), plain, JSON.stringify(each.env));
  }
  for (const [index, each] of environments.entries()) {
    lab.write('manifests/more.yaml', agent('more', `Edition ${index}.`));
    succeeded(await lab.runWith(each, ...APPLY));
  }
  assert.ok(
    !existsSync(path.join(lab.root, '.cache', 'voxform', 'compiled')),
    'compiled code was cached where other users can write',
  );
  await converges(lab);
}
