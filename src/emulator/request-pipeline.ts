import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Hono } from 'hono';
import { mapParts } from '../values/json.ts';
import type { EmulatorBehaviour } from './behaviour.ts';
import type { Emulated, EmulatorEnv, ReceivedBody } from './emulated.ts';
import type { Fault, ReceivedRequest } from './faults.ts';

/** A hook that is called before each API request is handled. It can return a fault to inject. */
export type RequestHook = (request: ReceivedRequest) => Fault | undefined | Promise<Fault | undefined>;

interface RequestPipelineParts {
  readonly app: Hono<EmulatorEnv>;
  readonly emulated: Emulated;
  readonly onRequest?: RequestHook | undefined;
  /** Aborted when the emulator closes. */
  readonly closing: AbortSignal;
}

/** Wraps the routes: records each request, adds latency, and injects faults. Dashboard requests bypass these steps. */
export function requestPipeline(
  parts: RequestPipelineParts,
): (request: Request, bindings: HttpBindings) => Promise<Response> {
  return async (request, bindings) => {
    const body = await readBody(bindings.incoming);
    const handle = async (): Promise<Response> =>
      compress(await parts.app.fetch(request, { ...bindings, body }), parts.emulated.behaviour.compresses);
    const path = bindings.incoming.url ?? '/';
    if (path.startsWith('/__emulator')) return parts.app.fetch(request, { ...bindings, body });
    const { method } = request;
    const shown = body.kind === 'json' ? { body: withoutKeys(body.value) } : {};
    const received: ReceivedRequest = { method, path, ...shown };
    parts.emulated.note(received);
    const latency = parts.emulated.behaviour.latencyMs;
    if (latency > 0) await pause(latency, parts.closing);
    if (parts.closing.aborted) return closeConnection(bindings);
    const fault = (await parts.onRequest?.(received)) ?? parts.emulated.faults.take(received);
    return fault === undefined ? handle() : injectFault(fault, { handle, bindings, closing: parts.closing });
  };
}

interface FaultyExchange {
  readonly handle: () => Promise<Response>;
  readonly bindings: HttpBindings;
  readonly closing: AbortSignal;
}

async function injectFault(fault: Fault, { handle, bindings, closing }: FaultyExchange): Promise<Response> {
  const { outgoing } = bindings;
  if ('status' in fault) {
    if (fault.commit === true) await handle();
    return statusResponse(fault);
  }
  if ('cut' in fault) {
    if (fault.cut === 'after') await handle();
    return closeConnection(bindings);
  }
  const response = await handle();
  if ('drip' in fault) {
    await sendDripping(response, outgoing, () => pause(fault.drip, closing));
    return RESPONSE_ALREADY_SENT;
  }
  if ('truncate' in fault) {
    await sendTruncated(response, outgoing, fault.truncate);
    return closeConnection(bindings);
  }
  if ('delayMs' in fault) {
    await pause(fault.delayMs, closing);
    return response;
  }
  return new Response(null, { status: response.status, headers: response.headers });
}

/** Closes the connection without a response. */
function closeConnection({ outgoing }: HttpBindings): Response {
  outgoing.socket?.destroy();
  return RESPONSE_ALREADY_SENT;
}

function statusResponse({ status, headers, body }: Extract<Fault, { status: number }>): Response {
  const isText = typeof body === 'string';
  const content = body === undefined ? null : isText ? body : JSON.stringify(body);
  const type = content === null ? {} : { 'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json' };
  return new Response(content, { status, headers: { ...type, ...headers } });
}

async function pause(milliseconds: number, closing: AbortSignal): Promise<void> {
  if (!closing.aborted) await sleep(milliseconds, undefined, { signal: closing }).catch(() => undefined);
}

/** The chunk size of a slow body, in bytes. */
const CHUNK_BYTES = 16;

/** Sends the response in small chunks, with a pause before each chunk. */
async function sendDripping(response: Response, outgoing: ServerResponse, pause: () => Promise<void>): Promise<void> {
  const body = await writeHead(response, outgoing);
  for (let sent = 0; sent < body.length && !outgoing.destroyed; sent += CHUNK_BYTES) {
    await pause();
    outgoing.write(body.subarray(sent, sent + CHUNK_BYTES));
  }
  outgoing.end();
}

/** Declares the length of the whole body in `content-length`, but sends only its first bytes. */
async function sendTruncated(response: Response, outgoing: ServerResponse, bytes: number): Promise<void> {
  const body = await writeHead(response, outgoing);
  outgoing.flushHeaders();
  await new Promise<void>((resolve) => {
    outgoing.once('close', resolve);
    outgoing.write(body.subarray(0, bytes), () => resolve());
  });
}

async function writeHead(response: Response, outgoing: ServerResponse): Promise<Buffer> {
  const body = Buffer.from(await response.arrayBuffer());
  outgoing.writeHead(response.status, {
    ...Object.fromEntries(response.headers),
    'content-length': String(body.length),
  });
  return body;
}

const COMPRESSORS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync };

/** Returns the response with a compressed body, or unchanged if `encoding` is null. */
async function compress(response: Response, encoding: EmulatorBehaviour['compresses']): Promise<Response> {
  if (encoding === null) return response;
  const body = COMPRESSORS[encoding](Buffer.from(await response.arrayBuffer()));
  const { status } = response;
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  headers.set('content-encoding', encoding);
  return new Response(new Uint8Array(body), { status, headers });
}

/** The maximum body size in bytes. It exceeds the size of any valid request. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** Reads the raw body, because a fetch `Request` cannot have a body for a GET. Rejects if the connection closes early. */
async function readBody(incoming: IncomingMessage): Promise<ReceivedBody> {
  const { headers } = incoming;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return { kind: 'none' };
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (size === 0) return { kind: 'none' };
  if (size > MAX_BODY_BYTES) return { kind: 'too-large' };
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) return { kind: 'wrong-type' };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return { kind: 'json', value: JSON.parse(text) as unknown };
  } catch {
    return { kind: 'not-json' };
  }
}

/** Returns the body with all provider keys replaced. */
function withoutKeys(body: unknown): unknown {
  return mapParts(body, (part, key) => (key === 'api_key' ? '(secret)' : withoutKeys(part)));
}
