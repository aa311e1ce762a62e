import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Case } from './cases.ts';
import { type Bench, Lab } from './lab.ts';
import { agent, documents, projectFile } from './manifests.ts';

const GROUP = 'watched repositories';

export const repositoryCases: readonly Case[] = [
  {
    group: GROUP,
    name: 'a repository with paths to other folders',
    short: true,
    run: pathsOut,
  },
];

/** Each commit with such a path is refused: nothing is sent, and nothing is written outside. A commit without them is applied. */
async function pathsOut(bench: Bench): Promise<void> {
  await using lab = await Lab.open(bench);
  rmSync(path.join(lab.root, 'voxform.yaml'));
  const outside = mkdtempSync(path.join(tmpdir(), 'voxform-torture-outside-'));
  const repository = path.join(lab.root, 'repository');
  try {
    mkdirSync(path.join(repository, 'voice/manifests'), { recursive: true });
    writeFileSync(path.join(outside, 'voxform.yaml'), projectFile(lab.emulator));
    symlinkSync(outside, path.join(lab.root, 'link'));
    symlinkSync(outside, path.join(repository, 'out'));
    lab.write('repository/voice/manifests/all.yaml', documents(agent('a')));
    const refusals: readonly (readonly [settings: string, folder: string, message: RegExp])[] = [
      [`    secrets_dir: ${outside}\n`, 'voice', /secrets_dir points to/],
      ['    secrets_dir: link\n', 'voice', /secrets_dir points to/],
      [`    state: { path: ${outside}/s.json }\n`, 'voice', /state\.path points to/],
      ['    state: { path: link/new/s.json }\n', 'voice', /state\.path points to/],
      ['', 'out', /--path is outside the repository/],
    ];
    for (const [settings, folder, message] of refusals) {
      lab.write('repository/voice/voxform.yaml', projectFile(lab.emulator, settings));
      commit(repository);
      const stderr = await watchUntil(lab, folder, '"event":"manifests-refused"');
      assert.match(stderr, message);
    }
    assert.equal(lab.emulator.requests.length, 0, 'requests were sent');
    assert.equal(spawnSync('ls', [outside], { encoding: 'utf8' }).stdout, 'voxform.yaml\n');
    lab.write('repository/voice/voxform.yaml', projectFile(lab.emulator));
    commit(repository);
    await watchUntil(lab, 'voice', '"result":"ok"');
    assert.equal(lab.emulator.world.agents.size, 1);
  } finally {
    rmSync(outside, { recursive: true, force: true });
  }
}

/** Runs `watch` until this text is logged. Returns the log. */
async function watchUntil(lab: Lab, folder: string, text: string): Promise<string> {
  const flags = ['-v', '--mode', 'apply', '--auto-approve', '--git', 'repository', '--path', folder];
  const running = lab.start(['watch', ...flags]);
  await running.waitForOutput(text);
  running.child.kill('SIGTERM');
  return (await lab.waitFor(running)).stderr;
}

function commit(repository: string): void {
  const identity = ['-c', 'user.name=campaign', '-c', 'user.email=campaign@example.com'];
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    ['commit', '-q', '--allow-empty', '-m', 'x'],
  ]) {
    const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: repository, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  }
}
