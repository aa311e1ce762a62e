import { z } from 'zod';
import { about, lazyLooseObject, lazyStrictObject } from '../../values/described.ts';
import {
  anyFlag,
  anyNumber,
  anyText,
  anything,
  anyValue,
  flag,
  presumably,
  text,
  timestamp,
  url,
} from './record-fields.ts';

/** The schema allows other keys, because the API document does not exclude them. */
const webhookPayload = () =>
  z.looseObject({
    data: z
      .record(z.string(), z.json())
      .meta(about('An object (keys not documented).', { source: 'voice' }))
      .optional(),
    event: text(anyValue('The event'), 'call.ended').optional(),
    timestamp: text('A timestamp.', '2026-01-31T12:00:00Z').optional(),
  });

export const webhookRequest = lazyStrictObject(() => ({
  url: url('Target URL of the webhook.', 'https://example.com/hook'),
  payload: webhookPayload()
    .nullable()
    .meta(
      about('Envelope with `data`, `event` and `timestamp`, or null.', {
        event: 'call.ended',
        data: { source: 'voice' },
      }),
    )
    .optional(),
  check_https: flag(presumably('whether the target must use HTTPS')).optional(),
  logging_enabled: flag(presumably('whether deliveries are logged')).optional(),
  retries: z.int().min(0).max(10).meta(about('Number of retries, 0 to 10.', 3)).optional(),
  timeout: z.int().min(1).max(1800).meta(about('Timeout, 1 to 1800 (unit not documented).', 30)).optional(),
}));

export const webhookRecord = lazyLooseObject(() => ({
  id: z.string().min(1),
  url: anything(),
  payload: anything(),
  check_https: anyFlag(),
  logging_enabled: anyFlag(),
  retries: anyNumber(),
  timeout: anyNumber(),
  workspace_id: anyText(),
  created_at: timestamp(),
  updated_at: timestamp(),
}));
