import { z } from 'zod';
import { lazyLooseObject } from '../../values/described.ts';
import { anyText, concealed, nameField, timestamp } from './record-fields.ts';

export const knowledgeBaseRecord = lazyLooseObject(() => ({
  id: z.string().min(1),
  name: nameField(z.string()),
  created_at: timestamp(),
  updated_at: timestamp(),
  workspace_id: anyText(),
}));

export const invoiceRecord = lazyLooseObject(() => ({
  id: z.string().min(1),
  /** A Unix time in seconds, like `period_start` and `period_end`. */
  created_at: z.number().nullish(),
  /** The amount in minor units of the currency, like all amounts. */
  amount_due: z.number().nullish(),
  amount_paid: z.number().nullish(),
  total: z.number().nullish(),
  currency: anyText(),
  status: anyText(),
  invoice_url: anyText(),
  invoice_pdf: anyText(),
  number: anyText(),
  period_start: z.number().nullish(),
  period_end: z.number().nullish(),
}));

export const apiKeyRecord = lazyLooseObject(() => ({
  id: z.int(),
  name: anyText(),
  token: concealed(),
  created_at: timestamp(),
  expires_at: timestamp(),
}));

export type KnowledgeBaseRecord = z.infer<ReturnType<typeof knowledgeBaseRecord>>;
export type InvoiceRecord = z.infer<ReturnType<typeof invoiceRecord>>;
export type ApiKeyRecord = z.infer<ReturnType<typeof apiKeyRecord>>;
