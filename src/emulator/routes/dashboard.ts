import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { userRoles } from '../../platform/records.ts';
import { type Json, jsonValue } from '../../values/json.ts';
import { type BehaviourPatch, type EmulatorBehaviour, emulatorBehaviour } from '../behaviour.ts';
import type { Dashboard } from '../dashboard.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { type Faults, plannedFault } from '../faults.ts';
import { notFound } from '../refusal.ts';
import { bodyOf, checkedStrictly } from '../request-checks.ts';
import type { RequestLog } from '../request-log.ts';
import { type CollectionName, isCollection } from '../stored-records.ts';

export interface DashboardParts {
  readonly dashboard: Dashboard;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly setBehaviour: (patch: BehaviourPatch) => EmulatorBehaviour;
}

const forms = {
  link: z.strictObject({
    inbound_agent_id: z.string().nullable().optional(),
    outbound_agent_id: z.string().nullable().optional(),
    nickname: z.string().optional(),
  }),
  user: z.strictObject({
    email: z.string(),
    name: z.string().optional(),
    role: z.enum(userRoles).nullable().optional(),
  }),
  knowledgeBase: z.strictObject({ name: z.string() }),
  call: z.looseObject({ agent_id: z.string() }),
  invoice: z.looseObject({}),
  apiKey: z.strictObject({ name: z.string(), expires_at: z.string().nullable().optional() }),
  patch: z.record(z.string(), jsonValue),
} as const;

/** The dashboard and the emulator's own controls, without a key. Answers are `{ "data": … }`. */
export function dashboardRoutes(emulated: Emulated, parts: DashboardParts): Hono<EmulatorEnv> {
  const { dashboard } = parts;
  const routes = new Hono<EmulatorEnv>();
  const created = (c: Context<EmulatorEnv>, data: unknown): Response => c.json({ data }, 201);
  controlRoutes(routes, emulated, parts);
  routes.post('/agents/:id/publish', (c) => c.json({ data: dashboard.publishAgent(c.req.param('id')) }));
  routes.post('/numbers/:id/link', (c) =>
    c.json({ data: dashboard.linkNumber(c.req.param('id'), checkedStrictly(forms.link, bodyOf(c))) }),
  );
  routes.post('/users', (c) => created(c, dashboard.inviteUser(checkedStrictly(forms.user, bodyOf(c)))));
  routes.post('/knowledge-bases', (c) =>
    created(c, dashboard.addKnowledgeBase(checkedStrictly(forms.knowledgeBase, bodyOf(c)))),
  );
  routes.post('/calls', (c) => created(c, dashboard.recordCall(checkedStrictly(forms.call, bodyOf(c)))));
  routes.post('/invoices', (c) =>
    created(c, dashboard.addInvoice(checkedStrictly(forms.invoice, bodyOf(c)))),
  );
  routes.post('/api-keys', (c) => created(c, dashboard.addApiKey(checkedStrictly(forms.apiKey, bodyOf(c)))));
  routes.patch('/:collection/:id', (c) => {
    const patch: Record<string, Json> = checkedStrictly(forms.patch, bodyOf(c));
    return c.json({ data: dashboard.edit(collectionOf(c), c.req.param('id'), patch) });
  });
  routes.delete('/:collection/:id', (c) => {
    dashboard.remove(collectionOf(c), c.req.param('id'));
    return c.body(null, 204);
  });
  return routes;
}

function controlRoutes(
  routes: Hono<EmulatorEnv>,
  emulated: Emulated,
  { faults, log, setBehaviour }: DashboardParts,
): void {
  routes.get('/world', (c) => c.json({ data: emulated.world.toData() }));
  routes.get('/behaviour', (c) => c.json({ data: emulated.behaviour }));
  routes.put('/behaviour', (c) => {
    const patch = bodyOf(c);
    checkedStrictly(emulatorBehaviour, patch);
    return c.json({ data: setBehaviour(patch) });
  });
  routes.get('/requests', (c) => c.json({ data: log.entries, count: log.entries.length }));
  routes.delete('/requests', (c) => {
    log.clear();
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
