import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Case } from './cases.ts';
import { converges, succeeded, unwrapped } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent } from './manifests.ts';

const GROUP = 'leftovers and oversized files';
/** The suffix of a temporary file: a process id that no system assigns, and random digits. */
const DEAD = 'ffffff00';
const DRAFT = `manifests/.all.yaml.${DEAD}.tmp`;
const USER_FILE = `manifests/.notes.txt.${DEAD}.tmp`;

export const leftoverCases: readonly Case[] = [
  { group: GROUP, name: 'temporary files of the state and of a manifest, after a kill', short: true, run: afterApply },
  { group: GROUP, name: 'a temporary manifest, found by fmt', run: foundByFmt },
  { group: GROUP, name: 'a half-written export', run: halfExport },
  { group: GROUP, name: 'a file with too many documents', short: true, run: tooManyDocuments },
];

async function afterApply(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: agent('a') });
  lab.write('manifests/all.yaml', agent('a', 'Be brief.'));
  lab.write(DRAFT, 'kind: Ag');
  lab.write(USER_FILE, 'mine');
  writeFileSync(`${lab.statePath}.tmp`, '{');
  succeeded(await lab.run('plan'));
  assert.ok(existsSync(path.join(lab.root, DRAFT)), 'a plan wrote to the project');
  succeeded(await lab.run(...APPLY));
  assert.deepEqual(readdirSync(path.join(lab.root, 'manifests')).sort(), [`.notes.txt.${DEAD}.tmp`, 'all.yaml']);
  assert.ok(!existsSync(`${lab.statePath}.tmp`));
  await converges(lab);
}

async function foundByFmt(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: `${agent('a')}\n\n\n` });
  lab.write(DRAFT, 'kind: Ag');
  lab.write(USER_FILE, 'mine');
  succeeded(await lab.run('fmt'));
  assert.deepEqual(readdirSync(path.join(lab.root, 'manifests')).sort(), [`.notes.txt.${DEAD}.tmp`, 'all.yaml']);
}

async function halfExport(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: agent('a') });
  for (const leftover of [`.out.voxform-export-${DEAD}`, `empty/.new.voxform-export-${DEAD}/manifests`])
    mkdirSync(path.join(lab.root, leftover), { recursive: true });
  for (const out of ['out', 'empty']) succeeded(await lab.run('export', '--out', out));
  assert.deepEqual(
    [lab.root, path.join(lab.root, 'empty')].flatMap((folder) =>
      readdirSync(folder).filter((name) => name.includes('voxform-export')),
    ),
    [],
  );
}

async function tooManyDocuments(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench, { manifests: agent('a') });
  lab.write('manifests/many.yaml', '--- {}\n'.repeat(20_001));
  const { code, stderr } = await lab.run(...APPLY);
  assert.equal(code, 1, stderr);
  assert.match(unwrapped(stderr), /many\.yaml:20001:1 .*more than 20000 documents; split it/);
  assert.equal(lab.writes(), 0);
}
