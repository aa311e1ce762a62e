import type { AgentRequest } from '../platform/records/agent-records.ts';
import { mapParts } from '../values/json.ts';
import { type EmulatorBehaviour, returnedConfigs, type ShownConfig } from './behaviour.ts';
import { offsetTime } from './ids-and-clock.ts';
import { type KeyMarker, markKey, type StoredAgent, type StoredVersion } from './stored-records.ts';
import type { World } from './world.ts';

const configs = [...returnedConfigs, 'knowledge_base_config'] as const;

type Config = (typeof configs)[number];

function mapConfigs(make: (config: Config) => StoredAgent[Config]): Pick<StoredAgent, Config> {
  return Object.fromEntries(configs.map((config) => [config, make(config)])) as Pick<StoredAgent, Config>;
}

type Rules = Pick<EmulatorBehaviour, 'put' | 'normalise'>;

/** Creates an agent with an unpublished draft. */
export function createAgent(world: World, body: AgentRequest, rules: Rules): StoredAgent {
  const empty: StoredAgent = {
    ...world.newRecord(offsetTime),
    name: 'Untitled agent',
    status: 'draft',
    version: null,
    ...mapConfigs(() => ({})),
    api_key: null,
    published_at: null,
    versions: [],
  };
  const agent = normaliseAgent(withRequest(world, empty, { body, put: rules.put }), rules.normalise);
  world.agents.set(agent.id, agent);
  return agent;
}

/** Edits the draft. Published versions do not change. */
export function updateAgent(
  world: World,
  agent: StoredAgent,
  { body, rules }: { body: AgentRequest; rules: Rules },
): StoredAgent {
  const now = offsetTime(world.beginWrite());
  const changed = withRequest(world, agent, { body, put: rules.put });
  const updated = { ...normaliseAgent(changed, rules.normalise), status: 'draft', updated_at: now };
  world.agents.set(agent.id, updated);
  return updated;
}

/** Returns the agent with the earlier values of these fields. A field is a path such as `llm_config.temperature`. */
export function withFieldsOf(agent: StoredAgent, earlier: StoredAgent, fields: readonly string[]): StoredAgent {
  let result = agent;
  for (const field of fields) {
    const [root = '', key] = field.split('.');
    if (key === undefined) {
      result = { ...result, ...(root === 'name' && { name: earlier.name }) };
      continue;
    }
    const config = configs.find((each) => each === root);
    if (config === undefined) continue;
    const before: Readonly<Record<string, unknown>> = earlier[config];
    const { [key]: _, ...others }: Readonly<Record<string, unknown>> = result[config];
    result = { ...result, [config]: Object.hasOwn(before, key) ? { ...others, [key]: before[key] } : others };
  }
  return result;
}

/**
 * Publishes the draft as the next version.
 * @param updatedAfter the seconds from `published_at` to `updated_at`.
 */
export function publishAgent(world: World, agent: StoredAgent, updatedAfter = 0): StoredAgent {
  const time = world.beginWrite();
  const now = offsetTime(time);
  const updated_at = offsetTime(time + updatedAfter * 1000);
  const version = (agent.version ?? 0) + 1;
  const published = { ...agent, status: 'published', version, published_at: now, updated_at };
  const copy: StoredVersion = {
    version,
    published_at: now,
    updated_at: now,
    name: agent.name,
    ...mapConfigs((config) => agent[config]),
  };
  const result = { ...published, versions: [...agent.versions, copy] };
  world.agents.set(agent.id, result);
  return result;
}

function withRequest(
  world: World,
  agent: StoredAgent,
  { body, put }: { body: AgentRequest; put: Rules['put'] },
): StoredAgent {
  const next = { ...agent, api_key: updatedKey(world, agent, { body, put }) };
  if (body.name !== undefined) next.name = body.name;
  for (const config of configs) {
    const sent = body[config];
    if (sent === undefined) continue;
    const { api_key: _, ...visible } = { api_key: undefined, ...sent };
    Object.assign(next, { [config]: put === 'merge' ? { ...agent[config], ...visible } : visible });
  }
  return next;
}

/** Returns the provider key after a write. A PUT that replaces `llm_config` without a key erases the key. */
function updatedKey(
  world: World,
  agent: StoredAgent,
  { body, put }: { body: AgentRequest; put: Rules['put'] },
): KeyMarker | null {
  if (body.llm_config === undefined) return agent.api_key;
  const { api_key: key } = body.llm_config;
  if (key !== undefined) return markKey(key, world.sequence.randomText());
  return put === 'merge' ? agent.api_key : null;
}

/** Returns the value with all strings trimmed, except provider keys. */
export function trimStrings(value: unknown): unknown {
  if (typeof value === 'string') return value.trim();
  return mapParts(value, (part, key) => (key === 'api_key' ? part : trimStrings(part)));
}

/** Returns the items of a set in the order in which the server stores them. */
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

/** Returns the agent as the server stores it. Depending on the behaviour, sets are sorted and defaults are added. */
function normaliseAgent<T extends Pick<StoredAgent, ShownConfig>>(
  agent: T,
  normalise: EmulatorBehaviour['normalise'],
): T {
  const filled = normalise.defaults ? { ...agent, ...withDefaults(agent) } : agent;
  const ids = filled.llm_config.knowledge_base_ids;
  if (ids === undefined) return filled;
  return { ...filled, llm_config: { ...filled.llm_config, knowledge_base_ids: ordered(ids, normalise) } };
}

function withDefaults(agent: Pick<StoredAgent, ShownConfig>): Pick<StoredAgent, ShownConfig> {
  const filled = returnedConfigs.map((config) => [config, { ...serverDefaults[config], ...agent[config] }]);
  return Object.fromEntries(filled) as Pick<StoredAgent, ShownConfig>;
}
