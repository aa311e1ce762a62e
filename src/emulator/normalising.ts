import { mapParts } from '../values/json.ts';
import { type EmulatorBehaviour, type ShownConfig, shownConfigs } from './behaviour.ts';
import type { StoredAgent } from './stored-records.ts';

/** Fields whose text the server stores unchanged. */
const UNTRIMMED: ReadonlySet<string> = new Set(['api_key']);

/** The body of a request, with texts trimmed if `trim` is on. */
export function trimmed(body: unknown, { trim }: EmulatorBehaviour['normalise']): unknown {
  return trim ? trimTexts(body) : body;
}

function trimTexts(value: unknown): unknown {
  if (typeof value === 'string') return value.trim();
  return mapParts(value, (part, key) => (UNTRIMMED.has(String(key)) ? part : trimTexts(part)));
}

/** A set in the order of the server. */
export function ordered<T extends string>(items: readonly T[], { reorderSets }: EmulatorBehaviour['normalise']): T[] {
  return reorderSets ? [...items].sort() : [...items];
}

const serverDefaults: { readonly [Name in ShownConfig]: Readonly<StoredAgent[Name]> } = {
  call_config: { max_call_duration_ms: 1_800_000, ring_duration_ms: 30_000 },
  llm_config: { provider: 'internal', model: 'gpt-4o', temperature: 0.7, max_tokens: 1024 },
  prompt_config: {
    first_speaker: 'ai',
    ai_speak_after_silence: true,
    ai_speak_wait_time: 3,
    welcome_message_type: 'dynamic',
    welcome_message: null,
  },
  stt_config: { provider: 'internal', model: 'general' },
  tts_config: {
    speed: 'normal',
    emotion: null,
    speed_alpha: null,
    ambient_sound_volume: 0.5,
    responsiveness: 1,
    interruption_sensitivity: 0.8,
    enable_backchannel: false,
    backchannel_words: [],
    reminder_trigger_ms: 10_000,
  },
};

/** The agent's configuration as the server stores it: sets sorted and defaults added, depending on the behaviour. */
export function normalisedAgent<T extends Pick<StoredAgent, ShownConfig>>(
  agent: T,
  normalise: EmulatorBehaviour['normalise'],
): T {
  const filled = normalise.defaults ? { ...agent, ...withDefaults(agent) } : agent;
  const ids = filled.llm_config.knowledge_base_ids;
  if (ids === undefined) return filled;
  return { ...filled, llm_config: { ...filled.llm_config, knowledge_base_ids: ordered(ids, normalise) } };
}

function withDefaults(agent: Pick<StoredAgent, ShownConfig>): Pick<StoredAgent, ShownConfig> {
  const filled = shownConfigs.map((config) => [config, { ...serverDefaults[config], ...agent[config] }]);
  return Object.fromEntries(filled) as Pick<StoredAgent, ShownConfig>;
}
