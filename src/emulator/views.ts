import { type EmulatorBehaviour, type ShownConfig, shownConfigs } from './behaviour.ts';
import { microsecondTime } from './ids-and-clock.ts';
import type { StoredAgent, StoredNumber, StoredVersion } from './stored-records.ts';
import type { World } from './world.ts';

/** The shown form of an agent, with only the given config objects. */
export function showAgent(
  { world, behaviour }: { world: World; behaviour: EmulatorBehaviour },
  agent: StoredAgent,
  shown: readonly ShownConfig[] = shownConfigs,
): Record<string, unknown> {
  const record: Record<string, unknown> = {
    id: agent.id,
    name: agent.name,
    status: agent.status,
    version: agent.version,
    numbers: world.numbersOf(agent.id).map((number) => ({
      id: number.id,
      number: showDigits(number.number, behaviour),
      nickname: number.nickname,
    })),
  };
  for (const config of shownConfigs) if (shown.includes(config)) record[config] = agent[config];
  return {
    ...record,
    workspace_id: agent.workspace_id,
    created_at: agent.created_at,
    updated_at: agent.updated_at,
    published_at: agent.published_at,
  };
}

/** The agent as it was when the version was published. */
export function showVersion(
  view: { world: World; behaviour: EmulatorBehaviour },
  agent: StoredAgent,
  version: StoredVersion,
): Record<string, unknown> {
  return showAgent(view, { ...agent, ...version, status: 'published' });
}

export function showVersionSummary({ version, published_at }: StoredVersion): Record<string, unknown> {
  return { version, published_at: microsecondTime(Date.parse(published_at)) };
}

export function showNumber(number: StoredNumber, behaviour: EmulatorBehaviour): Record<string, unknown> {
  return { ...number, number: showDigits(number.number, behaviour) };
}

function showDigits(number: string, { numericNumbers }: EmulatorBehaviour): string | number {
  return numericNumbers ? Number(digitsOf(number)) : number;
}

export function digitsOf(number: string): string {
  return number.replace(/\D/g, '');
}
