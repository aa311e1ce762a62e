import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { type CallFilter, callFilter } from '../../platform/records/call-records.ts';
import type { EmulatorBehaviour } from '../behaviour.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { pagedById, pageOf, seenByKey, withNameless } from '../pagination.ts';
import { found, invalid, Refusal } from '../refusal.ts';
import { bodyOf, checked, integerText, pageIn, requireWorkspace } from '../request-checks.ts';
import type { Stored } from '../stored-records.ts';
import { showCall, showToken } from '../views.ts';

const apiKeys = pagedById('api-keys');
const knowledgeBases = pagedById('knowledge-bases');
const calls = pagedById('call-histories', 'descending');

export function listRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  api.get('/api-keys', (c) => {
    const { data, meta } = pageIn(c, apiKeys, { items: world.records['api-keys'].values(), emulated });
    return c.json({
      data: data.map(({ id, name, ...times }) => ({
        id,
        name,
        token: showToken(id, emulated.behaviour),
        ...times,
      })),
      meta,
    });
  });
  api.get('/knowledge-bases', (c) => {
    const items = withNameless(seenByKey(world.knowledgeBases.values(), emulated), 'name', emulated);
    return c.json(pageIn(c, knowledgeBases, { items, emulated }));
  });
  api.get('/call-histories', (c) => {
    const { behaviour } = emulated;
    if (behaviour.refusesGetBody !== null && c.env.body.kind !== 'none') {
      throw new Refusal(behaviour.refusesGetBody, 'A GET must not have a body');
    }
    const request = callFilterOf(c, behaviour);
    const isWithin = rangeOf(request, behaviour);
    const within = world.records.calls.values().filter(isWithin);
    const { data, meta } = pageOf(seenByKey(within, emulated), calls, { request, behaviour });
    return c.json({ data: data.map((call) => showCall(call, behaviour)), meta });
  });
  api.get('/call-histories/:id', (c) =>
    c.json({
      data: showCall(found(world.records.calls.get(c.req.param('id')), 'Call history'), emulated.behaviour),
    }),
  );
  // Newest first. The cursor is the id of an invoice.
  api.get('/workspaces/:workspace/billing/history', (c) => {
    requireWorkspace(emulated, c.req.param('workspace'));
    if (emulated.behaviour.invoiceLimit === 'refused' && c.req.query('limit') !== undefined) {
      throw invalid([{ field: 'limit', message: 'The limit cannot be chosen' }]);
    }
    const { limit, starting_after: after, ending_before: before } = checked(invoiceQuery, c.req.query());
    const invoices = [...world.records.invoices.values()].sort(newestFirst);
    const start = after === undefined ? 0 : indexOf(invoices, after, 'starting_after') + 1;
    if (before === undefined) return c.json({ data: invoices.slice(start, start + limit) });
    const end = indexOf(invoices, before, 'ending_before');
    return c.json({ data: invoices.slice(Math.max(start, end - limit), end) });
  });
}

const DAY = 24 * 60 * 60 * 1000;

function callFilterOf(c: Context<EmulatorEnv>, { callFilters }: EmulatorBehaviour): CallFilter {
  if (callFilters === 'ignored') return {};
  if (callFilters === 'body') return checked(callFilter(), bodyOf(c));
  const { per_page, ...query } = c.req.query();
  return checked(callFilter(), { ...query, ...(per_page !== undefined && { per_page: Number(per_page) }) });
}

/** Whether a call is in the range, bounds included. */
function rangeOf(
  { date_from, date_to }: CallFilter,
  { callDates }: EmulatorBehaviour,
): (call: Stored<'calls'>) => boolean {
  const first = callDates.from === 'moment' ? date_from : date_from?.replace(/[+-]\d\d:?\d\d$/, 'Z');
  const isWholeDay = callDates.to === 'endOfDay' && !/[T ]\d/.test(date_to ?? '');
  const from = first ? Date.parse(first) : Number.NEGATIVE_INFINITY;
  const to = date_to ? Date.parse(date_to) + (isWholeDay ? DAY - 1 : 0) : Number.POSITIVE_INFINITY;
  return ({ start_time }) => !(Date.parse(start_time) < from || Date.parse(start_time) > to);
}

const invoiceQuery = z.object({
  limit: integerText.pipe(z.int().min(1)).default(10),
  starting_after: z.string().optional(),
  ending_before: z.string().optional(),
});

type Invoice = Stored<'invoices'>;

function newestFirst(a: Invoice, b: Invoice): number {
  return b.created_at - a.created_at || (a.id < b.id ? 1 : -1);
}

function indexOf(invoices: readonly Invoice[], id: string, field: string): number {
  const index = invoices.findIndex((invoice) => invoice.id === id);
  if (index === -1) throw invalid([{ field, message: `No such invoice: ${field} names none` }]);
  return index;
}
