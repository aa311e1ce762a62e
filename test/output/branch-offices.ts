import type { Resource } from '../../src/manifests/resource.ts';
import { agent, number, ref, user, webhook } from '../engine/resources.ts';

export const teams = [
  ...['support', 'sales', 'billing', 'logistics', 'claims', 'booking'],
  ...['dispatch', 'returns', 'warranty', 'reception', 'surveys', 'night-line'],
] as const;

const cities = 10;

export interface BranchOffices {
  readonly agents: number;
  readonly labelled?: boolean;
  readonly folders?: 'one' | 'teams' | 'kinds';
}

/**
 * Returns the manifests of a company with many branches: agents of teams, a number for almost each, users, shared
 * knowledge.
 */
export function branchOffices({ agents, labelled = true, folders = 'one' }: BranchOffices): Resource[] {
  const some = teams.slice(0, Math.max(1, Math.ceil(agents / 25)));
  const sourceOf = (kind: string, team: string) => ({
    file: {
      one: 'manifests/all.yaml',
      teams: `manifests/clients/${team}/all.yaml`,
      kinds: `manifests/${kind}/all.yaml`,
    }[folders],
    line: 1,
  });
  const made = Array.from({ length: agents }, (_, index) => {
    const team = some[index % some.length] ?? '';
    const labels = labelled ? { team, city: `city-${Math.floor(index / some.length) % cities}` } : {};
    const shared = index % 3 === 0 ? [ref('KnowledgeBase/Company handbook')] : [];
    const spec = { llm_config: { knowledge_base_ids: [ref(`KnowledgeBase/FAQ ${team}`), ...shared] } };
    const address = `Agent/${team}-${index}`;
    const line = number(
      `${team}-line-${index}`,
      { number: `+4930${100_000 + index}`, inbound_agent_id: ref(address) },
      { source: sourceOf('numbers', team) },
    );
    return {
      address,
      team,
      one: agent(`${team}-${index}`, spec, { labels, source: sourceOf('agents', team) }),
      line,
    };
  });
  const ids = (every: number) => ({
    agent_ids: made.filter((_, index) => index % every === 0).map(({ address }) => ref(address)),
  });
  return [
    ...made.map(({ one }) => one),
    ...made.filter((_, index) => index % 10 !== 9).map(({ line }) => line),
    user('auditor', ids(7), { source: { file: 'manifests/users/all.yaml', line: 1 } }),
    user('owner', ids(11), { source: { file: 'manifests/users/all.yaml', line: 9 } }),
    user('lead', ids(some.length * 2), { source: { file: 'manifests/users/all.yaml', line: 17 } }),
    webhook('call-ended', {}, { source: { file: 'manifests/webhooks/all.yaml', line: 1 } }),
  ];
}
