import { agentConfigs } from '../platform/records/agent-records.ts';
import { type EmulatorBehaviour, returnedConfigs, type ShownConfig } from './behaviour.ts';
import type { Emulated } from './emulated.ts';
import { microsecondTime } from './ids-and-clock.ts';
import type { Stored, StoredAgent, StoredNumber, StoredVersion } from './stored-records.ts';

/** Returns an agent in the form of the API, with only the given config objects. */
export function showAgent(
  { world, behaviour }: Pick<Emulated, 'world' | 'behaviour'>,
  agent: StoredAgent,
  shown: readonly ShownConfig[] = returnedConfigs,
): Record<string, unknown> {
  const { api_key: key, versions: __, knowledge_base_config: ___, ...visible } = agent;
  const llm_config =
    behaviour.showsSecrets && key !== null ? { api_key: `shown-${key.digest}`, ...agent.llm_config } : agent.llm_config;
  const configs = returnedConfigs.map((config) => [
    config,
    showConfig(config, { ...agent, llm_config }[config], behaviour),
  ]);
  const hidden: ReadonlySet<unknown> = new Set([
    ...returnedConfigs.filter((config) => !shown.includes(config)),
    ...(behaviour.agentTimes === 'hidden' ? ['created_at', 'updated_at', 'published_at'] : []),
  ]);
  return {
    ...Object.fromEntries([...Object.entries(visible), ...configs].filter(([field]) => !hidden.has(field))),
    version: showVersionNumber(agent.version, behaviour),
    numbers: world.numbersOf(agent.id).map(({ id, number, nickname }) => ({
      id,
      number: showDigits(number, behaviour),
      nickname,
    })),
  };
}

function showConfig(
  name: ShownConfig,
  config: StoredAgent[ShownConfig],
  behaviour: EmulatorBehaviour,
): Record<string, unknown> {
  const fields = Object.keys(agentConfigs()[name].shape).filter((field) => field !== 'api_key');
  const unset = behaviour.unsetFields === 'null' ? fields.map((field) => [field, null]) : [];
  const shown = { ...Object.fromEntries(unset), ...config };
  return withOtherTypes(shown, behaviour);
}

/** Returns the fields of a record, with other types of numbers and booleans. */
function withOtherTypes(record: object, { numbersAsText, flagsAsNumbers }: EmulatorBehaviour): Record<string, unknown> {
  const shown = (value: unknown): unknown => {
    if (typeof value === 'number') return numbersAsText ? String(value) : value;
    return typeof value === 'boolean' && flagsAsNumbers ? Number(value) : value;
  };
  return Object.fromEntries(Object.entries(record).map(([field, value]) => [field, shown(value)]));
}

export function showWebhook(webhook: Stored<'webhooks'>, behaviour: EmulatorBehaviour): object {
  return withNulls(withOtherTypes(webhook, behaviour), behaviour.nulls);
}

function withNulls(record: object, nulls: EmulatorBehaviour['nulls']): object {
  if (nulls === 'shown') return record;
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}

export function showToken(id: number, { showsSecrets }: EmulatorBehaviour): string | null {
  return showsSecrets ? `shown-${id}` : null;
}

export function showVersion(
  view: Pick<Emulated, 'world' | 'behaviour'>,
  agent: StoredAgent,
  version: StoredVersion,
): Record<string, unknown> {
  return showAgent(view, { ...agent, ...version, status: 'published' });
}

export function showVersionSummary(
  { version, published_at }: StoredVersion,
  behaviour: EmulatorBehaviour,
): Record<string, unknown> {
  return { version: showVersionNumber(version, behaviour), published_at: microsecondTime(Date.parse(published_at)) };
}

export function showNumber(number: StoredNumber, behaviour: EmulatorBehaviour) {
  const { inbound_agent_id, outbound_agent_id, ...rest } = number;
  const links = withNulls({ inbound_agent_id, outbound_agent_id }, behaviour.nulls);
  return { ...rest, ...links, number: showDigits(number.number, behaviour) };
}

export function showCall(call: Stored<'calls'>, { callFigures }: EmulatorBehaviour): Record<string, unknown> {
  if (callFigures === 'number') return call;
  const isBare = callFigures === 'text';
  const { cost, e2e_latency: latency } = call;
  return {
    ...call,
    cost: isBare ? cost.toFixed(2) : `${cost} EUR`,
    e2e_latency: isBare ? String(latency) : `${latency} ms`,
  };
}

function showVersionNumber(version: number | null, { versionNumbers }: EmulatorBehaviour): number | string | null {
  return version === null || versionNumbers === 'number' ? version : String(version);
}

function showDigits(number: string, { numericNumbers }: EmulatorBehaviour): string | number {
  return numericNumbers ? Number(digitsOf(number)) : number;
}

export function digitsOf(number: string): string {
  return number.replace(/\D/g, '');
}
