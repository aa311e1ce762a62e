import { Hono } from 'hono';
import type { EmulatorBehaviour } from './behaviour.ts';
import { type Dashboard, dashboardRoutes } from './dashboard.ts';
import type { Emulated, EmulatorEnv } from './emulated.ts';
import { Refusal, refusalResponse } from './refusal.ts';
import { addApiRoutes } from './routes.ts';

/** The platform as one HTTP application. Without `apiKey` it accepts any bearer key. */
export function emulatorApp(
  emulated: Emulated,
  { apiKey, dashboard }: { apiKey: string | undefined; dashboard: Dashboard },
): Hono<EmulatorEnv> {
  const app = new Hono<EmulatorEnv>();
  app.notFound((c) => errorAnswer(new Refusal(404, `No route: ${c.req.method} ${c.req.path}`), emulated));
  app.onError((error) => errorAnswer(error, emulated));
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

/** Any error but a refusal is a bug of the emulator, so it shows its stack. */
function errorAnswer(error: Error, { behaviour }: Emulated): Response {
  if (error instanceof Refusal) return refusalResponse(error, behaviour.errorStyle);
  return Response.json({ message: 'The emulator failed', stack: error.stack }, { status: 500 });
}

/** Counts requests in windows of fixed length. */
class RateLimit {
  #windowStart = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** Throws a 429 when the window is used up. */
  admit(limit: EmulatorBehaviour['rateLimit']): void {
    if (limit === null) return;
    const now = Date.now();
    const length = limit.perSeconds * 1000;
    if (now - this.#windowStart >= length) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= limit.requests) return;
    const end = this.#windowStart + length;
    throw new Refusal(429, 'Too many requests', { headers: retryAfter(limit.retryAfter, end, end - now) });
  }
}

/** Both forms have whole seconds, so they are rounded up. */
function retryAfter(form: 'seconds' | 'date' | 'none', end: number, remaining: number): Record<string, string> {
  if (form === 'none') return {};
  if (form === 'seconds') return { 'retry-after': String(Math.ceil(remaining / 1000)) };
  return { 'retry-after': new Date(Math.ceil(end / 1000) * 1000).toUTCString() };
}
