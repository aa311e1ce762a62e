/** @module-tag long */

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { FreezeGate } from '../../src/fleet/freeze-gate.ts';
import { scheduleDue } from '../../src/fleet/serve.ts';
import { Worker } from '../../src/fleet/worker.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { discover, openQueue } from './fleet-databases.ts';
import { serverOptions } from './server-options.ts';

const never = new AbortController().signal;

/** Creates a worker of a fleet whose platform never responds. Returns it with the number of due workspaces. */
async function worker({ slots, due }: { readonly slots: number; readonly due: number }) {
  const waiting: ServerResponse[] = [];
  const platform = createServer((_, response) => void waiting.push(response));
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
  const { port } = platform.address() as AddressInfo;
  const names = Array.from({ length: due }, (_, index) => `p${index}`);
  const files = names.map((name, index): [string, string][] => [
    [`${name}/voxform.yaml`, projectFile({ url: `http://127.0.0.1:${port}/${index}`, workspaceId: 'ONE' })],
    [`${name}/manifests/a.yaml`, agentManifest('day')],
  ]);
  const folder = await temporaryFolder({
    ...Object.fromEntries(files.flat()),
    'fleet.yaml':
      'version: 1\ndatabase: { $secret: FLEET_DATABASE_URL }\nsources: { voices: { path: ., projects: ["*"] } }\n',
  });
  const { url } = await freshDatabase();
  const options = serverOptions(folder.root, { url, home: '1' });
  const { database, sources } = options;
  const queue = await openQueue(database);
  await discover(database, await sources.discover('voices', never));
  expect(await scheduleDue(database, queue, ['voices'])).toBe(due);
  const gate = new FreezeGate({ current: async () => undefined, now: () => 0, onChange: () => undefined });
  const made = new Worker({
    ...options,
    ...{ queue, gate, slots, grace: 0, processId: '1', heartbeatTimeout: 30_000, ready: new Set(['voices']) },
    onTrouble: () => undefined,
  });
  // Any run may use any slot.
  made.divideSlotsBy([]);
  onTestFinished(async () => {
    platform.closeAllConnections();
    platform.close();
    await made.stop('test is over');
    await database.close();
    await folder[Symbol.asyncDispose]();
  });
  return made;
}

/** Takes spare slots until none is left. */
async function allOf(from: Worker): Promise<readonly (() => void)[]> {
  const free = await from.takeSpareSlot();
  return free === undefined ? [] : [free, ...(await allOf(from))];
}

it.each([
  { slots: 1, due: 0, spare: 1, reason: 'one of one' },
  { slots: 2, due: 0, spare: 1, reason: 'at least one' },
  { slots: 7, due: 0, spare: 1, reason: 'at most a quarter' },
  { slots: 8, due: 0, spare: 2, reason: 'at most a quarter' },
  { slots: 8, due: 5, spare: 2, reason: 'enough slots remain for due runs' },
  { slots: 8, due: 6, spare: 1, reason: 'the last of several is for due runs' },
  { slots: 8, due: 9, spare: 0, reason: 'due runs have priority' },
  { slots: 1, due: 1, spare: 0, reason: 'due runs have priority' },
])('gives $spare of $slots slots to other work with $due due: $reason', async ({ slots, due, spare }) => {
  const made = await worker({ slots, due });
  const taken = await allOf(made);
  expect(taken).toHaveLength(spare);
  expect(made.runs).toHaveLength(Math.min(due, slots));
  for (const free of taken) free();
  expect(await allOf(made)).toHaveLength(spare);
  await made.stop('the process ends');
  expect(await made.takeSpareSlot()).toBeUndefined();
});
