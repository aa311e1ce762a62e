import { z } from 'zod';
import type { Immutable } from '../values/json.ts';
import { madeCalls } from './made-calls.ts';

/** The config objects that an answer may show. `knowledge_base_config` is taken and never shown. */
export const shownConfigs = [
  'call_config',
  'llm_config',
  'prompt_config',
  'stt_config',
  'tts_config',
] as const;
export type ShownConfig = (typeof shownConfigs)[number];

const shown = z.array(z.enum(shownConfigs));

/** What the API document leaves open, as switches: a tool must be right whichever way each of them stands. */
export const emulatorBehaviour = z.strictObject({
  /** Config objects shown by the read of a single agent and by the answer to its update; the others are left out. */
  shows: z
    .strictObject({
      read: shown.default(['call_config', 'llm_config', 'prompt_config']),
      update: shown.default(['llm_config', 'prompt_config', 'tts_config']),
    })
    .prefault({}),
  /** Whether a config object in a PUT is laid over the stored one or takes its place; the same for a user's lists. */
  put: z.enum(['merge', 'replace']).default('merge'),
  /** Fields of an agent, as `llm_config.temperature`, that a PUT leaves as they are and answers with 200 all the same. */
  ignoredByPut: z
    .strictObject({
      fields: z.array(z.string()).default([]),
      /** Shows the value that it kept, or the one that was sent as if it had been taken. */
      answer: z.enum(['kept', 'sent']).default('kept'),
    })
    .prefault({}),
  /** Whether agents show when they were created, updated and published. */
  agentTimes: z.enum(['shown', 'hidden']).default('shown'),
  /** How many seconds `updated_at` of an agent stands after its `published_at` once it was published. */
  updatedAfterPublishing: z.int().min(0).default(0),
  /** Calls that are made when an agent is published, as if days went by. */
  calls: madeCalls.nullable().default(null),
  agentCreateStatus: z.union([z.literal(200), z.literal(201)]).default(201),
  /** Shows a text in place of a provider's key in agents and versions, and of the token in the list of API keys. */
  showsSecrets: z.boolean().default(false),
  /** How config fields that are not set are shown, the key of the provider aside. */
  unsetFields: z.enum(['leftOut', 'null']).default('leftOut'),
  /** Shows the numbers in config objects and of webhooks as text. */
  numbersAsText: z.boolean().default(false),
  versionNumbers: z.enum(['number', 'text']).default('number'),
  /** How the latest version of an agent that was never published is denied: with a 404, or with `data` that is null. */
  noLatestVersion: z.enum(['notFound', 'null']).default('notFound'),
  /** Shows phone numbers as JSON numbers, which loses the plus and leading zeros. */
  numericNumbers: z.boolean().default(false),
  normalise: z
    .strictObject({
      /** Removes the blanks around every text but secrets. */
      trim: z.boolean().default(false),
      /** Keeps `modules`, `agent_ids` and `knowledge_base_ids` sorted. */
      reorderSets: z.boolean().default(false),
      /** Fills config fields that a write leaves out. */
      defaults: z.boolean().default(false),
    })
    .prefault({}),
  /** Refuses a number whose digits are there already. */
  uniqueNumbers: z.boolean().default(false),
  /** Whether lists show a copy of each record in a second workspace, which the key sees too. Agents and users have none. */
  seesOtherWorkspace: z.boolean().default(false),
  /** Lists show one more record with null in place of its name: of a number, the e-mail address of a user, a knowledge base. */
  listsNameless: z.boolean().default(false),
  /**
   * Whether the list of users comes in pages or as a whole: with a `meta` all the same or without, because it ignores the cursor that
   * it gives itself, or because it refuses every query.
   */
  users: z.enum(['paged', 'whole', 'unmarked', 'ignoresCursor', 'refusesQuery']).default('paged'),
  /** Whether the list of invoices takes a `limit` or gives ten of them at a time, and a 422 to whoever asks for another number. */
  invoiceLimit: z.enum(['taken', 'refused']).default('taken'),
  /** Where the filters of calls are read, cursor and size included: in the body, in the query instead, or nowhere. */
  callFilters: z.enum(['body', 'query', 'ignored']).default('body'),
  /** How `cost` and `e2e_latency` of calls are shown: as numbers, as text, or as text with a unit. */
  callFigures: z.enum(['number', 'text', 'withUnit']).default('number'),
  /** Status that refuses a GET with a body, as gateways do that do not expect one. */
  refusesGetBody: z
    .union([z.literal(400), z.literal(403), z.literal(411), z.literal(501)])
    .nullable()
    .default(null),
  /** How the range of calls is read. */
  callDates: z
    .strictObject({
      /** Whether an offset in `date_from` counts. */
      from: z.enum(['moment', 'offsetIgnored']).default('moment'),
      /** Whether a `date_to` without a time is the end of that day or its beginning. */
      to: z.enum(['endOfDay', 'midnight']).default('endOfDay'),
    })
    .prefault({}),
  /** How lists come in pages; lists that come as a whole come so all the same. */
  pages: z
    .strictObject({
      /** Most records that a page has, whatever is asked for. */
      most: z.int().min(1).nullable().default(null),
      /** How many records of the page before come again, as when records were added meanwhile. */
      overlap: z.int().min(0).default(0),
    })
    .prefault({}),
  /** Whether a cursor is the key of the record before it, or a number of records. */
  cursors: z.enum(['key', 'position']).default('key'),
  /** `odd`: sizes are text, previous cursors are of no use, and after a page that is not full there is no word of another. */
  meta: z.enum(['documented', 'odd']).default('documented'),
  /** Name of the previous cursor; `documented` is `previous_cursor` for the version list, `prev_cursor` for the others. */
  previousCursorSpelling: z
    .enum(['documented', 'prev_cursor', 'previous_cursor', 'both'])
    .default('documented'),
  errorStyle: z.enum(['message', 'errors', 'detail', 'html']).default('errors'),
  /** How many reads a new record is hidden from: by its id with a 404, and in the list of numbers. */
  showsNewAfterReads: z.int().min(0).default(0),
  /** Compresses answers although nothing asks for it. */
  compresses: z.enum(['gzip', 'deflate', 'br', 'zstd']).nullable().default(null),
  /** Milliseconds that every answer takes. */
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
/** Any part of the behaviour; what it leaves out stays as it is. */
export type BehaviourPatch = Immutable<z.input<typeof emulatorBehaviour>>;
