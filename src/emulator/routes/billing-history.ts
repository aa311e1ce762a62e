import { Hono } from 'hono';
import { z } from 'zod';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { invalid } from '../refusal.ts';
import { checked } from '../request-checks.ts';
import type { Stored } from '../stored-records.ts';
import { requireWorkspace } from './workspace.ts';

const query = z.object({
  limit: z
    .string()
    .regex(/^\d{1,9}$/, { error: 'expected an integer' })
    .transform(Number)
    .pipe(z.int().min(1))
    .default(10),
  starting_after: z.string().optional(),
  ending_before: z.string().optional(),
});

type Invoice = Stored<'invoices'>;

/** Newest first. Pages hang on the id of an invoice rather than on a cursor. */
export function billingHistoryRoutes(emulated: Emulated): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>().get('/workspaces/:workspace/billing/history', (c) => {
    requireWorkspace(emulated, c.req.param('workspace'));
    if (emulated.behaviour.invoiceLimit === 'refused' && c.req.query('limit') !== undefined) {
      throw invalid([{ field: 'limit', message: 'The limit cannot be chosen' }]);
    }
    const { limit, starting_after: after, ending_before: before } = checked(query, c.req.query());
    const invoices = [...emulated.world.records.invoices.values()].sort(newestFirst);
    const start = after === undefined ? 0 : indexOf(invoices, after, 'starting_after') + 1;
    if (before === undefined) return c.json({ data: invoices.slice(start, start + limit) });
    const end = indexOf(invoices, before, 'ending_before');
    return c.json({ data: invoices.slice(Math.max(start, end - limit), end) });
  });
}

function newestFirst(a: Invoice, b: Invoice): number {
  return b.created_at - a.created_at || (a.id < b.id ? 1 : -1);
}

function indexOf(invoices: readonly Invoice[], id: string, field: string): number {
  const index = invoices.findIndex((invoice) => invoice.id === id);
  if (index === -1) throw invalid([{ field, message: `No such invoice: ${field} names none` }]);
  return index;
}
