import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Hono } from 'hono';
import { breakConnection, compressed, sendDripping, sendTruncated } from './broken-responses.ts';
import type { Emulated, EmulatorEnv } from './emulated.ts';
import type { Fault, Faults } from './faults.ts';
import { readBody, withoutKeys } from './received-body.ts';
import type { ReceivedRequest, RequestLog } from './request-log.ts';

/** Called for each request to the API before anything is done about it; may answer with a fault for it. */
export type RequestHook = (request: ReceivedRequest) => Fault | undefined | Promise<Fault | undefined>;

interface RequestPipelineParts {
  readonly app: Hono<EmulatorEnv>;
  readonly log: RequestLog;
  readonly faults: Faults;
  readonly emulated: Emulated;
  readonly onRequest?: RequestHook | undefined;
  /** Aborted when the emulator closes: ends all waiting. */
  readonly closing: AbortSignal;
}

/**
 * What a request passes on its way to the routes and back: it is written down, takes its time, and may meet a fault.
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
    parts.log.add(received);
    const latency = parts.emulated.behaviour.latencyMs;
    if (latency > 0) await pause(latency, parts.closing);
    if (parts.closing.aborted) return withoutAnswer(bindings);
    const fault = (await parts.onRequest?.(received)) ?? parts.faults.take(received);
    return fault === undefined
      ? carryOut()
      : withFault(fault, { carryOut, bindings, closing: parts.closing });
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
    return RESPONSE_ALREADY_SENT;
  }
  if ('delayMs' in fault) {
    await pause(fault.delayMs, closing);
    return answer;
  }
  return new Response(null, { status: answer.status, headers: answer.headers });
}

function withoutAnswer({ outgoing }: HttpBindings): Response {
  breakConnection(outgoing);
  return RESPONSE_ALREADY_SENT;
}

function statusAnswer({ status, headers, body }: Extract<Fault, { status: number }>): Response {
  const isText = typeof body === 'string';
  const content = body === undefined ? null : isText ? body : JSON.stringify(body);
  const type =
    content === null ? {} : { 'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json' };
  return new Response(content, { status, headers: { ...type, ...headers } });
}

async function pause(milliseconds: number, closing: AbortSignal): Promise<void> {
  if (!closing.aborted) await sleep(milliseconds, undefined, { signal: closing }).catch(() => undefined);
}
