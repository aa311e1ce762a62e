import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { ResponseBudget } from '../../src/platform/response-budget.ts';
import { listenHttp } from './listen.ts';
import { openTransport } from './open-transport.ts';

const GET = { method: 'GET', path: '/api/v1/agents/01A' } as const;
const POST = { method: 'POST', path: '/api/v1/agents', body: { name: 'a' } } as const;

/** Returns a transport whose server always sends this body. */
async function answering(body: Buffer, headers: Readonly<Record<string, string>> = {}) {
  const { url } = await listenHttp((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);
  });
  return openTransport({ baseUrl: url, budget: new ResponseBudget(10_000) });
}

const record = (fields: string) => Buffer.from(`{"data":{"id":"01A",${fields}}}`);

it.each([
  ['texts', record(`"name":"${'x'.repeat(3000)}"`), {}, 3],
  ['empty lists, which need more memory than text', record(`"tools":[${'[],'.repeat(90)}[]]`), {}, 1],
  ['compressed texts', gzipSync(record(`"name":"${'x'.repeat(4000)}"`)), { 'content-encoding': 'gzip' }, 2],
])('bounds the reads of a run together: %s', async (_, body, headers, enough) => {
  const { transport, events } = await answering(body, headers);
  for (let read = 0; read < enough; read++) await transport.send(GET);
  await expect(transport.send(GET)).rejects.toThrow('10000 bytes');
  expect(events).toHaveLength(enough + 1);
  // A write must not become unconfirmed because of earlier reads.
  expect((await transport.send(POST)).body).toMatchObject({ data: { id: '01A' } });
});
