import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { Json } from '../../values/json.ts';
import { jsonValue } from '../../values/json-value.ts';
import { emulatorBehaviour } from '../behaviour.ts';
import { type Dashboard, dashboardForms } from '../dashboard-edits.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { plannedFault } from '../faults.ts';
import { notFound } from '../refusal.ts';
import { bodyOf, checkedStrictly } from '../request-checks.ts';
import { type CollectionName, isCollection } from '../stored-records.ts';

const patchForm = z.record(z.string(), jsonValue);

/** The dashboard and the emulator's own controls, without a key. Answers are `{ "data": … }`. */
export function dashboardRoutes(emulated: Emulated, dashboard: Dashboard): Hono<EmulatorEnv> {
  const routes = new Hono<EmulatorEnv>();
  controlRoutes(routes, emulated);
  routes.post('/agents/:id/publish', (c) => c.json({ data: dashboard.publishAgent(c.req.param('id')) }));
  routes.post('/numbers/:id/link', (c) =>
    c.json({
      data: dashboard.linkNumber(c.req.param('id'), checkedStrictly(dashboardForms.link, bodyOf(c))),
    }),
  );
  const creates = <T>(path: string, form: z.ZodType<T>, create: (body: T) => unknown) =>
    routes.post(path, (c) => c.json({ data: create(checkedStrictly(form, bodyOf(c))) }, 201));
  creates('/users', dashboardForms.user, (body) => dashboard.inviteUser(body));
  creates('/knowledge-bases', dashboardForms.knowledgeBase, (body) => dashboard.addKnowledgeBase(body));
  creates('/calls', dashboardForms.call, (body) => dashboard.recordCall(body));
  creates('/invoices', dashboardForms.invoice, (body) => dashboard.addInvoice(body));
  creates('/api-keys', dashboardForms.apiKey, (body) => dashboard.addApiKey(body));
  routes.patch('/:collection/:id', (c) => {
    const patch: Record<string, Json> = checkedStrictly(patchForm, bodyOf(c));
    return c.json({ data: dashboard.edit(collectionOf(c), c.req.param('id'), patch) });
  });
  routes.delete('/:collection/:id', (c) => {
    dashboard.remove(collectionOf(c), c.req.param('id'));
    return c.body(null, 204);
  });
  return routes;
}

function controlRoutes(routes: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world, faults } = emulated;
  routes.get('/world', (c) => c.json({ data: world.toData() }));
  routes.get('/behaviour', (c) => c.json({ data: emulated.behaviour }));
  routes.put('/behaviour', (c) => {
    const patch = bodyOf(c);
    checkedStrictly(emulatorBehaviour, patch);
    return c.json({ data: emulated.setBehaviour(patch) });
  });
  routes.get('/requests', (c) => c.json({ data: emulated.requests, count: emulated.requests.length }));
  routes.delete('/requests', (c) => {
    emulated.requests = [];
    return c.body(null, 204);
  });
  routes.get('/faults', (c) => c.json({ data: faults.pending }));
  routes.post('/faults', (c) => {
    faults.add(checkedStrictly(plannedFault, bodyOf(c)));
    return c.json({ data: faults.pending }, 201);
  });
  routes.delete('/faults', (c) => {
    faults.clear();
    return c.body(null, 204);
  });
}

function collectionOf(c: Context<EmulatorEnv>): CollectionName {
  const name = c.req.param('collection') ?? '';
  if (!isCollection(name)) throw notFound(`Collection ${name}`);
  return name;
}
