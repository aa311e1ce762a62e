import { z } from 'zod';
import type { Immutable } from '../values/json.ts';
import { madeCalls } from './made-calls.ts';

/** The config objects that a response may show. `knowledge_base_config` is accepted and never shown. */
export const shownConfigs = ['call_config', 'llm_config', 'prompt_config', 'stt_config', 'tts_config'] as const;
export type ShownConfig = (typeof shownConfigs)[number];

const shown = z.array(z.enum(shownConfigs));

/** Switches for undocumented behaviour of the API: a client must be correct with every combination. */
export const emulatorBehaviour = z.strictObject({
  /** Config objects in the response to a read or an update of one agent; others are omitted. */
  shows: z
    .strictObject({
      read: shown.default(['call_config', 'llm_config', 'prompt_config']),
      update: shown.default(['llm_config', 'prompt_config', 'tts_config']),
    })
    .prefault({}),
  /** Whether a config object in a PUT is merged into the stored one or replaces it; likewise the lists of a user. */
  put: z.enum(['merge', 'replace']).default('merge'),
  /** Fields of an agent, such as `llm_config.temperature`, that a PUT ignores with a 200. */
  ignoredByPut: z
    .strictObject({
      fields: z.array(z.string()).default([]),
      /** Shows the stored value, or the one that was sent. */
      answer: z.enum(['kept', 'sent']).default('kept'),
    })
    .prefault({}),
  /** Whether agents show when they were created, updated and published. */
  agentTimes: z.enum(['shown', 'hidden']).default('shown'),
  /** Seconds from an agent's `published_at` to its `updated_at` after it was published. */
  updatedAfterPublishing: z.int().min(0).default(0),
  /** Calls to generate when an agent is published, as if days had passed. */
  calls: madeCalls.nullable().default(null),
  agentCreateStatus: z.union([z.literal(200), z.literal(201)]).default(201),
  /** Shows a text in place of a provider's key in agents and versions, and of the token in the list of API keys. */
  showsSecrets: z.boolean().default(false),
  /** The form of unset config fields, except the key of the provider. */
  unsetFields: z.enum(['leftOut', 'null']).default('leftOut'),
  /** Shows the numbers in config objects and of webhooks as text. */
  numbersAsText: z.boolean().default(false),
  versionNumbers: z.enum(['number', 'text']).default('number'),
  /** The response for the latest version of an agent that was never published: a 404, or `data: null`. */
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
  /** Refuses a number whose digits exist already. */
  uniqueNumbers: z.boolean().default(false),
  /** Whether lists show a copy of each record in a second workspace, which the key sees too. Agents and users have none. */
  seesOtherWorkspace: z.boolean().default(false),
  /** Adds a record with a null name to lists: a number, a user's e-mail address, a knowledge base. */
  listsNameless: z.boolean().default(false),
  /**
   * Whether the list of users is paged. If not, it has a `meta` or none, ignores its own cursors, or refuses every query.
   */
  users: z.enum(['paged', 'whole', 'unmarked', 'ignoresCursor', 'refusesQuery']).default('paged'),
  /** Whether the list of invoices accepts a `limit`, or has ten per page and answers any other number with a 422. */
  invoiceLimit: z.enum(['taken', 'refused']).default('taken'),
  /** Where the filters of calls are read, cursor and size included: in the body, in the query, or nowhere. */
  callFilters: z.enum(['body', 'query', 'ignored']).default('body'),
  /** How `cost` and `e2e_latency` of calls are shown: as numbers, as text, or as text with a unit. */
  callFigures: z.enum(['number', 'text', 'withUnit']).default('number'),
  /** Status for a GET with a body, which some gateways refuse. */
  refusesGetBody: z
    .union([z.literal(400), z.literal(403), z.literal(411), z.literal(501)])
    .nullable()
    .default(null),
  /** The interpretation of the range of calls. */
  callDates: z
    .strictObject({
      /** Whether an offset in `date_from` counts. */
      from: z.enum(['moment', 'offsetIgnored']).default('moment'),
      /** Whether a `date_to` without a time is the end of that day or its beginning. */
      to: z.enum(['endOfDay', 'midnight']).default('endOfDay'),
    })
    .prefault({}),
  pages: z
    .strictObject({
      /** The maximum page size, whatever the requested size. */
      most: z.int().min(1).nullable().default(null),
      /** How many records of the previous page repeat, as if records had been added meanwhile. */
      overlap: z.int().min(0).default(0),
    })
    .prefault({}),
  /** Whether a cursor is the key of the record before it, or a number of records. */
  cursors: z.enum(['key', 'position']).default('key'),
  /** `odd`: sizes are text, previous cursors are unusable, and a page that is not full has no next cursor. */
  meta: z.enum(['documented', 'odd']).default('documented'),
  /** Name of the previous cursor; `documented` is `previous_cursor` for the version list, `prev_cursor` for the others. */
  previousCursorSpelling: z.enum(['documented', 'prev_cursor', 'previous_cursor', 'both']).default('documented'),
  errorStyle: z.enum(['message', 'errors', 'detail', 'html']).default('errors'),
  /** The number of reads that do not show a new record: reads by id, with a 404, and of the list of numbers. */
  showsNewAfterReads: z.int().min(0).default(0),
  /** Compresses responses without being asked to. */
  compresses: z.enum(['gzip', 'deflate', 'br', 'zstd']).nullable().default(null),
  /** Milliseconds before each response. */
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
/** A part of the behaviour; the rest stays as it is. */
export type BehaviourPatch = Immutable<z.input<typeof emulatorBehaviour>>;
