import { z } from 'zod';
import type { Immutable } from '../values/json.ts';
import { generatedCalls } from './generated-calls.ts';

/** The config objects that a response can contain. `knowledge_base_config` is accepted but never returned. */
export const returnedConfigs = ['call_config', 'llm_config', 'prompt_config', 'stt_config', 'tts_config'] as const;
export type ShownConfig = (typeof returnedConfigs)[number];

const shown = z.array(z.enum(returnedConfigs));

/** Settings for undocumented behaviour of the API. A client must work correctly with every combination. */
export const emulatorBehaviour = z.strictObject({
  /** The config objects in the response to a read or an update of an agent. Others are omitted. */
  shows: z
    .strictObject({
      read: shown.default(['call_config', 'llm_config', 'prompt_config']),
      update: shown.default(['llm_config', 'prompt_config', 'tts_config']),
    })
    .prefault({}),
  /** Whether a config object in a PUT is merged into the stored object or replaces it. Also applies to the lists of a user. */
  put: z.enum(['merge', 'replace']).default('merge'),
  /** Agent fields, such as `llm_config.temperature`, that a PUT ignores although it returns a 200. */
  ignoredByPut: z
    .strictObject({
      fields: z.array(z.string()).default([]),
      /** Whether the response contains the stored value or the value that was sent. */
      answer: z.enum(['kept', 'sent']).default('kept'),
    })
    .prefault({}),
  /** Whether responses contain the times at which an agent was created, updated and published. */
  agentTimes: z.enum(['shown', 'hidden']).default('shown'),
  /** The seconds from an agent's `published_at` to its `updated_at` after a publication. */
  updatedAfterPublishing: z.int().min(0).default(0),
  /** The calls to generate when an agent is published, as if days had passed. */
  calls: generatedCalls.nullable().default(null),
  agentCreateStatus: z.union([z.literal(200), z.literal(201)]).default(201),
  /** Whether responses contain a placeholder for the provider key of an agent or version, and for the token of an API key. */
  showsSecrets: z.boolean().default(false),
  /** How a response represents unset config fields, except the provider key: omitted, or null. */
  unsetFields: z.enum(['leftOut', 'null']).default('leftOut'),
  /** Whether numbers contain links that are null, and webhooks a payload that is null. */
  nulls: z.enum(['shown', 'leftOut']).default('shown'),
  /** Whether responses contain the numbers in config objects and webhooks as strings. */
  numbersAsText: z.boolean().default(false),
  /** Whether responses contain the booleans in config objects and webhooks as 0 and 1. */
  flagsAsNumbers: z.boolean().default(false),
  versionNumbers: z.enum(['number', 'text']).default('number'),
  /** The response for the latest version of an agent that was never published: a 404, or `data: null`. */
  noLatestVersion: z.enum(['notFound', 'null']).default('notFound'),
  /** Whether responses contain phone numbers as JSON numbers, which lose the plus sign and leading zeros. */
  numericNumbers: z.boolean().default(false),
  normalise: z
    .strictObject({
      /** Whether all strings except secrets are trimmed. */
      trim: z.boolean().default(false),
      /** Whether `modules`, `agent_ids` and `knowledge_base_ids` are stored in sorted order. */
      reorderSets: z.boolean().default(false),
      /** Whether config fields that a write omits get default values. */
      defaults: z.boolean().default(false),
    })
    .prefault({}),
  /** Whether a new number with the digits of an existing number is rejected. */
  uniqueNumbers: z.boolean().default(false),
  /** Whether lists of numbers, knowledge bases and calls also contain copies from a second workspace that the API key can read. */
  seesOtherWorkspace: z.boolean().default(false),
  /** Whether lists contain a number with a null number, a user with a null e-mail address, and a knowledge base with a null name. */
  listsNameless: z.boolean().default(false),
  /** Whether the list of users is paged. If not, it has a `meta` or none, returns a cursor that it ignores, or rejects query parameters. */
  users: z.enum(['paged', 'whole', 'unmarked', 'ignoresCursor', 'refusesQuery']).default('paged'),
  /** Whether the list of invoices accepts a `limit`. If not, a page has ten invoices, and any `limit` causes a 422. */
  invoiceLimit: z.enum(['taken', 'refused']).default('taken'),
  /** The source of the filters for calls, including the cursor and the page size: the body, the query, or none. */
  callFilters: z.enum(['body', 'query', 'ignored']).default('body'),
  /** Whether `cost` and `e2e_latency` of calls are numbers, strings, or strings with a unit. */
  callFigures: z.enum(['number', 'text', 'withUnit']).default('number'),
  /** The status for a GET with a body, which some gateways reject. If null, the request is handled. */
  refusesGetBody: z
    .union([z.literal(400), z.literal(403), z.literal(411), z.literal(501)])
    .nullable()
    .default(null),
  /** How the date range of a list of calls is interpreted. */
  callDates: z
    .strictObject({
      /** Whether the UTC offset in `date_from` is applied or ignored. */
      from: z.enum(['moment', 'offsetIgnored']).default('moment'),
      /** Whether a `date_to` without a time means the end or the start of that day. */
      to: z.enum(['endOfDay', 'midnight']).default('endOfDay'),
    })
    .prefault({}),
  pages: z
    .strictObject({
      /** The maximum page size, even if a request asks for more. */
      most: z.int().min(1).nullable().default(null),
      /** The number of records that a page repeats from the previous page, as if records had been added in the meantime. */
      overlap: z.int().min(0).default(0),
    })
    .prefault({}),
  /** Whether a cursor contains the key of a record, or a position in the list. */
  cursors: z.enum(['key', 'position']).default('key'),
  /** `odd`: `per_page` is a string, `prev_cursor` is false, and a last page that is not full has no `next_cursor`. */
  meta: z.enum(['documented', 'odd']).default('documented'),
  /** The name of the previous cursor. `documented` is `previous_cursor` for lists of versions, and `prev_cursor` for other lists. */
  previousCursorSpelling: z.enum(['documented', 'prev_cursor', 'previous_cursor', 'both']).default('documented'),
  errorStyle: z.enum(['message', 'errors', 'detail', 'html']).default('errors'),
  /** The number of reads that do not find a new record. Reads by id return a 404; the list of numbers omits the record. */
  showsNewAfterReads: z.int().min(0).default(0),
  /** The encoding of all responses, even if the request does not accept it. */
  compresses: z.enum(['gzip', 'deflate', 'br', 'zstd']).nullable().default(null),
  /** The delay before each request is handled, in milliseconds. */
  latencyMs: z.number().min(0).default(0),
  rateLimit: z
    .strictObject({
      requests: z.int().min(1),
      perSeconds: z.number().positive(),
      retryAfter: z.enum(['seconds', 'date', 'none']).default('seconds'),
    })
    .nullable()
    .default(null),
});

export type EmulatorBehaviour = Immutable<z.output<typeof emulatorBehaviour>>;
/** A merge patch for the behaviour. Settings that it does not contain stay unchanged. */
export type BehaviourPatch = Immutable<z.input<typeof emulatorBehaviour>>;
