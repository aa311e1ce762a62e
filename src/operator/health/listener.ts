import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { UserError } from '../../problems/user-error.ts';
import type { Json } from '../../values/json.ts';
import { messageOf } from '../messages.ts';
import { type Admission, malformedReason, networkOf, refusal, WRONG_TOKEN, type WrongTokens } from './admission.ts';

interface ListenerOptions extends Admission {
  /** True if the process is alive, for `/healthz`. If absent, the process always counts as alive. */
  isAlive?(): boolean;
  isReady(): boolean;
  status(): Json | Promise<Json>;
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Requests a run. If absent, `/reconcile` does not exist. */
  reconcile?(): void;
  /** Receives a webhook event about a source. Resolves to false if the signature is invalid. If absent, `/hooks` does not exist. */
  readonly events?: ((source: string, request: IncomingMessage) => Promise<boolean>) | undefined;
  redact(text: string): string;
  /** Limits attempts with wrong bearer tokens. */
  readonly wrongTokens: WrongTokens;
  /** The timeout of `/status` and `/metrics` in milliseconds. */
  readonly timeoutMs?: number | undefined;
  readonly page: {
    /** Serves every other path. */
    fetch(request: Request, env: HttpBindings): Response | Promise<Response>;
    /** True if the sender may read the page, and therefore the status. */
    mayRead(request: IncomingMessage): Promise<boolean>;
  };
}

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
const JSON_TYPE = { 'content-type': 'application/json' };
const READ_METHODS = 'GET, HEAD';
const SIGN_IN =
  'authentication required: sign in on the page, or set VOXFORM_WATCH_TOKEN and send it as a bearer token';

const UNSIGNED = 'the signature is missing or wrong, or this source has no webhook in the fleet file';
/** The maximum size of a webhook event from GitHub. */
const MAX_EVENT_BYTES = 25 * 1024 ** 2;

/** The default timeout of `/status` and `/metrics`, which may read a database. Monitoring systems usually wait longer. */
const DEFAULT_TIMEOUT_MS = 5000;

/** Slow connections, or many connections of one client, must not block others. */
const limits = {
  requestTimeout: 10_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 16_384,
};
const MAX_CONNECTIONS = 1000;
const MAX_CONNECTIONS_PER_ADDRESS = 250;
/** The timeout of idle connections. Live updates send data more often. */
const IDLE_TIMEOUT_MS = 60_000;

export interface Listener {
  /** The address with the actual port. */
  readonly url: string;
  close(): Promise<void>;
}

export function notFound({ reconciles }: { readonly reconciles: boolean }): string {
  return `not found; available: /, /api/v1/schema, /healthz, /readyz, /status, /metrics${reconciles ? ', POST /reconcile' : ''}`;
}

/** Serves health, status, metrics and the page. Throws `UserError` if it cannot listen on the address. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { host, port } = options.listen;
  const handle = getRequestListener(appOf(options).fetch, { overrideGlobalObjects: false });
  const server = createServer(limits, (request, response) => {
    // Probes come from any address, use an IP address as host name, and must not depend on other parts of the server.
    const plainResponse = plainResponseTo(request, options);
    if (plainResponse === undefined) return void handle(request, response);
    request.resume();
    const { status, body, ...headers } = plainResponse;
    response.writeHead(status, { ...HEADERS, ...JSON_TYPE, ...headers });
    response.end(request.method === 'HEAD' ? undefined : `${JSON.stringify(body)}\n`);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = IDLE_TIMEOUT_MS;
  limitConnectionsPerAddress(server, options);
  server.listen(port, host);
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'EADDRINUSE' ? 'address already in use' : cause.message;
    const hint = 'Choose another address with --listen; port 0 picks a free port.';
    throw new UserError(`cannot listen on ${host}:${port}: ${reason}`, { hint, cause });
  });
  const urlHost = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${urlHost}:${(server.address() as AddressInfo).port}`, close: () => close(server) };
}

interface PlainResponse {
  readonly status: number;
  readonly body: Json;
  readonly allow?: string;
}

/** Returns the response to a probe or to a malformed request; undefined for every other request. */
function plainResponseTo(
  request: IncomingMessage,
  { isAlive = () => true, isReady }: ListenerOptions,
): PlainResponse | undefined {
  const { url = '', method = '' } = request;
  const [path] = url.split('?', 1);
  if (path !== '/healthz' && path !== '/readyz') {
    const error = malformedReason(request);
    return error === undefined ? undefined : { status: 400, body: { error } };
  }
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: { error: 'use GET' }, allow: READ_METHODS };
  const body = path === '/healthz' ? { alive: isAlive() } : { ready: isReady() };
  return { status: Object.values(body)[0] ? 200 : 503, body };
}

type App = Hono<{ Bindings: HttpBindings }>;
type AppContext = Context<{ Bindings: HttpBindings }>;

/** Creates the routes `/status`, `/metrics`, `/reconcile` and `/hooks`. The page serves every other path. */
function appOf(options: ListenerOptions): App {
  const { status, metrics, reconcile, events, redact, page, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const app: App = new Hono();
  const respondInTime = (c: AppContext, work: () => Promise<Response>): Promise<Response> =>
    withTimeout(timeoutMs, work).catch((error: unknown) => errorResponse(c, 503, redact(messageOf(error))));
  app.get('/status', (c) =>
    respondInTime(c, async () => {
      const refused = refusalResponse(c, options, { writes: false });
      const { incoming } = c.env;
      const mayRead = hasBearer(incoming, options) ? refused === undefined : await page.mayRead(incoming);
      if (!mayRead) return refused ?? errorResponse(c, 403, SIGN_IN);
      return c.body(redact(`${JSON.stringify(await status())}\n`), 200, { ...HEADERS, ...JSON_TYPE });
    }),
  );
  app.get('/metrics', (c) =>
    respondInTime(c, async () => {
      const refused = refusalResponse(c, options, { writes: false });
      if (refused !== undefined) return refused;
      const { contentType, text } = await metrics();
      return c.body(redact(text), 200, { ...HEADERS, 'content-type': contentType });
    }),
  );
  for (const path of ['/status', '/metrics'])
    app.all(path, (c) => errorResponse(c, 405, 'use GET', { allow: READ_METHODS }));
  if (reconcile !== undefined) {
    app.post('/reconcile', (c) => {
      const refused = refusalResponse(c, options, { writes: true });
      if (refused !== undefined) return refused;
      reconcile();
      return c.json({ accepted: true }, 202, HEADERS);
    });
    app.all('/reconcile', (c) => errorResponse(c, 405, 'use POST', { allow: 'POST' }));
  }
  if (events !== undefined) {
    app.post('/hooks/:source', (c) => {
      const { incoming } = c.env;
      const length = Number(incoming.headers['content-length'] ?? Number.NaN);
      if (Number.isNaN(length)) return errorResponse(c, 411, 'Content-Length is required');
      if (length > MAX_EVENT_BYTES)
        return errorResponse(c, 413, `the event is larger than ${MAX_EVENT_BYTES / 1024 ** 2} MiB`);
      return respondInTime(c, async () =>
        (await events(c.req.param('source'), incoming))
          ? c.json({ accepted: true }, 202, HEADERS)
          : errorResponse(c, 401, UNSIGNED),
      );
    });
    app.all('/hooks/:source', (c) => errorResponse(c, 405, 'use POST', { allow: 'POST' }));
  }
  app.all('*', (c) => page.fetch(c.req.raw, c.env));
  return app;
}

/** Limits the number of connections per client address, except for proxies. */
function limitConnectionsPerAddress(server: Server, { proxy }: ListenerOptions): void {
  const counts = new Map<string, number>();
  server.on('connection', (socket) => {
    if (proxy.includes(socket.remoteAddress)) return;
    const network = networkOf(socket.remoteAddress);
    const count = counts.get(network) ?? 0;
    if (count >= MAX_CONNECTIONS_PER_ADDRESS) {
      socket.destroy();
      return;
    }
    counts.set(network, count + 1);
    socket.once('close', () => {
      const remaining = (counts.get(network) ?? 1) - 1;
      if (remaining > 0) counts.set(network, remaining);
      else counts.delete(network);
    });
  });
}

async function withTimeout<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs / 1000} s`)), timeoutMs);
  return Promise.race([work(), timeout]).finally(() => clearTimeout(timer));
}

/** True if a request has a bearer token. Other credentials, such as Basic, may be for a proxy. */
function hasBearer({ headers }: IncomingMessage, { token }: ListenerOptions): boolean {
  return token !== undefined && /^bearer /i.test(headers.authorization ?? '');
}

function refusalResponse(
  c: AppContext,
  options: ListenerOptions,
  access: { readonly writes: boolean },
): Response | undefined {
  const { wrongTokens } = options;
  const { incoming } = c.env;
  const { remoteAddress } = incoming.socket;
  const hasToken = hasBearer(incoming, options);
  const wait = hasToken ? wrongTokens.wait(remoteAddress) : 0;
  if (wait > 0) return errorResponse(c, 429, 'too many wrong tokens', { 'retry-after': String(wait) });
  const reason = refusal(incoming, options, access);
  if (reason === WRONG_TOKEN && hasToken) wrongTokens.add(remoteAddress);
  return reason === undefined ? undefined : errorResponse(c, 403, reason);
}

function errorResponse(
  c: AppContext,
  status: 401 | 403 | 405 | 411 | 413 | 429 | 503,
  error: string,
  headers = {},
): Response {
  return c.json({ error }, status, { ...HEADERS, ...headers });
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = server[Symbol.asyncDispose]();
  server.closeAllConnections();
  await closed;
}
