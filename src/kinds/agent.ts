import type { PlatformClient } from '../platform/client.ts';
import { asFilter } from '../platform/date-range.ts';
import { PER_PAGE } from '../platform/pages.ts';
import { PlatformError } from '../platform/platform-error.ts';
import { type AgentRequest, agentRequest } from '../platform/records/agent-records.ts';
import type { DraftStatus, Kind, Mention, ShownRecord } from './kind.ts';
import { ADDRESS_COLUMN, ID_COLUMN } from './record-table.ts';

/** A voice agent. The API reads agents by id and does not list them. Responses contain only part of the configuration. */
export const agent: Kind = {
  name: 'Agent',
  dashboardKey: 'agent',
  description: 'A voice agent: model, prompt, speech and timing.',
  get spec() {
    return agentRequest();
  },
  fields: {
    knowledge_base_config: { hidden: true },
    'llm_config.api_key': {
      writeOnly: true,
      unnecessaryIf: { field: 'llm_config.provider', value: 'internal' },
    },
    'llm_config.knowledge_base_ids': { set: true, refersTo: 'KnowledgeBase', hardToRestore: true },
    'llm_config.tools': { opaque: true, hardToRestore: true },
    'tts_config.voice_id': { hardToRestore: true },
  },
  table: {
    name: 'agents',
    description: 'agents',
    columns: [
      ID_COLUMN,
      ADDRESS_COLUMN,
      { title: 'NAME', field: 'name' },
      { title: 'STATUS', field: 'status', dropOrder: 1 },
      { title: 'VERSION', field: 'version', align: 'right' },
      { title: 'UPDATED', field: 'updated_at', form: 'time', dropOrder: 3 },
      { title: 'PUBLISHED', field: 'published_at', form: 'time', dropOrder: 2 },
      { title: 'FOUND BY', field: 'id', form: 'mentions' },
    ],
  },
  get: (client, id) => client.agents.get(id),
  label: ({ name }) => String(name ?? ''),
  create: (client, body) => client.agents.create(body as AgentRequest),
  update: (client, id, body) => client.agents.update(id, body as AgentRequest),

  async published(client, record) {
    if (isUnpublished(record)) return undefined;
    try {
      // In both cases, `edited` and `unclear`, the draft may have been edited since it was published.
      const ahead = ['edited', 'unclear'].includes(draftStatus(record));
      return { record: await client.agents.latestVersion(record.id), ahead };
    } catch (error) {
      if (error instanceof PlatformError && error.isMissing) return undefined;
      throw error;
    }
  },

  versions: {
    inCalls: 'agent_id',
    list: (client, id) => client.agents.versions(id),
    get: ({ agents }, id, version) => (version === 'latest' ? agents.latestVersion(id) : agents.version(id, version)),
  },

  mentions: [
    { name: 'numbers', read: findMentionsInNumbers },
    { name: 'users', read: findMentionsInUsers },
    { name: 'calls', read: findMentionsInCalls },
  ],

  publishing: {
    draftStatus,
    first: 'In the dashboard, publish it when it is ready.',
    meanwhile: 'callers may hear the published version until then',
  },
};

function isUnpublished(record: ShownRecord): boolean {
  return (record.version ?? null) === null && (record.published_at ?? null) === null;
}

/** The maximum duration of publishing, in milliseconds. A later change of the record is an edit. */
const MAX_PUBLICATION_MS = 60_000;

function draftStatus(record: ShownRecord): DraftStatus {
  if (isUnpublished(record)) return 'never';
  // NaN unless the record contains both times.
  const aheadMs = Date.parse(String(record.updated_at)) - Date.parse(String(record.published_at));
  if (aheadMs > MAX_PUBLICATION_MS) return 'edited';
  return aheadMs <= 0 ? 'current' : 'unclear';
}

async function* findMentionsInNumbers(client: PlatformClient): AsyncGenerator<Mention> {
  for await (const { id: numberId, number, inbound_agent_id, outbound_agent_id } of client.numbers.list()) {
    const name = number ?? numberId;
    for (const id of [inbound_agent_id, outbound_agent_id]) {
      if (typeof id === 'string') yield { id, clause: `number ${name} is linked to it` };
    }
  }
}

async function* findMentionsInUsers(client: PlatformClient): AsyncGenerator<Mention> {
  for await (const { id: userId, email, agent_ids } of client.users.list()) {
    for (const id of Array.isArray(agent_ids) ? agent_ids : []) {
      if (typeof id === 'string') yield { id, clause: `${email ?? `user ${userId}`} has access to it` };
    }
  }
}

/** Reads only one page if `since` is undefined, because there may be millions of calls. */
async function* findMentionsInCalls(client: PlatformClient, since: Date | undefined): AsyncGenerator<Mention> {
  let count = 0;
  for await (const { agent_id, start_time } of client.calls.list(asFilter({ from: since?.toISOString() }))) {
    if (typeof agent_id === 'string') yield { id: agent_id, clause: `it had a call at ${String(start_time)}` };
    if (since === undefined && ++count === PER_PAGE) return;
  }
}
