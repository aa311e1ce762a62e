import { PlatformError } from '../platform/errors.ts';
import { type AgentRequest, agentRequest } from '../platform/records.ts';
import type { Kind, ShownRecord } from './kind.ts';

/** A voice agent: readable by id alone, never listed; reads show only part of its configuration. */
export const agent: Kind = {
  name: 'Agent',
  description: 'A voice agent: model, prompt, speech and timing.',
  spec: agentRequest,
  fields: {
    knowledge_base_config: { hidden: true },
    'llm_config.api_key': { writeOnly: true },
    'llm_config.knowledge_base_ids': { set: true, refersTo: 'KnowledgeBase' },
    'llm_config.tools': { opaque: true },
  },
  get: (client, id) => client.agents.get(id),
  create: (client, body) => client.agents.create(body as AgentRequest),
  update: (client, id, body) => client.agents.update(id, body as AgentRequest),

  async published(client, record) {
    if (isUnpublished(record)) return undefined;
    try {
      return { record: await client.agents.latestVersion(record.id), ahead: isAhead(record) };
    } catch (error) {
      if (error instanceof PlatformError && error.status === 404) return undefined;
      throw error;
    }
  },

  notice(record) {
    if (isUnpublished(record)) return 'never published: publish it in the dashboard when it is ready';
    if (isAhead(record)) return 'its draft is newer than its published version: publish it in the dashboard';
    return undefined;
  },
};

function isUnpublished(record: ShownRecord): boolean {
  return (record.version ?? null) === null && (record.published_at ?? null) === null;
}

/** True where the draft was edited after the latest publication, as far as the timestamps tell. */
function isAhead(record: ShownRecord): boolean {
  const published = Date.parse(String(record.published_at));
  const updated = Date.parse(String(record.updated_at));
  return updated > published;
}
