import { z } from 'zod';
import { about, lazyLooseObject } from '../../values/described.ts';
import { lazy } from '../../values/lazy.ts';
import {
  anyRange,
  anyText,
  anything,
  anyValue,
  convertValues,
  decimal,
  fieldsAccepting,
  flag,
  integer,
  presumably,
  text,
  timestamp,
  url,
} from './record-fields.ts';

/** The sections of an agent's configuration. */
export const agentConfigs = lazy(() => ({
  call_config: z
    .strictObject({
      max_call_duration_ms: integer('Maximum duration of a call, in milliseconds.', 600_000),
      ring_duration_ms: integer('Ring duration, in milliseconds.', 30_000),
    })
    .partial()
    .describe('Timing of a call.'),
  knowledge_base_config: z
    .strictObject({
      chunks_to_retrieve: integer(anyRange('Number of chunks to retrieve'), 3),
      similarity_threshold: decimal(anyRange('Similarity threshold'), 0.7),
    })
    .partial()
    .describe('Knowledge base settings. Requests may contain them, but responses never do.'),
  llm_config: z
    .strictObject({
      provider: text(anyValue('Provider of the language model, such as `internal`'), 'internal'),
      model: text(anyValue('Language model'), 'gpt-4o'),
      temperature: decimal(anyRange('Temperature'), 0.4),
      deployment: text(presumably("the model's deployment at the provider"), 'voice-eu'),
      endpoint: url(presumably("the URL of the provider's endpoint"), 'https://models.example.com/v1'),
      api_version: text(presumably("the version of the provider's API"), '2024-06-01'),
      base_url: url(presumably("the base URL of the provider's API"), 'https://models.example.com'),
      api_key: z.string().meta(about('Secret key, write-only: use { $secret: NAME }.', { $secret: 'OPENAI_API_KEY' })),
      region: text(presumably("the provider's region"), 'eu-west-1'),
      max_tokens: integer(anyRange('Maximum number of tokens'), 300),
      knowledge_base_ids: z
        .array(z.string())
        .meta(
          about('Knowledge bases, as { $ref: KnowledgeBase/<name> }. The order is ignored.', [
            { $ref: 'KnowledgeBase/FAQ' },
          ]),
        ),
      tools: z.array(z.json()).meta(about('Tools, sent unchanged (form not documented).', [{ type: 'end_call' }])),
    })
    .partial()
    .describe('The language model.'),
  prompt_config: z
    .strictObject({
      prompt: z.string().meta(
        about('The prompt. For more than a few lines, use { $file: … }.', {
          $file: 'prompts/support.md',
        }),
      ),
      first_speaker: text(anyValue('First speaker, such as `ai`'), 'ai'),
      ai_speak_after_silence: flag(presumably('whether the agent speaks after a silence')),
      ai_speak_wait_time: decimal(presumably('how long the agent waits before it speaks'), 5),
      welcome_message_type: text(anyValue('Type of the welcome message, such as `static` or `dynamic`'), 'static'),
      welcome_message: z
        .string()
        .nullable()
        .meta(about('The welcome message, or null, for example with `dynamic`.', 'Good morning, how can I help you?')),
    })
    .partial()
    .describe('Prompt and welcome message.'),
  stt_config: z
    .strictObject({
      provider: text(anyValue('Speech-to-text provider'), 'deepgram'),
      model: text(anyValue('Speech-to-text model'), 'nova-2'),
    })
    .partial()
    .describe('Speech to text.'),
  tts_config: z
    .strictObject({
      provider: text(anyValue('Text-to-speech provider'), 'elevenlabs'),
      model: text(anyValue('Text-to-speech model'), 'turbo'),
      voice_id: text('Id of the voice.', 'warm-1'),
      speaker: text(presumably('the name of the speaker'), 'anna'),
      streaming_latency: integer(presumably('the streaming latency'), 2),
      speed: text(anyValue('Speed'), 'normal'),
      emotion: z
        .string()
        .nullable()
        .meta(about(anyValue('Emotion, or null'), 'calm')),
      speed_alpha: z
        .number()
        .nullable()
        .meta(about(presumably('another speed setting'), 1.1)),
      ambient_sound: text(anyValue('Ambient sound'), 'office'),
      ambient_sound_volume: decimal(anyRange('Volume of the ambient sound'), 0.2),
      responsiveness: decimal(presumably('how readily the agent responds'), 0.8),
      interruption_sensitivity: decimal(presumably('how easily the agent is interrupted'), 0.5),
      enable_backchannel: flag(presumably('whether the agent uses `backchannel_words` while it listens')),
      backchannel_frequency: decimal(presumably('how often the agent uses `backchannel_words`'), 0.3),
      backchannel_words: z
        .array(z.string())
        .meta(about(presumably('words that the agent says while it listens'), ['I see', 'mhm'])),
      reminder_trigger_ms: integer(presumably('the duration of silence before a reminder, in milliseconds'), 8000),
    })
    .partial()
    .describe('Text to speech.'),
}));

/** The request body to create or update an agent. The API does not document which fields a create requires, so none is required here. */
export const agentRequest = lazy(() =>
  z
    .strictObject({
      name: z.string().max(255).meta(about('Name of the agent, at most 255 characters.', 'Support line')),
      ...agentConfigs(),
    })
    .partial(),
);

/** The platform may return the version as a string. */
const versionNumber = lazy(() =>
  z.union([
    z.int(),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ]),
);

/** The only secret of an agent, documented as write-only. */
const SECRETS = ['api_key'];

const configObject = (config: z.ZodObject) => {
  const fields = {
    numbers: fieldsAccepting(1, config),
    flags: fieldsAccepting(true, config),
    secrets: SECRETS.filter((key) => key in config.shape),
  };
  return z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((observed) => observed && convertValues(observed, fields));
};

export const agentRecord = lazyLooseObject(() => ({
  id: z.string().min(1),
  name: anything(),
  status: anyText(),
  version: versionNumber().nullish(),
  numbers: z.array(z.unknown()).nullish(),
  call_config: configObject(agentConfigs().call_config),
  llm_config: configObject(agentConfigs().llm_config),
  prompt_config: configObject(agentConfigs().prompt_config),
  stt_config: configObject(agentConfigs().stt_config),
  tts_config: configObject(agentConfigs().tts_config),
  workspace_id: anyText(),
  created_at: timestamp(),
  updated_at: timestamp(),
  published_at: timestamp(),
}));

/** Only the version and its publication time are documented. Some platforms include the complete agent. */
export const versionSummary = lazyLooseObject(() => ({
  version: versionNumber(),
  published_at: timestamp(),
  llm_config: configObject(agentConfigs().llm_config),
}));

export type AgentRequest = z.infer<ReturnType<typeof agentRequest>>;
export type AgentRecord = z.infer<ReturnType<typeof agentRecord>>;
export type VersionSummary = z.infer<ReturnType<typeof versionSummary>>;
