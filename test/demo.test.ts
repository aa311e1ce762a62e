/** @module-tag long */

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, inject, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');
const main = path.join(inject('built'), 'main.js');

it('shows the steps from manifest to apply and drift, and leaves nothing behind', async () => {
  const scratch = mkdtempSync(path.join(tmpdir(), 'voxform-demo-test-'));
  try {
    const { exitCode, text } = await demo({ ...process.env, TMPDIR: scratch });
    expect(exitCode, text).toBe(0);
    const commands = [...text.matchAll(/^\$ voxform (\S+)/gm)].map(([, command]) => command);
    expect(commands).toEqual([
      ...['emulator', 'validate', 'validate', 'plan', 'apply', 'plan'],
      ...['drift', 'plan', 'apply', 'plan'],
    ]);
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(text.trimEnd().split('\n').slice(-2).join(' ')).toContain('publish the agent');
    expect(readdirSync(scratch)).toEqual([]);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});

const FEW = ['--workspaces', '4', '--runs', '1', '--impatient'];

it('serves a fleet to the end although its processes are killed', async () => {
  const { exitCode, text } = await demo(process.env, 'demo-fleet.ts', ...FEW);
  expect(exitCode, text).toBe(0);
  expect(text.match(/^\$ kill -KILL \d+$/gm)).toHaveLength(2);
  expect(text.match(/4 workspaces: 4 in-sync/g)).toHaveLength(2);
  expect(text.match(/8 agents, 4 webhooks and 4 numbers/g)).toHaveLength(2);
});

function demo(
  env: NodeJS.ProcessEnv,
  script = 'demo.ts',
  ...args: readonly string[]
): Promise<{ exitCode: number; text: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [path.join(root, 'scripts', script), '--main', main, ...args],
      { env },
      (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ exitCode, text: stripVTControlCharacters(stdout + stderr) });
      },
    );
  });
}
