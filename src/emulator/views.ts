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
  const { api_key: _, versions: __, knowledge_base_config: ___, ...visible } = agent;
  const hidden: readonly string[] = [
    ...shownConfigs.filter((config) => !shown.includes(config)),
    ...(behaviour.agentTimes === 'hidden' ? ['created_at', 'updated_at', 'published_at'] : []),
  ];
  return {
    ...Object.fromEntries(Object.entries(visible).filter(([field]) => !hidden.includes(field))),
    numbers: world.numbersOf(agent.id).map(({ id, number, nickname }) => ({
      id,
      number: showDigits(number, behaviour),
      nickname,
    })),
  };
}

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

export function showNumber(number: StoredNumber, behaviour: EmulatorBehaviour) {
  return { ...number, number: showDigits(number.number, behaviour) };
}

function showDigits(number: string, { numericNumbers }: EmulatorBehaviour): string | number {
  return numericNumbers ? Number(digitsOf(number)) : number;
}

export function digitsOf(number: string): string {
  return number.replace(/\D/g, '');
}
