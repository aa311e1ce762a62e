import { z } from 'zod';
import { about, lazyLooseObject, lazyStrictObject } from '../../values/described.ts';
import { lazy } from '../../values/lazy.ts';
import { anyText, anything, link, nameField, timestamp } from './record-fields.ts';

export const phoneNumberText = lazy(() =>
  z
    .string()
    .min(1)
    .max(12)
    .regex(/^(?=.*\d)\+?[\d\s().-]+$/, { error: 'expected a phone number, such as "+4930123456"' })
    .meta(about('The phone number, 1 to 12 characters, in quotes. Only its digits are compared.', '+12025550120')),
);

export const numberRequest = lazyStrictObject(() => ({
  number: phoneNumberText(),
  nickname: z
    .string()
    .min(1)
    .max(255)
    .meta(about('Nickname of the number, 1 to 255 characters.', 'Front desk'))
    .optional(),
}));

export const numberRecord = lazyLooseObject(() => ({
  id: z.string().min(1),
  /** The platform may return a JSON number without the plus. The value is kept as received, so that the loss can be detected. */
  number: nameField(z.union([z.string(), z.number()])),
  nickname: anything(),
  inbound_agent_id: link(),
  outbound_agent_id: link(),
  telephony_trunk_id: anyText(),
  telephony_dispatch_id: anyText(),
  workspace_id: anyText(),
  created_at: timestamp(),
  updated_at: timestamp(),
}));

export type NumberRequest = z.infer<ReturnType<typeof numberRequest>>;
export type NumberRecord = z.infer<ReturnType<typeof numberRecord>>;
