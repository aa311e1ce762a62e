/** @module-tag long */

import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { memoryUsage } from 'node:process';
import { queryObjects } from 'node:v8';
import { expect, it } from 'vitest';
import { pathOf } from '../../src/page/views/parts.ts';
import { type RunningPage, runningPage } from './running-page.ts';

const ADDRESS = 'voices/clients/client-00001:production';

/** All objects that are reachable, after a collection, and the bytes of everything. */
function held(): { readonly objects: number; readonly megabytes: number } {
  return { objects: queryObjects(Object, { format: 'count' }), megabytes: memoryUsage().heapUsed / 2 ** 20 };
}

/** Hears two versions, as a page that stays open over a change does, and goes. */
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

/** Does it often, and expects that less is kept than one object each time. */
async function expectFlat(count: number, work: () => Promise<unknown>): Promise<void> {
  await many(200, work);
  const before = held();
  await many(count, work);
  const more = { ...before };
  const kept = (): number => Object.assign(more, held()).objects - before.objects;
  await expect.poll(kept, { interval: 250 }).toBeLessThan(count / 2);
  expect(more.megabytes - before.megabytes).toBeLessThan(2);
}

it('keeps nothing of hundreds of streams that came, heard of changes and went', async () => {
  await using page = await runningPage();
  const agent = new Agent({ keepAlive: false });
  await expectFlat(400, () => follow(page, agent));
});

it('keeps nothing of a stream that tells of hundreds of changes', async () => {
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

it('keeps nothing of many requests, sign-ins and wrong tokens', async () => {
  await using page = await runningPage();
  const paths = ['/', '/workspaces?status=failed', pathOf(ADDRESS), '/sign-in', '/nothing'];
  // A connection that is kept may be closed just when it is used again.
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
