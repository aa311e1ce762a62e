import assert from 'node:assert/strict';
import type { Case } from './cases.ts';
import { converges, settles, succeeded } from './expectations.ts';
import { APPLY, type Bench, Lab } from './lab.ts';
import { agent, documents } from './manifests.ts';

/** Orphans that a person closed. */
export const closedOrphanCases: readonly Case[] = [
  {
    group: 'guards',
    name: 'a record that was handed over is neither imported nor created again',
    short: true,
    run: handedOver,
  },
];

async function handedOver(bench: Bench): Promise<void> {
  await using lab = await Lab.applied(bench, { manifests: documents(agent('a'), agent('b')) });
  const state = JSON.parse((await lab.run('state', 'list', '--output', 'json')).stdout) as {
    readonly id: string;
  }[];
  const id = state[1]?.id ?? '';
  succeeded(await lab.run('state', 'rm', 'Agent/b'));
  succeeded(await lab.run('orphans', 'close', id, '--because', 'handed-over'));
  const result = await settles(lab, () => lab.run(...APPLY));
  assert.match(result.stdout, /blocked/);
  succeeded(await lab.run('import', 'Agent/b', id));
  await converges(lab);
}
