import { Hono } from 'hono';
import type { Dashboard } from './dashboard-edits.ts';
import type { Emulated, EmulatorEnv } from './emulated.ts';
import { RateLimit } from './rate-limit.ts';
import { Refusal, refusalResponse } from './refusal.ts';
import { agentRoutes } from './routes/agents.ts';
import { dashboardRoutes } from './routes/dashboard.ts';
import { listRoutes } from './routes/lists.ts';
import { numberRoutes } from './routes/numbers.ts';
import { userRoutes } from './routes/users.ts';
import { webhookRoutes } from './routes/webhooks.ts';

/** The whole platform as one HTTP application. Without `apiKey` any bearer key opens it. */
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
  for (const addRoutes of [agentRoutes, numberRoutes, webhookRoutes, userRoutes, listRoutes]) {
    addRoutes(api, emulated);
  }
  return app.route('/api/v1', api);
}

function requireKey(header: string | undefined, apiKey: string | undefined): void {
  const given = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
  if (given === undefined || (apiKey !== undefined && given !== apiKey)) {
    throw new Refusal(401, 'Unauthenticated');
  }
}

/** An error that is no refusal is a mistake of the emulator itself, so it shows where it happened. */
function errorAnswer(error: Error, { behaviour }: Emulated): Response {
  if (error instanceof Refusal) return refusalResponse(error, behaviour.errorStyle);
  return Response.json({ message: 'The emulator failed', stack: error.stack }, { status: 500 });
}
