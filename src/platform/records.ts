import { z } from 'zod';
import { isReversed } from './date-range.ts';

/*
 * The platform's records and requests, each once. Requests are strict: they carry the API document's limits, and the
 * manifests, the emulator and the JSON Schemas are built on them. Records are loose: fields that the document does not
 * name are kept, and the value of a field that a manifest may manage is taken as it comes, because the comparison is
 * the place that judges it.
 */

// ---- Requests

/** What editors and `voxform explain` say of a field. Examples are as in a manifest. */
const about = (description: string, example: z.core.util.JSONType) => ({ description, examples: [example] });
const text = (description: string, example: string) => z.string().meta(about(description, example));
const integer = (description: string, example: number) => z.int().meta(about(description, example));
const decimal = (description: string, example: number) => z.number().meta(about(description, example));
const flag = (description: string) => z.boolean().meta(about(description, true));
const url = (description: string, example: string) =>
  z
    .url({ error: 'expected a valid URL, such as https://example.com/hook' })
    .meta(about(description, example));

/*
 * A description says no more than the API document does: units, values and limits that it states. A meaning that only the field's
 * name suggests is marked by `presumably`.
 */
const presumably = (meaning: string): string => `Presumably ${meaning}.`;
const anyValue = (what: string): string => `${what} (values not documented).`;
const anyRange = (what: string): string => `${what} (range not documented).`;

export const callConfig = z
  .strictObject({
    max_call_duration_ms: integer('Maximum duration of a call, in milliseconds.', 600_000),
    ring_duration_ms: integer('Duration of ringing, in milliseconds.', 30_000),
  })
  .partial()
  .describe('Timing of a call.');

export const knowledgeBaseConfig = z
  .strictObject({
    chunks_to_retrieve: integer(anyRange('Number of chunks to retrieve'), 3),
    similarity_threshold: decimal(anyRange('Threshold of similarity'), 0.7),
  })
  .partial()
  .describe('Settings of the knowledge bases. Requests may hold them; no response shows them.');

export const llmConfig = z
  .strictObject({
    provider: text(anyValue('Provider of the language model, such as `internal`'), 'internal'),
    model: text(anyValue('Language model'), 'gpt-4o'),
    temperature: decimal(anyRange('Temperature'), 0.4),
    deployment: text(presumably("the model's deployment at the provider"), 'voice-eu'),
    endpoint: url(presumably("the URL of the provider's endpoint"), 'https://models.example.com/v1'),
    api_version: text(presumably("the version of the provider's API"), '2024-06-01'),
    base_url: url(presumably("the base URL of the provider's API"), 'https://models.example.com'),
    api_key: z
      .string()
      .meta(about('Secret key, write-only: use { $secret: NAME }.', { $secret: 'OPENAI_API_KEY' })),
    region: text(presumably("the provider's region"), 'eu-west-1'),
    max_tokens: integer(anyRange('Maximum number of tokens'), 300),
    knowledge_base_ids: z
      .array(z.string())
      .meta(
        about('Knowledge bases, as { $ref: KnowledgeBase/<name> }. Compared without order.', [
          { $ref: 'KnowledgeBase/FAQ' },
        ]),
      ),
    tools: z
      .array(z.json())
      .meta(about('Tools, sent as they are (form not documented).', [{ type: 'end_call' }])),
  })
  .partial()
  .describe('The language model.');

export const promptConfig = z
  .strictObject({
    prompt: z.string().meta(
      about('The prompt. A text of more than a few lines reads better as { $file: … }.', {
        $file: 'prompts/support.md',
      }),
    ),
    first_speaker: text(anyValue('Who speaks first, such as `ai`'), 'ai'),
    ai_speak_after_silence: flag(presumably('whether the agent speaks after a silence')),
    ai_speak_wait_time: decimal(presumably('how long the agent waits before it speaks'), 5),
    welcome_message_type: text(
      anyValue('Type of the welcome message, such as `static` or `dynamic`'),
      'static',
    ),
    welcome_message: z
      .string()
      .nullable()
      .meta(about('The welcome message, or null, as with `dynamic`.', 'Good morning, how can I help you?')),
  })
  .partial()
  .describe('Prompt and welcome message.');

export const sttConfig = z
  .strictObject({
    provider: text(anyValue('Provider of speech-to-text'), 'deepgram'),
    model: text(anyValue('Speech-to-text model'), 'nova-2'),
  })
  .partial()
  .describe('Speech to text.');

export const ttsConfig = z
  .strictObject({
    provider: text(anyValue('Provider of text-to-speech'), 'elevenlabs'),
    model: text(anyValue('Text-to-speech model'), 'turbo'),
    voice_id: text('Id of the voice.', 'warm-1'),
    speaker: text(presumably('the name of the speaker'), 'anna'),
    streaming_latency: integer(presumably('the latency of streaming'), 2),
    speed: text(anyValue('Speed'), 'normal'),
    emotion: z
      .string()
      .nullable()
      .meta(about(anyValue('Emotion, or null'), 'calm')),
    speed_alpha: z
      .number()
      .nullable()
      .meta(about(presumably('another setting of the speed'), 1.1)),
    ambient_sound: text(anyValue('Ambient sound'), 'office'),
    ambient_sound_volume: decimal(anyRange('Volume of the ambient sound'), 0.2),
    responsiveness: decimal(presumably('how readily the agent responds'), 0.8),
    interruption_sensitivity: decimal(presumably('how easily the agent is interrupted'), 0.5),
    enable_backchannel: flag(presumably('whether the agent says `backchannel_words` while it listens')),
    backchannel_frequency: decimal(presumably('how often it says them'), 0.3),
    backchannel_words: z
      .array(z.string())
      .meta(about(presumably('words that the agent says while it listens'), ['I see', 'mhm'])),
    reminder_trigger_ms: integer(presumably('the silence before a reminder, in milliseconds'), 8000),
  })
  .partial()
  .describe('Text to speech.');

/** Body of both the create and the update of an agent. Which fields a create needs is not documented: none is demanded. */
export const agentRequest = z
  .strictObject({
    name: z.string().max(255).meta(about('Name of the agent, at most 255 characters.', 'Support line')),
    call_config: callConfig,
    knowledge_base_config: knowledgeBaseConfig,
    llm_config: llmConfig,
    prompt_config: promptConfig,
    stt_config: sttConfig,
    tts_config: ttsConfig,
  })
  .partial();

export const phoneNumberText = z
  .string()
  .min(1)
  .max(12)
  .regex(/^(?=.*\d)\+?[\d\s().-]+$/, { error: 'expected a phone number, such as "+4930123456"' })
  .meta(about('The phone number, 1 to 12 characters, in quotes. Compared by its digits.', '+12025550120'));

export const numberRequest = z.strictObject({
  number: phoneNumberText,
  nickname: z
    .string()
    .min(1)
    .max(255)
    .meta(about('Nickname of the number, 1 to 255 characters.', 'Front desk'))
    .optional(),
});

/** Loose: whether the envelope may hold other keys is not documented. */
const webhookPayload = z.looseObject({
  data: z
    .record(z.string(), z.json())
    .meta(about('An object (keys not documented).', { source: 'voice' }))
    .optional(),
  event: text(anyValue('The event'), 'call.ended').optional(),
  timestamp: text('A timestamp.', '2026-01-31T12:00:00Z').optional(),
});

export const webhookRequest = z.strictObject({
  url: url('Target of the webhook.', 'https://example.com/hook'),
  payload: webhookPayload
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
});

export const userRoles = ['owner', 'admin', 'developer', 'member'] as const;
export const userModules = [
  'agents',
  'knowledge_base',
  'phone_numbers',
  'call_history',
  'analytics',
] as const;

export const userRequest = z.strictObject({
  role: z.enum(userRoles).meta(about('Role of the user in the workspace.', 'member')),
  modules: z
    .array(z.enum(userModules))
    .meta(about('Modules of the user. Compared without order.', ['agents', 'call_history']))
    .optional(),
  agent_ids: z
    .array(z.string())
    .meta(
      about('Agents that the user may access, as { $ref: Agent/<name> }. Compared without order.', [
        { $ref: 'Agent/support-line' },
      ]),
    )
    .optional(),
});

const anyDate = z
  .string()
  .refine((value) => !Number.isNaN(Date.parse(value)), { error: 'expected a date or a date-time' });

/** Filters of the call histories. They travel in the body of a GET. */
export const callFilter = z
  .strictObject({
    per_page: z.int().min(1).max(100).optional(),
    cursor: z.string().optional(),
    date_from: anyDate.nullable().optional(),
    date_to: anyDate.nullable().optional(),
  })
  .refine(({ date_from, date_to }) => !date_from || !date_to || !isReversed(date_from, date_to), {
    error: 'date_to must be on or after date_from',
    path: ['date_to'],
  });

export type AgentRequest = z.infer<typeof agentRequest>;
export type NumberRequest = z.infer<typeof numberRequest>;
export type WebhookRequest = z.infer<typeof webhookRequest>;
export type UserRequest = z.infer<typeof userRequest>;
export type CallFilter = z.infer<typeof callFilter>;

// ---- Records

/** ISO 8601 in UTC, with `+00:00` or with microseconds and `Z`; kept as the platform wrote it. */
const timestamp = z.string();
/** Shown or not, in whatever form. */
const anything = z.unknown().optional();
const configObject = z.record(z.string(), z.unknown()).nullish();

export const agentRecord = z.looseObject({
  id: z.string().min(1),
  name: anything,
  status: z.string().nullish(),
  version: z.number().nullish(),
  numbers: z.array(z.unknown()).nullish(),
  call_config: configObject,
  llm_config: configObject,
  prompt_config: configObject,
  stt_config: configObject,
  tts_config: configObject,
  workspace_id: z.string().nullish(),
  created_at: timestamp.nullish(),
  updated_at: timestamp.nullish(),
  published_at: timestamp.nullish(),
});

export const versionSummary = z.looseObject({ version: z.int(), published_at: timestamp.nullish() });

export const numberRecord = z.looseObject({
  id: z.string().min(1),
  /** The platform may render it as a JSON number, which loses the plus. */
  number: z.union([z.string(), z.number().transform(String)]),
  nickname: anything,
  inbound_agent_id: z.string().nullish(),
  outbound_agent_id: z.string().nullish(),
  telephony_trunk_id: z.string().nullish(),
  telephony_dispatch_id: z.string().nullish(),
  workspace_id: z.string().nullish(),
  created_at: timestamp.nullish(),
  updated_at: timestamp.nullish(),
});

export const knowledgeBaseRecord = z.looseObject({
  id: z.string().min(1),
  name: z.string(),
  created_at: timestamp.nullish(),
  updated_at: timestamp.nullish(),
  workspace_id: z.string().nullish(),
});

export const callRecord = z.looseObject({
  id: z.string().min(1),
  start_time: timestamp.nullish(),
  end_time: timestamp.nullish(),
  /** `HH:MM:SS` */
  duration: z.string().nullish(),
  channel_type: z.string().nullish(),
  cost: z.number().nullish(),
  session_id: z.string().nullish(),
  end_reason: z.string().nullish(),
  session_status: z.string().nullish(),
  from: z.string().nullish(),
  to: z.string().nullish(),
  direction: z.string().nullish(),
  session_outcome: z.string().nullish(),
  e2e_latency: z.number().nullish(),
  agent_id: z.string().nullish(),
  workspace_id: z.string().nullish(),
  created_at: timestamp.nullish(),
  updated_at: timestamp.nullish(),
  analysis: anything,
});

export const webhookRecord = z.looseObject({
  id: z.string().min(1),
  url: anything,
  payload: anything,
  check_https: anything,
  logging_enabled: anything,
  retries: anything,
  timeout: anything,
  workspace_id: z.string().nullish(),
  created_at: timestamp.nullish(),
  updated_at: timestamp.nullish(),
});

export const userRecord = z.looseObject({
  id: z.string().min(1),
  name: anything,
  email: z.string(),
  role: z.string().nullish(),
  is_owner: z.boolean().nullish(),
  modules: z.array(z.string()).nullish(),
  agent_ids: z.array(z.string()).nullish(),
});

export const invoiceRecord = z.looseObject({
  id: z.string().min(1),
  /** Unix time in seconds, as the period's bounds. */
  created_at: z.number().nullish(),
  /** Minor units of the currency, as the other amounts. */
  amount_due: z.number().nullish(),
  amount_paid: z.number().nullish(),
  total: z.number().nullish(),
  currency: z.string().nullish(),
  status: z.string().nullish(),
  invoice_url: z.string().nullish(),
  invoice_pdf: z.string().nullish(),
  number: z.string().nullish(),
  period_start: z.number().nullish(),
  period_end: z.number().nullish(),
});

export const apiKeyRecord = z.looseObject({
  id: z.int(),
  name: z.string().nullish(),
  token: z.string().nullish(),
  created_at: timestamp.nullish(),
  expires_at: timestamp.nullish(),
});

export type AgentRecord = z.infer<typeof agentRecord>;
export type VersionSummary = z.infer<typeof versionSummary>;
export type NumberRecord = z.infer<typeof numberRecord>;
export type KnowledgeBaseRecord = z.infer<typeof knowledgeBaseRecord>;
export type CallRecord = z.infer<typeof callRecord>;
export type WebhookRecord = z.infer<typeof webhookRecord>;
export type UserRecord = z.infer<typeof userRecord>;
export type InvoiceRecord = z.infer<typeof invoiceRecord>;
export type ApiKeyRecord = z.infer<typeof apiKeyRecord>;
