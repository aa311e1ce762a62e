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

/** Called for each request to the API before it is handled. May return a fault. */
export type RequestHook = (request: ReceivedRequest) => Fault | undefined | Promise<Fault | undefined>;

interface RequestPipelineParts {
  readonly app: Hono<EmulatorEnv>;
  readonly emulated: Emulated;
  readonly onRequest?: RequestHook | undefined;
  /** Aborts when the emulator closes. */
  readonly closing: AbortSignal;
}

/**
 * Wraps the routes: records each request, adds latency, and injects faults.
 * Requests of the dashboard bypass all of it.
 */
export function requestPipeline(
  parts: RequestPipelineParts,
): (request: Request, bindings: HttpBindings) => Promise<Response> {
  return async (request, bindings) => {
    const body = await readBody(bindings.incoming);
    const carryOut = async (): Promise<Response> =>
      compressed(await parts.app.fetch(request, { ...bindings, body }), parts.emulated.behaviour.compresses);
    const path = bindings.incoming.url ?? '/';
    if (path.startsWith('/__emulator')) return parts.app.fetch(request, { ...bindings, body });
    const { method } = request;
    const shown = body.kind === 'json' ? { body: withoutKeys(body.value) } : {};
    const received: ReceivedRequest = { method, path, ...shown };
    parts.emulated.note(received);
    const latency = parts.emulated.behaviour.latencyMs;
    if (latency > 0) await pause(latency, parts.closing);
    if (parts.closing.aborted) return withoutAnswer(bindings);
    const fault = (await parts.onRequest?.(received)) ?? parts.emulated.faults.take(received);
    return fault === undefined ? carryOut() : withFault(fault, { carryOut, bindings, closing: parts.closing });
  };
}

interface FaultyExchange {
  readonly carryOut: () => Promise<Response>;
  readonly bindings: HttpBindings;
  readonly closing: AbortSignal;
}

async function withFault(fault: Fault, { carryOut, bindings, closing }: FaultyExchange): Promise<Response> {
  const { outgoing } = bindings;
  if ('status' in fault) {
    if (fault.commit === true) await carryOut();
    return statusAnswer(fault);
  }
  if ('cut' in fault) {
    if (fault.cut === 'after') await carryOut();
    return withoutAnswer(bindings);
  }
  const answer = await carryOut();
  if ('drip' in fault) {
    await sendDripping(answer, outgoing, () => pause(fault.drip, closing));
    return RESPONSE_ALREADY_SENT;
  }
  if ('truncate' in fault) {
    await sendTruncated(answer, outgoing, fault.truncate);
    return withoutAnswer(bindings);
  }
  if ('delayMs' in fault) {
    await pause(fault.delayMs, closing);
    return answer;
  }
  return new Response(null, { status: answer.status, headers: answer.headers });
}

/** Breaks the connection. */
function withoutAnswer({ outgoing }: HttpBindings): Response {
  outgoing.socket?.destroy();
  return RESPONSE_ALREADY_SENT;
}

function statusAnswer({ status, headers, body }: Extract<Fault, { status: number }>): Response {
  const isText = typeof body === 'string';
  const content = body === undefined ? null : isText ? body : JSON.stringify(body);
  const type = content === null ? {} : { 'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json' };
  return new Response(content, { status, headers: { ...type, ...headers } });
}

async function pause(milliseconds: number, closing: AbortSignal): Promise<void> {
  if (!closing.aborted) await sleep(milliseconds, undefined, { signal: closing }).catch(() => undefined);
}

/** Size of the pieces of a slow body, in bytes. */
const PIECE = 16;

/** Sends the answer in small pieces, with a pause before each. */
async function sendDripping(answer: Response, outgoing: ServerResponse, pause: () => Promise<void>): Promise<void> {
  const body = await writeHead(answer, outgoing);
  for (let sent = 0; sent < body.length && !outgoing.destroyed; sent += PIECE) {
    await pause();
    outgoing.write(body.subarray(sent, sent + PIECE));
  }
  outgoing.end();
}

/** Announces the length of the whole body, but sends only its first bytes. */
async function sendTruncated(answer: Response, outgoing: ServerResponse, bytes: number): Promise<void> {
  const body = await writeHead(answer, outgoing);
  outgoing.flushHeaders();
  await new Promise<void>((resolve) => {
    outgoing.once('close', resolve);
    outgoing.write(body.subarray(0, bytes), () => resolve());
  });
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

/** The response with its body compressed; unchanged without an encoding. */
async function compressed(answer: Response, encoding: EmulatorBehaviour['compresses']): Promise<Response> {
  if (encoding === null) return answer;
  const body = COMPRESSING[encoding](Buffer.from(await answer.arrayBuffer()));
  const { status } = answer;
  const headers = new Headers(answer.headers);
  headers.delete('content-length');
  headers.set('content-encoding', encoding);
  return new Response(new Uint8Array(body), { status, headers });
}

/** Larger than any valid request. */
const LARGEST = 16 * 1024 * 1024;

/** Reads the raw body, including that of a GET, which a fetch `Request` cannot carry. Rejects when the connection breaks. */
async function readBody(incoming: IncomingMessage): Promise<ReceivedBody> {
  const { headers } = incoming;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return { kind: 'none' };
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= LARGEST) chunks.push(chunk);
  }
  if (size === 0) return { kind: 'none' };
  if (size > LARGEST) return { kind: 'too-large' };
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) return { kind: 'wrong-type' };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return { kind: 'json', value: JSON.parse(text) as unknown };
  } catch {
    return { kind: 'not-json' };
  }
}

/** The body with all provider keys replaced. */
function withoutKeys(body: unknown): unknown {
  return mapParts(body, (part, key) => (key === 'api_key' ? '(secret)' : withoutKeys(part)));
}
