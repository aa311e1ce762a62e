import { type Context, Hono } from 'hono';
import { type CallFilter, callFilter } from '../../platform/records.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { seenByKey } from '../other-workspace.ts';
import { type PagedList, pageOf } from '../pagination.ts';
import { notFound } from '../refusal.ts';
import { bodyOf, checked } from '../request-checks.ts';
import type { Stored } from '../stored-records.ts';

const DAY = 24 * 60 * 60 * 1000;

const listing: PagedList<Stored<'calls'>> = {
  name: 'call-histories',
  key: ({ id }) => id,
  order: 'descending',
};

export function callHistoryRoutes(emulated: Emulated): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>()
    .get('/call-histories', (c) => {
      const filter = filterOf(c, emulated);
      const calls = emulated.world.records.calls.values().filter((call) => isWithin(call, filter));
      return c.json(
        pageOf(seenByKey(calls, emulated), listing, { request: filter, behaviour: emulated.behaviour }),
      );
    })
    .get('/call-histories/:id', (c) => {
      const call = emulated.world.records.calls.get(c.req.param('id'));
      if (call === undefined) throw notFound('Call history');
      return c.json({ data: call });
    });
}

function filterOf(c: Context<EmulatorEnv>, { behaviour }: Emulated): CallFilter {
  if (behaviour.callFilters === 'ignored') return {};
  if (behaviour.callFilters === 'body') return checked(callFilter, bodyOf(c));
  const { per_page, ...query } = c.req.query();
  return checked(callFilter, { ...query, ...(per_page !== undefined && { per_page: Number(per_page) }) });
}

/** Both bounds count as within; a `date_to` without a time means that whole day. */
function isWithin(call: Stored<'calls'>, { date_from, date_to }: CallFilter): boolean {
  const start = Date.parse(call.start_time);
  if (date_from && start < Date.parse(date_from)) return false;
  if (!date_to) return true;
  return /[T ]\d/.test(date_to) ? start <= Date.parse(date_to) : start < Date.parse(date_to) + DAY;
}
