import { z } from 'zod';
import { lazyLooseObject } from '../../values/described.ts';
import { lazy } from '../../values/lazy.ts';
import { isRealDay, isReversed } from '../date-range.ts';
import { anyText, anything, timestamp } from './record-fields.ts';

const anyDate = () =>
  z.string().refine((value) => !Number.isNaN(Date.parse(value)) && isRealDay(value), {
    error: 'expected a date or a date-time',
  });

/** The filters for a list of calls. They are sent in the body of a GET. */
export const callFilter = lazy(() =>
  z
    .strictObject({
      per_page: z.int().min(1).max(100).optional(),
      cursor: z.string().optional(),
      date_from: anyDate().nullable().optional(),
      date_to: anyDate().nullable().optional(),
    })
    .refine(({ date_from, date_to }) => !date_from || !date_to || !isReversed(date_from, date_to), {
      error: 'date_to must be on or after date_from',
      path: ['date_to'],
    }),
);

export const callRecord = lazyLooseObject(() => ({
  id: z.string().min(1),
  start_time: timestamp(),
  end_time: timestamp(),
  /** Formatted as `HH:MM:SS`. */
  duration: anything(),
  channel_type: anyText(),
  /** A decimal number, possibly in a string. */
  cost: anything(),
  session_id: anyText(),
  end_reason: anyText(),
  session_status: anyText(),
  from: anyText(),
  to: anyText(),
  direction: anyText(),
  session_outcome: anyText(),
  e2e_latency: anything(),
  agent_id: anyText(),
  workspace_id: anyText(),
  created_at: timestamp(),
  updated_at: timestamp(),
  analysis: anything(),
}));

export type CallFilter = z.infer<ReturnType<typeof callFilter>>;
export type CallRecord = z.infer<ReturnType<typeof callRecord>>;
