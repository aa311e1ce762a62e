import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { listenHttp } from './listen.ts';
import { failureFrom, openTransport } from './open-transport.ts';

const POST = { method: 'POST', path: '/api/v1/agents', body: { name: 'a' } } as const;
const GET = { method: 'GET', path: '/api/v1/agents/01A' } as const;
const RECORD = Buffer.from(JSON.stringify({ data: { id: '01A', name: 'x'.repeat(5_000) } }));

interface Sent {
  readonly status?: number;
  readonly encoding: string;
  readonly body: Buffer;
}

/** Sends these responses in order, and then the last one repeatedly. */
async function answering(...answers: readonly [Sent, ...Sent[]]) {
  const { url } = await listenHttp((_request, response, count) => {
    const { status = 200, encoding, body } = answers[Math.min(count, answers.length) - 1] as Sent;
    response.writeHead(status, { 'content-type': 'application/json', 'content-encoding': encoding }).end(body);
  });
  return openTransport({ baseUrl: url, maxBodyBytes: 100_000 });
}

describe('compressed response', () => {
  it.each([
    ['gzip', gzipSync(RECORD)],
    ['X-GZIP', gzipSync(RECORD)],
    ['deflate', deflateSync(RECORD)],
    ['deflate', deflateRawSync(RECORD)],
    ['br', brotliCompressSync(RECORD)],
    ['zstd', zstdCompressSync(RECORD)],
    ['gzip, br', brotliCompressSync(gzipSync(RECORD))],
    ['identity', RECORD],
  ])('with %s contains its id', async (encoding, body) => {
    const { transport, events } = await answering({ encoding, body });
    expect((await transport.send(POST)).body).toEqual(JSON.parse(RECORD.toString()));
    expect(events).toHaveLength(1);
  });

  it.each([
    ['cut short', 'gzip', gzipSync(RECORD).subarray(0, 40)],
    ['cut short', 'deflate', deflateSync(RECORD).subarray(0, 20)],
    ['cut short', 'br', brotliCompressSync(RECORD).subarray(0, 20)],
    ['cut short', 'zstd', zstdCompressSync(RECORD).subarray(0, 20)],
    ['in another format', 'gzip', RECORD],
    ['of an unknown kind', 'compress', RECORD],
    ['compressed too often', 'gzip, gzip, gzip, gzip', gzipSync(gzipSync(gzipSync(gzipSync(RECORD))))],
  ])('with %s (%s) makes a POST unknown, and a GET is sent again', async (_, encoding, body) => {
    const { transport } = await answering({ encoding, body });
    const error = await failureFrom(transport.send(POST));
    expect(error).toMatchObject({ reason: 'network', outcome: 'lost', status: 200 });
    expect(error).toHaveProperty('facts.undecodable', true);
    expect(error.message).toMatch(/sent a compressed response that cannot be decoded; it may have succeeded$/);
    const good = { encoding: 'gzip', body: gzipSync(RECORD) };
    const again = await answering({ encoding, body }, good);
    expect((await again.transport.send(GET)).body).toEqual(JSON.parse(RECORD.toString()));
    expect(again.events.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)('with %s is measured after decompression', async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(5_000_000, ' '));
    expect(bomb.length).toBeLessThan(100_000);
    const { transport, events } = await answering({ encoding, body: bomb });
    expect(await failureFrom(transport.send(POST))).toMatchObject({ reason: 'too-large', outcome: 'lost' });
    expect(await failureFrom(transport.send(GET))).toMatchObject({ reason: 'too-large' });
    expect(events).toHaveLength(2);
  });

  it('explains a refusal, even if it is truncated or very large', async () => {
    const refusal = (more = '') => gzipSync(JSON.stringify({ message: 'no such model', more }));
    for (const body of [refusal(), gzipSync('x'.repeat(5_000_000)), refusal().subarray(0, 15)]) {
      const { transport, events } = await answering({ status: 422, encoding: 'gzip', body });
      expect(await failureFrom(transport.send(POST))).toMatchObject({ status: 422, outcome: 'not-done' });
      expect(events).toHaveLength(1);
    }
    const { transport } = await answering({ status: 422, encoding: 'gzip', body: refusal() });
    expect((await failureFrom(transport.send(POST))).message).toBe('POST /api/v1/agents: 422 no such model');
  });
});
