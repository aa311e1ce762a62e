import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { agentConfigs } from '../platform/records/agent-records.ts';
import { phoneNumberText } from '../platform/records/number-records.ts';
import { webhookRequest } from '../platform/records/webhook-records.ts';

/** A salted digest of a provider key. It can verify a key but does not contain it. */
const keyMarker = z.strictObject({ salt: z.string(), digest: z.string() }).readonly();
export type KeyMarker = z.infer<typeof keyMarker>;

export function markKey(key: string, salt: string): KeyMarker {
  return { salt, digest: createHmac('sha256', salt).update(key).digest('hex') };
}

export function isMarkedKey(marker: KeyMarker, key: string): boolean {
  return markKey(key, marker.salt).digest === marker.digest;
}

/*
 * The schemas of stored records. They contain the fields of the API and the fields that responses omit. The data file and edits in the
 * dashboard are checked against these schemas.
 */

const id = z.string().min(1);
const nullableId = id.nullable();
const timestamp = z.string().refine((text) => !Number.isNaN(Date.parse(text)), { error: 'expected a time' });

const stamps = { workspace_id: id, created_at: timestamp, updated_at: timestamp };

const agentConfiguration = {
  name: z.string().max(255),
  ...agentConfigs(),
  llm_config: agentConfigs().llm_config.omit({ api_key: true }),
};

const storedVersion = z.strictObject({
  version: z.int().min(1),
  published_at: timestamp,
  updated_at: timestamp,
  ...agentConfiguration,
});

/** The schema of each collection, by its name in the paths of the dashboard. */
const collections = {
  agents: z.strictObject({
    id,
    status: z.string(),
    version: z.int().nullable(),
    ...agentConfiguration,
    /** Stored in place of `llm_config.api_key`. */
    api_key: keyMarker.nullable(),
    ...stamps,
    published_at: timestamp.nullable(),
    /** The published versions, oldest first. */
    versions: z.array(storedVersion),
  }),
  numbers: z.strictObject({
    id,
    number: phoneNumberText(),
    nickname: z.string().max(255),
    inbound_agent_id: nullableId,
    outbound_agent_id: nullableId,
    telephony_trunk_id: id,
    telephony_dispatch_id: id,
    ...stamps,
  }),
  'knowledge-bases': z.strictObject({
    id,
    name: z.string(),
    ...stamps,
  }),
  calls: z.strictObject({
    id,
    start_time: timestamp,
    end_time: timestamp,
    duration: z.string().regex(/^\d+:\d\d:\d\d$/),
    channel_type: z.string(),
    cost: z.number(),
    session_id: z.string().nullable(),
    end_reason: z.string(),
    session_status: z.string(),
    from: z.string(),
    to: z.string(),
    direction: z.enum(['inbound', 'outbound']),
    session_outcome: z.string(),
    e2e_latency: z.int(),
    agent_id: id,
    ...stamps,
    analysis: z.record(z.string(), z.json()).nullable(),
  }),
  webhooks: z.strictObject({
    id,
    ...webhookRequest().required().shape,
    ...stamps,
  }),
  users: z.strictObject({
    id,
    name: z.string(),
    email: z.string().regex(/^\S+@\S+$/, { error: 'expected an e-mail address' }),
    /** The platform also returns roles that requests do not accept. */
    role: z.string().min(1).nullable(),
    is_owner: z.boolean(),
    /** The platform also returns modules that requests do not accept. */
    modules: z.array(z.string()),
    agent_ids: z.array(id),
  }),
  invoices: z.strictObject({
    id,
    created_at: z.int(),
    amount_due: z.int(),
    amount_paid: z.int(),
    total: z.int(),
    currency: z.string().regex(/^[a-z]{3}$/),
    status: z.string(),
    invoice_url: z.url(),
    invoice_pdf: z.url(),
    number: z.string(),
    period_start: z.int(),
    period_end: z.int(),
  }),
  'api-keys': z.strictObject({
    id: z.int(),
    name: z.string(),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
  }),
} as const;

export type CollectionName = keyof typeof collections;
export type Stored<Name extends CollectionName> = z.infer<(typeof collections)[Name]>;

/** The schemas of all collections. The type maps a generic collection name to the type of its schema. */
export const storedSchemas: { readonly [Name in CollectionName]: z.ZodType<Stored<Name>> } = collections;

export type StoredAgent = Stored<'agents'>;
export type StoredVersion = z.infer<typeof storedVersion>;
export type StoredNumber = Stored<'numbers'>;
export type StoredUser = Stored<'users'>;

export function isCollection(name: string): name is CollectionName {
  return Object.hasOwn(collections, name);
}

export function eachCollection<Made>(make: (name: CollectionName) => unknown): Made {
  const names = Object.keys(collections) as CollectionName[];
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Made;
}
