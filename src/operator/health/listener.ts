import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UserError } from '../../problems/user-error.ts';
import type { Json } from '../../values/json.ts';
import { type Admission, refusal } from './admission.ts';

/** What the listener serves. */
interface ListenerOptions extends Admission {
  isReady(): boolean;
  status(): Json;
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Asks for a run. */
  reconcile(): void;
  /** Strikes out secrets. */
  redact(text: string): string;
}

export interface Listener {
  /** With the port that was taken. */
  readonly url: string;
  close(): Promise<void>;
}

interface HttpAnswer {
  readonly status: number;
  readonly body: Json | { readonly contentType: string; readonly text: string };
  readonly allow?: string;
}

type Handler = (options: ListenerOptions) => HttpAnswer | Promise<HttpAnswer>;

/** Probes ask by number, not by name, and may come from anywhere. */
const probes: Readonly<Record<string, Handler>> = {
  '/healthz': () => ({ status: 200, body: { alive: true } }),
  '/readyz': ({ isReady }) => ({ status: isReady() ? 200 : 503, body: { ready: isReady() } }),
};

const pages: Readonly<Record<string, Handler>> = {
  '/status': ({ status }) => ({ status: 200, body: status() }),
  '/metrics': async ({ metrics }) => ({ status: 200, body: await metrics() }),
};

/** Serves health, status and figures. Throws `UserError` for an address that cannot be had. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { host, port } = options.listen;
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 16_384 }, (request, response) => {
    // What is sent with a request is of no interest, but must not pile up.
    request.resume();
    void answer(request, options).then((given) =>
      send(request, response, { ...given, redact: options.redact }),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'address already in use' : cause.message;
      const hint = 'Choose another address with --listen; port 0 picks a free port.';
      reject(new UserError(`cannot listen on ${host}:${port}: ${why}`, { hint, cause }));
    });
    server.listen(port, host, resolve);
  });
  const shown = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${shown}:${(server.address() as AddressInfo).port}`, close: () => close(server) };
}

async function answer(request: IncomingMessage, options: ListenerOptions): Promise<HttpAnswer> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const route = Object.hasOwn(probes, path)
    ? probes[path]
    : Object.hasOwn(pages, path)
      ? pages[path]
      : undefined;
  if (path === '/reconcile') {
    if (request.method !== 'POST') return { status: 405, body: { error: 'use POST' }, allow: 'POST' };
    const why = refusal(request.headers, options, { writes: true });
    if (why !== undefined) return { status: 403, body: { error: why } };
    options.reconcile();
    return { status: 202, body: { accepted: true } };
  }
  if (route === undefined) {
    const known = [...Object.keys(probes), ...Object.keys(pages), 'POST /reconcile'];
    return { status: 404, body: { error: `not found; available: ${known.join(', ')}` } };
  }
  if (!isRead) return { status: 405, body: { error: 'use GET' }, allow: 'GET, HEAD' };
  const why = Object.hasOwn(probes, path) ? undefined : refusal(request.headers, options, { writes: false });
  if (why !== undefined) return { status: 403, body: { error: why } };
  return route(options);
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body, allow, redact }: HttpAnswer & Pick<ListenerOptions, 'redact'>,
): void {
  const isText = typeof body === 'object' && body !== null && 'contentType' in body;
  const text = isText ? String(body.text) : `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': isText ? String(body.contentType) : 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(allow !== undefined && { allow }),
  });
  response.end(request.method === 'HEAD' ? undefined : redact(text));
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
