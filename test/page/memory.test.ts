/** @module-tag long */

import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { memoryUsage } from 'node:process';
import { queryObjects } from 'node:v8';
import { expect, it } from 'vitest';
import { pathOf } from '../../src/page/views/parts.ts';
import { type RunningPage, runningPage } from './running-page.ts';

const ADDRESS = 'voices/clients/client-00001:production';

/** Returns the number of reachable objects after a garbage collection, and the memory in use. */
function held(): { readonly objects: number; readonly megabytes: number } {
  return { objects: queryObjects(Object, { format: 'count' }), megabytes: memoryUsage().heapUsed / 2 ** 20 };
}

/** Follows two versions, as a page that stays open over a change does, and disconnects. */
async function follow({ url, source }: RunningPage, agent: Agent): Promise<void> {
  const path = `${url}/events?workspace=${encodeURIComponent(ADDRESS)}`;
  const [stream] = (await once(get(path, { agent }), 'response')) as [IncomingMessage];
  const versions = new Set<string>();
  for await (const text of stream.setEncoding('utf8')) {
    for (const [, version = ''] of String(text).matchAll(/^data: (\d+)$/gm)) versions.add(version);
    source.revision += 1;
    if (versions.size > 1) break;
  }
  stream.destroy();
}

async function many(count: number, work: () => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done += 40) await Promise.all(Array.from({ length: 40 }, work));
}

/** Repeats the work, and expects that each time retains less than one object. */
async function expectFlat(count: number, work: () => Promise<unknown>): Promise<void> {
  await many(200, work);
  const before = held();
  await many(count, work);
  const more = { ...before };
  const kept = (): number => Object.assign(more, held()).objects - before.objects;
  await expect.poll(kept, { interval: 250 }).toBeLessThan(count / 2);
  expect(more.megabytes - before.megabytes).toBeLessThan(2);
}

it('retains nothing of hundreds of streams that were closed after changes', async () => {
  await using page = await runningPage();
  const agent = new Agent({ keepAlive: false });
  await expectFlat(400, () => follow(page, agent));
});

it('retains nothing of a stream with hundreds of changes', async () => {
  await using page = await runningPage({ pollIntervalMs: 0 });
  const [stream] = (await once(get(`${page.url}/events`), 'response')) as [IncomingMessage];
  const heard = async () => {
    page.source.revision += 1;
    await once(stream, 'data');
  };
  for (let change = 0; change < 100; change++) await heard();
  const before = held();
  for (let change = 0; change < 400; change++) await heard();
  expect(held().objects - before.objects).toBeLessThan(100);
  stream.destroy();
});

it('retains nothing of many requests, sign-ins and wrong tokens', async () => {
  await using page = await runningPage();
  const paths = ['/', '/workspaces?status=failed', pathOf(ADDRESS), '/sign-in', '/nothing'];
  // A kept-alive connection may be closed at the moment of its reuse.
  const closing = { connection: 'close' };
  let asked = 0;
  await expectFlat(300, () => {
    asked += 1;
    return page.ask(paths[asked % paths.length] ?? '/', { headers: closing });
  });
  await expectFlat(300, async () => {
    page.time = new Date(page.time.getTime() + 60_000);
    for (const token of ['viewer-token', 'wrong']) await page.ask('/sign-in', { headers: closing, form: { token } });
  });
});
