import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { userRoles } from '../platform/records/user-records.ts';
import { jsonValue } from '../values/described.ts';
import { type Immutable, isObject, type Json, withoutUndefined } from '../values/json.ts';
import { publishAgent } from './agent-lifecycle.ts';
import { emulatorBehaviour } from './behaviour.ts';
import { type Emulated, type EmulatorEnv, mergePatch } from './emulated.ts';
import { plannedFault } from './faults.ts';
import { generateCalls, usualCall } from './generated-calls.ts';
import { microsecondTime, offsetTime } from './ids-and-clock.ts';
import { found, notFound } from './refusal.ts';
import { bodyOf, checkedStrictly } from './request-checks.ts';
import {
  type CollectionName,
  isCollection,
  isMarkedKey,
  type KeyMarker,
  markKey,
  type Stored,
  type StoredUser,
  storedSchemas,
} from './stored-records.ts';
import type { World } from './world.ts';

const dashboardForms = {
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
} as const;

type FormOf<Name extends keyof typeof dashboardForms> = Immutable<z.infer<(typeof dashboardForms)[Name]>>;

/**
 * Makes the changes for which the API has no endpoint, such as publications, incoming calls, and edits in the platform's dashboard.
 * These methods throw a `Refusal`: 404 for a missing record, 422 for invalid values.
 */
export class Dashboard {
  readonly #emulated: Emulated;
  readonly #world: World;

  constructor(emulated: Emulated) {
    this.#emulated = emulated;
    this.#world = emulated.world;
  }

  publishAgent(id: string): Stored<'agents'> {
    const agent = found(this.#world.agents.get(id), 'Agent');
    const { updatedAfterPublishing, calls } = this.#emulated.behaviour;
    const published = publishAgent(this.#world, agent, updatedAfterPublishing);
    if (calls !== null) generateCalls(this.#world, published, calls);
    return published;
  }

  /** Returns true if this is the agent's key for its model provider. */
  holdsApiKey(agentId: string, key: string): boolean {
    const marker = this.#world.agents.get(agentId)?.api_key;
    return marker != null && isMarkedKey(marker, key);
  }

  linkNumber(id: string, link: FormOf<'link'>): Stored<'numbers'> {
    const number = found(this.#world.numbers.get(id), 'Number');
    for (const agentId of [link.inbound_agent_id, link.outbound_agent_id]) {
      if (agentId != null && !this.#world.agents.has(agentId)) throw notFound('Agent');
    }
    const now = offsetTime(this.#world.beginWrite());
    return putRecord(this.#world, 'numbers', { ...number, ...withoutUndefined(link), updated_at: now });
  }

  inviteUser({
    email,
    name,
    role = null,
  }: Omit<FormOf<'user'>, 'role'> & { readonly role?: StoredUser['role'] | undefined }): Stored<'users'> {
    this.#world.beginWrite();
    return putRecord(this.#world, 'users', {
      id: this.#world.newId(),
      name: name ?? String(email).split('@')[0],
      email,
      role,
      is_owner: role === 'owner',
      modules: [],
      agent_ids: [],
    });
  }

  addKnowledgeBase({ name }: FormOf<'knowledgeBase'>): Stored<'knowledge-bases'> {
    return putRecord(this.#world, 'knowledge-bases', { ...this.#world.newRecord(microsecondTime), name });
  }

  /** Adds a call. By default, it is a finished call of three minutes. */
  recordCall(call: Partial<Stored<'calls'>> & { readonly agent_id: string }): Stored<'calls'> {
    const record = this.#world.newRecord(microsecondTime);
    return putRecord(this.#world, 'calls', {
      ...record,
      ...usualCall,
      start_time: microsecondTime(Date.parse(record.created_at) - 180_000),
      end_time: record.created_at,
      duration: '00:03:00',
      cost: 0.42,
      end_reason: 'hangup',
      session_status: 'active',
      session_outcome: 'unresolved',
      e2e_latency: 640,
      ...call,
    });
  }

  /** Adds an invoice. By default, it is a paid invoice of 49.00 euros. */
  addInvoice(invoice: Partial<Stored<'invoices'>> = {}): Stored<'invoices'> {
    const now = Math.floor(this.#world.beginWrite() / 1000);
    const id = this.#world.newId();
    return putRecord(this.#world, 'invoices', {
      id,
      created_at: now,
      amount_due: 4900,
      amount_paid: 4900,
      total: 4900,
      currency: 'eur',
      status: 'paid',
      invoice_url: `https://billing.example.com/${id}`,
      invoice_pdf: `https://billing.example.com/${id}.pdf`,
      number: `INV-${String(this.#world.records.invoices.size + 1).padStart(4, '0')}`,
      period_start: now - 30 * 24 * 60 * 60,
      period_end: now,
      ...invoice,
    });
  }

  addApiKey(key: FormOf<'apiKey'>): Stored<'api-keys'> {
    const now = microsecondTime(this.#world.beginWrite());
    return putRecord(this.#world, 'api-keys', {
      id: Math.max(0, ...this.#world.records['api-keys'].values().map(({ id }) => id)) + 1,
      created_at: now,
      ...key,
      expires_at: key.expires_at ?? null,
    });
  }

  /** Applies a merge patch (RFC 7396) to a record, like an edit in the dashboard. */
  edit<Name extends CollectionName>(
    collection: Name,
    id: string,
    patch: { readonly [field: string]: Json },
  ): Stored<Name> {
    const world = this.#world;
    const record = found(world.records[collection].get(id), collection);
    const now = world.beginWrite();
    // A top-level field that the patch removes becomes null.
    const emptied = Object.fromEntries(Object.keys(record).map((field) => [field, null]));
    const { key, patch: visible } = separateKey(world, patch);
    const merged = mergePatch(record, visible);
    return putRecord(world, collection, {
      ...emptied,
      ...(isObject(merged) ? merged : {}),
      ...(key === undefined ? {} : { api_key: key }),
      ...editTime(record, now),
      id: record.id,
    });
  }

  /** Removes a record. For an agent, also removes the references to the agent. */
  remove(collection: CollectionName, id: string): void {
    const world = this.#world;
    found(world.records[collection].get(id), collection);
    world.beginWrite();
    world.records[collection].delete(id);
    if (collection === 'agents') removeReferences(world, id);
  }
}

/** Stores a new or changed record. Throws a 422 for an invalid field. */
function putRecord<Name extends CollectionName>(world: World, collection: Name, fields: unknown): Stored<Name> {
  const record = checkedStrictly(storedSchemas[collection], fields);
  world.records[collection].set(String(record.id), record);
  return record;
}

function removeReferences({ numbers, users }: World, id: string): void {
  for (const number of numbers.values()) {
    const links = { inbound_agent_id: number.inbound_agent_id, outbound_agent_id: number.outbound_agent_id };
    if (links.inbound_agent_id === id) links.inbound_agent_id = null;
    if (links.outbound_agent_id === id) links.outbound_agent_id = null;
    numbers.set(number.id, { ...number, ...links });
  }
  for (const user of users.values()) {
    if (!user.agent_ids.includes(id)) continue;
    users.set(user.id, { ...user, agent_ids: user.agent_ids.filter((agentId) => agentId !== id) });
  }
}

function separateKey(
  world: World,
  patch: { readonly [field: string]: Json },
): { key: KeyMarker | undefined; patch: { readonly [field: string]: Json } } {
  const config = patch.llm_config;
  if (!isObject(config) || typeof config.api_key !== 'string') return { key: undefined, patch };
  const { api_key, ...visible } = config;
  return {
    key: markKey(api_key, world.sequence.randomText()),
    patch: { ...patch, llm_config: visible as { readonly [field: string]: Json } },
  };
}

/** Returns the new `updated_at` in the record's own time format, or nothing for a record without this field. */
function editTime(record: object, now: number): { updated_at?: string } {
  if (!('updated_at' in record)) return {};
  return { updated_at: (String(record.updated_at).endsWith('Z') ? microsecondTime : offsetTime)(now) };
}

const patchForm = z.record(z.string(), jsonValue);

/** Returns the routes of the dashboard and of the emulator's controls, which need no API key. Response bodies are `{ "data": … }`. */
export function dashboardRoutes(emulated: Emulated, dashboard: Dashboard): Hono<EmulatorEnv> {
  const routes = new Hono<EmulatorEnv>();
  controlRoutes(routes, emulated);
  routes.post('/agents/:id/publish', (c) => c.json({ data: dashboard.publishAgent(c.req.param('id')) }));
  routes.post('/numbers/:id/link', (c) =>
    c.json({
      data: dashboard.linkNumber(c.req.param('id'), checkedStrictly(dashboardForms.link, bodyOf(c))),
    }),
  );
  const addCreateRoute = <T>(path: string, form: z.ZodType<T>, create: (body: T) => unknown) =>
    routes.post(path, (c) => c.json({ data: create(checkedStrictly(form, bodyOf(c))) }, 201));
  addCreateRoute('/users', dashboardForms.user, (body) => dashboard.inviteUser(body));
  addCreateRoute('/knowledge-bases', dashboardForms.knowledgeBase, (body) => dashboard.addKnowledgeBase(body));
  addCreateRoute('/calls', dashboardForms.call, (body) => dashboard.recordCall(body));
  addCreateRoute('/invoices', dashboardForms.invoice, (body) => dashboard.addInvoice(body));
  addCreateRoute('/api-keys', dashboardForms.apiKey, (body) => dashboard.addApiKey(body));
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
