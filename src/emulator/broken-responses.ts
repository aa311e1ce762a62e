import type { ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { EmulatorBehaviour } from './behaviour.ts';

const PIECE = 16;

/** Ends the connection under the client without an answer. */
export function breakConnection(outgoing: ServerResponse): void {
  outgoing.socket?.destroy();
}

/** Sends the answer in small pieces, with a pause before each. */
export async function sendDripping(
  answer: Response,
  outgoing: ServerResponse,
  pause: () => Promise<void>,
): Promise<void> {
  const body = await writeHead(answer, outgoing);
  for (let sent = 0; sent < body.length && !outgoing.destroyed; sent += PIECE) {
    await pause();
    outgoing.write(body.subarray(sent, sent + PIECE));
  }
  outgoing.end();
}

/** Promises the whole body, sends only its first bytes, and breaks the connection. */
export async function sendTruncated(
  answer: Response,
  outgoing: ServerResponse,
  bytes: number,
): Promise<void> {
  const body = await writeHead(answer, outgoing);
  outgoing.flushHeaders();
  await new Promise<void>((resolve) => {
    outgoing.once('close', resolve);
    outgoing.write(body.subarray(0, bytes), () => resolve());
  });
  breakConnection(outgoing);
}

async function writeHead(answer: Response, outgoing: ServerResponse): Promise<Buffer> {
  const body = Buffer.from(await answer.arrayBuffer());
  outgoing.writeHead(answer.status, {
    ...Object.fromEntries(answer.headers),
    'content-length': String(body.length),
  });
  return body;
}

const COMPRESSING = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync };

/** The answer with its body compressed; as it is without an encoding. */
export async function compressed(
  answer: Response,
  encoding: EmulatorBehaviour['compresses'],
): Promise<Response> {
  if (encoding === null) return answer;
  const body = COMPRESSING[encoding](Buffer.from(await answer.arrayBuffer()));
  const { status } = answer;
  const headers = new Headers(answer.headers);
  headers.delete('content-length');
  headers.set('content-encoding', encoding);
  return new Response(new Uint8Array(body), { status, headers });
}
