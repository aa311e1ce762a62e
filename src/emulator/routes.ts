import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { agentRequest } from '../platform/records/agent-records.ts';
import { type CallFilter, callFilter } from '../platform/records/call-records.ts';
import { numberRequest } from '../platform/records/number-records.ts';
import { userRequest } from '../platform/records/user-records.ts';
import { webhookRequest } from '../platform/records/webhook-records.ts';
import { createAgent, ordered, updateAgent, withFieldsOf } from './agent-lifecycle.ts';
import type { EmulatorBehaviour } from './behaviour.ts';
import type { Emulated, EmulatorEnv } from './emulated.ts';
import { offsetTime } from './ids-and-clock.ts';
import { type PagedList, pagedById, pageOf, visibleToKey, withNameless } from './pagination.ts';
import { found, invalid, notFound, Refusal } from './refusal.ts';
import {
  bodyOf,
  checked,
  integerText,
  pageIn,
  pageRequestOf,
  requireWorkspace,
  writtenBody,
} from './request-checks.ts';
import type { Stored, StoredNumber, StoredUser, StoredVersion } from './stored-records.ts';
import {
  digitsOf,
  showAgent,
  showCall,
  showNumber,
  showToken,
  showVersion,
  showVersionSummary,
  showWebhook,
} from './views.ts';

export function addApiRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  for (const add of [agentRoutes, numberRoutes, webhookRoutes, userRoutes, listRoutes]) add(api, emulated);
}

const versionList: PagedList<StoredVersion> = { name: 'versions', key: ({ version }) => version, order: 'descending' };

function agentRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  const agentById = (id: string) => found(world.agents.get(id), 'Agent');
  api.post('/agents', (c) => {
    const { behaviour } = emulated;
    const agent = createAgent(world, writtenBody(c, agentRequest(), behaviour), behaviour);
    world.showLater(agent.id, behaviour.showsNewAfterReads);
    return c.json({ data: showAgent(emulated, agent) }, behaviour.agentCreateStatus);
  });
  api.get('/agents/:id', (c) => {
    const agent = agentById(c.req.param('id'));
    if (world.isHidden(agent.id)) throw notFound('Agent');
    return c.json({ data: showAgent(emulated, agent, emulated.behaviour.shows.read) });
  });
  api.put('/agents/:id', (c) => {
    const { behaviour } = emulated;
    const agent = agentById(c.req.param('id'));
    const body = writtenBody(c, agentRequest(), behaviour);
    const { fields, answer } = behaviour.ignoredByPut;
    const updated = updateAgent(world, agent, { body, rules: behaviour });
    const stored = withFieldsOf(updated, agent, fields);
    world.agents.set(stored.id, stored);
    const shown = answer === 'sent' ? updated : stored;
    return c.json({ data: showAgent(emulated, shown, behaviour.shows.update) });
  });
  api.get('/agents/:id/versions', (c) => {
    const { versions } = agentById(c.req.param('id'));
    const { data, meta } = pageIn(c, versionList, { items: versions, emulated });
    return c.json({ data: data.map((each) => showVersionSummary(each, emulated.behaviour)), meta });
  });
  api.get('/agents/:id/versions/:version', (c) => {
    const agent = agentById(c.req.param('id'));
    const requested = c.req.param('version');
    const version =
      requested === 'latest'
        ? agent.versions.at(-1)
        : agent.versions.find((candidate) => String(candidate.version) === requested);
    if (requested === 'latest' && version === undefined && emulated.behaviour.noLatestVersion === 'null')
      return c.json({ data: null });
    return c.json({ data: showVersion(emulated, agent, found(version, 'Agent version')) });
  });
}

function numberRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  api.get('/numbers', (c) => {
    const shown = visibleToKey(
      world.numbers.values().filter(({ id }) => !world.isHidden(id)),
      emulated,
    ).map((number) => showNumber(number, emulated.behaviour));
    return c.json(pageIn(c, pagedById('numbers'), { items: withNameless(shown, 'number', emulated), emulated }));
  });
  api.post('/numbers', (c) => {
    const { behaviour } = emulated;
    const body = writtenBody(c, numberRequest(), behaviour);
    const digits = digitsOf(body.number);
    const isTaken = world.numbers.values().some(({ number }) => digitsOf(number) === digits);
    if (behaviour.uniqueNumbers && isTaken) {
      throw invalid([{ field: 'number', message: 'The number has already been taken' }]);
    }
    const number: StoredNumber = {
      ...world.newRecord(offsetTime),
      number: body.number,
      nickname: body.nickname ?? body.number,
      inbound_agent_id: null,
      outbound_agent_id: null,
      telephony_trunk_id: `ST_${world.sequence.randomText()}`,
      telephony_dispatch_id: `SDR_${world.sequence.randomText()}`,
    };
    world.numbers.set(number.id, number);
    world.showLater(number.id, behaviour.showsNewAfterReads);
    return c.json({ data: showNumber(number, behaviour) }, 201);
  });
}

function webhookRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  api.post('/webhooks', (c) => {
    const { behaviour } = emulated;
    const body = writtenBody(c, webhookRequest(), behaviour);
    const webhook: Stored<'webhooks'> = {
      ...world.newRecord(offsetTime),
      url: body.url,
      payload: body.payload ?? null,
      check_https: body.check_https ?? true,
      logging_enabled: body.logging_enabled ?? false,
      retries: body.retries ?? 3,
      timeout: body.timeout ?? 30,
    };
    world.webhooks.set(webhook.id, webhook);
    world.showLater(webhook.id, behaviour.showsNewAfterReads);
    return c.json({ data: showWebhook(webhook, behaviour) }, 201);
  });
  api.get('/webhooks/:id', (c) => {
    const webhook = found(world.webhooks.get(c.req.param('id')), 'Webhook');
    if (world.isHidden(webhook.id)) throw notFound('Webhook');
    return c.json({ data: showWebhook(webhook, emulated.behaviour) });
  });
}

function userRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  api.get('/workspaces/:workspace/users', (c) => {
    requireWorkspace(emulated, c.req.param('workspace'));
    const { behaviour } = emulated;
    const isPaged = behaviour.users === 'paged';
    if (behaviour.users === 'refusesQuery' && Object.keys(c.req.query()).length > 0) {
      throw invalid([{ field: 'per_page', message: 'The list of users takes no parameters' }]);
    }
    const users = [...withNameless(world.users.values(), 'email', emulated)];
    const page = pageOf(users, pagedById('users'), {
      request: isPaged ? pageRequestOf(c) : { per_page: Math.max(1, users.length) },
      behaviour: isPaged ? behaviour : { ...behaviour, pages: { most: null, overlap: 0 } },
    });
    if (behaviour.users === 'unmarked') return c.json({ data: page.data });
    if (behaviour.users !== 'ignoresCursor') return c.json(page);
    return c.json({ ...page, meta: { ...page.meta, next_cursor: 'ignored' } });
  });
  api.put('/workspaces/:workspace/users/:id', (c) => {
    requireWorkspace(emulated, c.req.param('workspace'));
    const { behaviour } = emulated;
    const user = found(world.users.get(c.req.param('id')), 'User');
    const body = writtenBody(c, userRequest(), behaviour);
    const problems = (body.agent_ids ?? []).flatMap((id, index) => {
      const field = `agent_ids.${index}`;
      return world.agents.has(id) ? [] : [{ field, message: `The selected ${field} is invalid` }];
    });
    if (problems.length > 0) throw invalid(problems);
    world.beginWrite();
    const base = behaviour.put === 'merge' ? user : { modules: [], agent_ids: [] };
    const updated: StoredUser = {
      ...user,
      role: body.role,
      is_owner: body.role === 'owner',
      modules: ordered(body.modules ?? base.modules, behaviour.normalise),
      agent_ids: ordered(body.agent_ids ?? base.agent_ids, behaviour.normalise),
    };
    world.users.set(user.id, updated);
    return c.json({ data: updated });
  });
}

function listRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  api.get('/api-keys', (c) => {
    const { data, meta } = pageIn(c, pagedById('api-keys'), { items: world.records['api-keys'].values(), emulated });
    return c.json({
      data: data.map((key) => ({ ...key, token: showToken(key.id, emulated.behaviour) })),
      meta,
    });
  });
  api.get('/knowledge-bases', (c) => {
    const items = withNameless(visibleToKey(world.knowledgeBases.values(), emulated), 'name', emulated);
    return c.json(pageIn(c, pagedById('knowledge-bases'), { items, emulated }));
  });
  api.get('/call-histories', (c) => {
    const { behaviour } = emulated;
    if (behaviour.refusesGetBody !== null && c.env.body.kind !== 'none') {
      throw new Refusal(behaviour.refusesGetBody, 'A GET must not have a body');
    }
    const request = callFilterOf(c, behaviour);
    const isWithin = rangeOf(request, behaviour);
    const within = world.records.calls.values().filter(isWithin);
    const listing = pagedById('call-histories', 'descending');
    const { data, meta } = pageOf(visibleToKey(within, emulated), listing, { request, behaviour });
    return c.json({ data: data.map((call) => showCall(call, behaviour)), meta });
  });
  api.get('/call-histories/:id', (c) =>
    c.json({
      data: showCall(found(world.records.calls.get(c.req.param('id')), 'Call history'), emulated.behaviour),
    }),
  );
  // The list is sorted newest first. A cursor is the id of an invoice.
  api.get('/workspaces/:workspace/billing/history', (c) => {
    requireWorkspace(emulated, c.req.param('workspace'));
    if (emulated.behaviour.invoiceLimit === 'refused' && c.req.query('limit') !== undefined) {
      throw invalid([{ field: 'limit', message: 'The limit parameter is not supported' }]);
    }
    const { limit, starting_after: after, ending_before: before } = checked(invoiceQuery, c.req.query());
    const invoices = [...world.records.invoices.values()].sort(
      (a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1),
    );
    const indexOf = (id: string, field: string): number => {
      const index = invoices.findIndex((invoice) => invoice.id === id);
      if (index === -1) throw invalid([{ field, message: `The invoice in ${field} does not exist` }]);
      return index;
    };
    const start = after === undefined ? 0 : indexOf(after, 'starting_after') + 1;
    if (before === undefined) return c.json({ data: invoices.slice(start, start + limit) });
    const end = indexOf(before, 'ending_before');
    return c.json({ data: invoices.slice(Math.max(start, end - limit), end) });
  });
}

function callFilterOf(c: Context<EmulatorEnv>, { callFilters }: EmulatorBehaviour): CallFilter {
  if (callFilters === 'ignored') return {};
  if (callFilters === 'body') return checked(callFilter(), bodyOf(c));
  const { per_page, ...query } = c.req.query();
  return checked(callFilter(), { ...query, ...(per_page !== undefined && { per_page: Number(per_page) }) });
}

/** Returns a predicate that is true for calls in the range, including its bounds. */
function rangeOf(
  { date_from, date_to }: CallFilter,
  { callDates }: EmulatorBehaviour,
): (call: Stored<'calls'>) => boolean {
  const first = callDates.from === 'moment' ? date_from : date_from?.replace(/[+-]\d\d:?\d\d$/, 'Z');
  const isWholeDay = callDates.to === 'endOfDay' && !/[T ]\d/.test(date_to ?? '');
  const from = first ? Date.parse(first) : Number.NEGATIVE_INFINITY;
  const to = date_to ? Date.parse(date_to) + (isWholeDay ? 86_399_999 : 0) : Number.POSITIVE_INFINITY;
  return ({ start_time }) => !(Date.parse(start_time) < from || Date.parse(start_time) > to);
}

const invoiceQuery = z.object({
  limit: integerText.pipe(z.int().min(1)).default(10),
  starting_after: z.string().optional(),
  ending_before: z.string().optional(),
});
