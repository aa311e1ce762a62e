import type { Emulator } from '../../src/emulator/start-emulator.ts';
import type { World } from '../../src/emulator/world.ts';
import type { UnmanagedWorkspace } from './unmanaged-workspace.ts';

/** Enough records to fill more than one page of every list. */
export const COUNTS = {
  agents: 260,
  numbers: 210,
  linkedNumbers: 150,
  users: 20,
  knowledgeBases: 20,
  webhooks: 5,
} as const;

/** Agents referenced by a number, a user or a call. Only the dashboard shows the others. */
const KNOWN_BY = { users: 245, calls: 255 } as const;

/**
 * Fills a workspace as people do: records created through the API, and in the dashboard. @returns ids without
 * references.
 */
export async function fillByHand(
  workspace: UnmanagedWorkspace,
): Promise<{ readonly agentIds: readonly string[]; readonly webhookIds: readonly string[] }> {
  const { emulator, client } = workspace;
  const { dashboard } = emulator;
  const bases = upTo(COUNTS.knowledgeBases).map((n) => dashboard.addKnowledgeBase({ name: `Base ${n}` }).id);
  const agents = await Promise.all(
    upTo(COUNTS.agents).map((n) =>
      workspace.agent(
        {
          name: `Agent ${n}`,
          llm_config: { provider: 'internal', model: 'gpt-4o', knowledge_base_ids: [at(bases, n)] },
          prompt_config: { prompt: `You are agent ${n}.\nBe kind.\nBe brief.\nAsk once.\n`, first_speaker: 'ai' },
          tts_config: { provider: 'internal', voice_id: `voice-${n % 7}` },
        },
        { publish: n % 2 === 0 },
      ),
    ),
  );
  const numbers = await Promise.all(
    upTo(COUNTS.numbers).map((n) => client.numbers.create({ number: `+4930${100_000 + n}`, nickname: `Line ${n}` })),
  );
  for (const [index, { id }] of numbers.slice(0, COUNTS.linkedNumbers).entries())
    dashboard.linkNumber(id, { inbound_agent_id: at(agents, index) });
  for (const [index, n] of upTo(COUNTS.users).entries()) {
    const { id } = dashboard.inviteUser({ email: `user-${n}@example.com`, role: n === 1 ? 'owner' : 'member' });
    const first = COUNTS.linkedNumbers + index * 5;
    const agent_ids = agents.slice(first, Math.min(first + 5, KNOWN_BY.users));
    dashboard.edit('users', id, { modules: ['agents', 'call_history'], agent_ids });
  }
  for (const agent_id of agents.slice(KNOWN_BY.users, KNOWN_BY.calls)) dashboard.recordCall({ agent_id });
  const webhookIds = await Promise.all(
    upTo(COUNTS.webhooks).map((n) => workspace.webhook({ url: `https://hooks.example.com/${n}`, retries: n })),
  );
  return { agentIds: agents.slice(KNOWN_BY.calls), webhookIds };
}

/** Links each number to the agent with the name that it is linked to in another workspace. */
export function linkAsTheOldOne(old: Emulator, { world, dashboard }: Emulator): void {
  const ids = new Map([...world.agents.values()].map(({ id, name }) => [name, id]));
  const numbers = new Map([...world.numbers.values()].map(({ id, number }) => [number, id]));
  for (const { number, inbound_agent_id } of old.world.numbers.values()) {
    const id = numbers.get(number);
    const name = old.world.agents.get(inbound_agent_id ?? '')?.name;
    if (id !== undefined && name !== undefined) dashboard.linkNumber(id, { inbound_agent_id: ids.get(name) });
  }
}

/** Returns the contents of a platform, by names instead of ids. */
export function whatIsThere(world: World) {
  const nameOf = (id: string | null | undefined) => world.agents.get(id ?? '')?.name;
  return {
    agents: [...world.agents.values()]
      .map(({ name, prompt_config }) => `${name}: ${String(prompt_config?.prompt)}`)
      .sort(),
    knowledgeBases: [...world.knowledgeBases.values()].map(({ name }) => name).sort(),
    numbers: [...world.numbers.values()].map(({ number, nickname }) => `${number} ${nickname}`).sort(),
    links: [...world.numbers.values()]
      .flatMap(({ number, inbound_agent_id: id }) => (id == null ? [] : [`${number} ${nameOf(id)}`]))
      .sort(),
    users: [...world.users.values()]
      .map(({ email, role, agent_ids }) => `${email} ${role} ${agent_ids.map(nameOf).sort().join(', ')}`)
      .sort(),
    webhooks: [...world.webhooks.values()].map(({ url, retries }) => `${url} ${retries}`).sort(),
  };
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function at(items: readonly string[], index: number): string {
  return items[index % items.length] ?? '';
}
