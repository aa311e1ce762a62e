import { Hono } from 'hono';
import type { EmulatorBehaviour } from './behaviour.ts';
import { type Dashboard, dashboardRoutes } from './dashboard.ts';
import type { Emulated, EmulatorEnv } from './emulated.ts';
import { Refusal, refusalResponse } from './refusal.ts';
import { addApiRoutes } from './routes.ts';

/** Returns the emulator's HTTP application. Without `apiKey`, any bearer key is accepted. */
export function emulatorApp(emulated: Emulated, apiKey: string | undefined, dashboard: Dashboard): Hono<EmulatorEnv> {
  const app = new Hono<EmulatorEnv>();
  app.notFound((c) => errorResponse(new Refusal(404, `No route: ${c.req.method} ${c.req.path}`), emulated));
  app.onError((error) => errorResponse(error, emulated));
  app.route('/__emulator', dashboardRoutes(emulated, dashboard));
  const rateLimit = new RateLimit();
  const api = new Hono<EmulatorEnv>();
  api.use(async (c, next) => {
    requireKey(c.req.header('authorization'), apiKey);
    rateLimit.admit(emulated.behaviour.rateLimit);
    await next();
  });
  addApiRoutes(api, emulated);
  return app.route('/api/v1', api);
}

function requireKey(header: string | undefined, apiKey: string | undefined): void {
  const given = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
  if (given === undefined || (apiKey !== undefined && given !== apiKey)) {
    throw new Refusal(401, 'Unauthenticated');
  }
}

/** Converts an error to a response. An error other than a refusal is a bug in the emulator, so the response contains its stack. */
function errorResponse(error: Error, { behaviour }: Emulated): Response {
  if (error instanceof Refusal) return refusalResponse(error, behaviour.errorStyle);
  return Response.json({ message: 'The emulator failed', stack: error.stack }, { status: 500 });
}

/** Limits the number of requests in fixed time windows. */
class RateLimit {
  #windowStart = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** Throws a 429 if the current window has no requests left. */
  admit(limit: EmulatorBehaviour['rateLimit']): void {
    if (limit === null) return;
    const now = Date.now();
    const windowMs = limit.perSeconds * 1000;
    if (now - this.#windowStart >= windowMs) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= limit.requests) return;
    const end = this.#windowStart + windowMs;
    throw new Refusal(429, 'Too many requests', { headers: retryAfter(limit.retryAfter, end, end - now) });
  }
}

/** Returns the Retry-After header. Both forms have a resolution of one second, so the time is rounded up. */
function retryAfter(form: 'seconds' | 'date' | 'none', end: number, remaining: number): Record<string, string> {
  if (form === 'none') return {};
  if (form === 'seconds') return { 'retry-after': String(Math.ceil(remaining / 1000)) };
  return { 'retry-after': new Date(Math.ceil(end / 1000) * 1000).toUTCString() };
}
