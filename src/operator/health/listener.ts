import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { UserError } from '../../problems/user-error.ts';
import type { Json } from '../../values/json.ts';
import { messageOf } from '../messages.ts';
import { type Admission, malformation, refusal, WRONG_TOKEN } from './admission.ts';
import { type Guesses, networkOf } from './guesses.ts';

interface ListenerOptions extends Admission {
  /** Whether it does its work; always where absent. */
  isAlive?(): boolean;
  isReady(): boolean;
  status(): Json | Promise<Json>;
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Asks for a run; not to be had where absent. */
  reconcile?(): void;
  /** Strikes out secrets. */
  redact(text: string): string;
  /** Counts wrong bearer tokens. */
  readonly guesses: Guesses;
  /** Milliseconds that status and metrics may take. */
  readonly longest?: number | undefined;
  readonly page: {
    /** Answers for every other path. */
    readonly listener: RequestListener;
    /** Whether the sender may read the page, and so the status. */
    mayRead(request: IncomingMessage): Promise<boolean>;
  };
}

/** Milliseconds: less than what asks for them waits, as a database that they are in may not answer. */
const LONGEST = 5000;

/** Slow and many connections must not keep others out. */
const limits = {
  requestTimeout: 10_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 2000,
  maxHeaderSize: 16_384,
};
const MOST_CONNECTIONS = 1000;
const MOST_EACH = 250;
/** Milliseconds without a byte; live updates send one more often. */
const IDLE = 60_000;

export interface Listener {
  /** With the port that was taken. */
  readonly url: string;
  close(): Promise<void>;
}

interface HttpAnswer {
  readonly status: number;
  readonly body: Json | { readonly contentType: string; readonly text: string };
  readonly allow?: string;
  readonly retryAfter?: number;
}

type Handler = (options: ListenerOptions) => HttpAnswer | Promise<HttpAnswer>;

/** Probes ask by number, not by name, and may come from anywhere. */
const probes: Readonly<Record<string, Handler>> = {
  '/healthz': ({ isAlive = () => true }) => ({ status: isAlive() ? 200 : 503, body: { alive: isAlive() } }),
  '/readyz': ({ isReady }) => ({ status: isReady() ? 200 : 503, body: { ready: isReady() } }),
};

const pages: Readonly<Record<string, Handler>> = {
  '/status': async ({ status }) => ({ status: 200, body: await status() }),
  '/metrics': async ({ metrics }) => ({ status: 200, body: await metrics() }),
};

const unread: HttpAnswer = {
  status: 403,
  body: {
    error:
      'authentication required: sign in on the page, or set VOXFORM_WATCH_TOKEN and send it as a bearer token',
  },
};

/** Of a path that nothing answers. */
export function notFound({ reconciles }: { readonly reconciles: boolean }): string {
  const known = [...Object.keys(probes), ...Object.keys(pages), ...(reconciles ? ['POST /reconcile'] : [])];
  return `not found; available: ${known.join(', ')}`;
}

/** Serves health, status and figures. Throws `UserError` for an address that cannot be had. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const { host, port } = options.listen;
  const server = createServer(limits, (request, response) => {
    const isPage = !isOwn(pathOf(request)) && malformation(request) === undefined;
    if (isPage) return options.page.listener(request, response);
    // What is sent with a request is of no interest, but must not pile up.
    request.resume();
    void answer(request, options)
      .catch((error: unknown) => ({ status: 503, body: { error: messageOf(error) } }))
      .then((given) => send(request, response, { ...given, redact: options.redact }));
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.timeout = IDLE;
  limitEach(server, options);
  server.listen(port, host);
  await once(server, 'listening').catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'EADDRINUSE' ? 'address already in use' : cause.message;
    const hint = 'Choose another address with --listen; port 0 picks a free port.';
    throw new UserError(`cannot listen on ${host}:${port}: ${why}`, { hint, cause });
  });
  const shown = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${shown}:${(server.address() as AddressInfo).port}`, close: () => close(server) };
}

/** One address must not take all connections. */
function limitEach(server: Server, { proxy }: ListenerOptions): void {
  const counts = new Map<string, number>();
  server.on('connection', (socket) => {
    if (proxy.includes(socket.remoteAddress)) return;
    const from = networkOf(socket.remoteAddress);
    const count = counts.get(from) ?? 0;
    if (count >= MOST_EACH) {
      socket.destroy();
      return;
    }
    counts.set(from, count + 1);
    socket.once('close', () => {
      const left = (counts.get(from) ?? 1) - 1;
      if (left > 0) counts.set(from, left);
      else counts.delete(from);
    });
  });
}

async function answer(request: IncomingMessage, options: ListenerOptions): Promise<HttpAnswer> {
  const path = pathOf(request);
  const malformed = Object.hasOwn(probes, path) ? undefined : malformation(request);
  if (malformed !== undefined) return { status: 400, body: { error: malformed } };
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const route = Object.hasOwn(probes, path)
    ? probes[path]
    : Object.hasOwn(pages, path)
      ? pages[path]
      : undefined;
  if (path === '/reconcile' && options.reconcile !== undefined) {
    if (request.method !== 'POST') return { status: 405, body: { error: 'use POST' }, allow: 'POST' };
    const refused = refusing(request, options, { writes: true });
    if (refused !== undefined) return refused;
    options.reconcile();
    return { status: 202, body: { accepted: true } };
  }
  if (route === undefined) {
    const reconciles = options.reconcile !== undefined;
    return { status: 404, body: { error: notFound({ reconciles }) } };
  }
  if (!isRead) return { status: 405, body: { error: 'use GET' }, allow: 'GET, HEAD' };
  if (Object.hasOwn(probes, path)) return route(options);
  const refused = refusing(request, options, { writes: false });
  return inTime(options.longest, async () => {
    if (path !== '/status' || hasBearer(request, options)) return refused ?? route(options);
    return (await options.page.mayRead(request)) ? route(options) : (refused ?? unread);
  });
}

async function inTime<T>(longest = LONGEST, work: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${longest / 1000} s`)), longest);
  return Promise.race([work(), late]).finally(() => clearTimeout(timer));
}

function pathOf({ url }: IncomingMessage): string {
  return (url ?? '/').split('?', 1)[0] ?? '/';
}

function isOwn(path: string): boolean {
  return path === '/reconcile' || Object.hasOwn(probes, path) || Object.hasOwn(pages, path);
}

/** A proxy may send credentials of its own, such as Basic. */
function hasBearer({ headers }: IncomingMessage, { token }: ListenerOptions): boolean {
  return token !== undefined && /^bearer /i.test(headers.authorization ?? '');
}

function refusing(
  request: IncomingMessage,
  options: ListenerOptions,
  what: { readonly writes: boolean },
): HttpAnswer | undefined {
  const { guesses } = options;
  const { remoteAddress } = request.socket;
  const isGuess = hasBearer(request, options);
  const retryAfter = isGuess ? guesses.wait(remoteAddress) : 0;
  if (retryAfter > 0) return { status: 429, body: { error: 'too many wrong tokens' }, retryAfter };
  const why = refusal(request, options, what);
  if (why === WRONG_TOKEN && isGuess) guesses.wrong(remoteAddress);
  return why === undefined ? undefined : { status: 403, body: { error: why } };
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body, allow, retryAfter, redact }: HttpAnswer & Pick<ListenerOptions, 'redact'>,
): void {
  const isText = typeof body === 'object' && body !== null && 'contentType' in body;
  const text = isText ? String(body.text) : `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': isText ? String(body.contentType) : 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(allow !== undefined && { allow }),
    ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
  });
  response.end(request.method === 'HEAD' ? undefined : redact(text));
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = server[Symbol.asyncDispose]();
  server.closeAllConnections();
  await closed;
}
