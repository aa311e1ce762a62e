import type { PlatformClient } from '../platform/client.ts';
import { type CallSelection, selectedCalls } from './call-selection.ts';

/** A record of any kind, as the platform shows it. */
export type AnyRecord = Readonly<Record<string, unknown>>;

/** One thing that the API can show. */
export interface Readable {
  readonly description: string;
  /** The kind of a manifest whose records these are: their ids may be given as addresses. */
  readonly kind?: string;
  /** Every record, page by page. Absent where the API has no list. */
  list?(client: PlatformClient, calls: CallSelection): AsyncIterable<AnyRecord>;
  /** One record. Absent where the API has no such read; the list is searched then. */
  get?(client: PlatformClient, id: string): Promise<AnyRecord>;
  /** True where the id is that of a record these ones belong to, so that it must be given. */
  readonly ofRecord?: true;
}

/** Everything that the API can show, by the name that people type. */
export const readables = {
  agents: {
    description:
      'agents; the API cannot list them: without an id, those in the state, numbers, users and calls',
    kind: 'Agent',
    get: (client, id) => client.agents.get(id),
  },
  versions: {
    description: 'published versions of one agent',
    kind: 'Agent',
    ofRecord: true,
  },
  numbers: {
    description: 'phone numbers',
    kind: 'PhoneNumber',
    list: (client) => client.numbers.list(),
  },
  webhooks: {
    description: 'webhooks; the API cannot list them: without an id, those in the state',
    kind: 'Webhook',
    get: (client, id) => client.webhooks.get(id),
  },
  users: {
    description: 'users of the workspace',
    kind: 'WorkspaceUser',
    list: (client) => client.users.list(),
  },
  'knowledge-bases': {
    description: 'knowledge bases',
    list: (client) => client.knowledgeBases.list(),
  },
  calls: {
    description: 'call histories',
    list: (client, selection) => selectedCalls(client, selection),
    get: (client, id) => client.calls.get(id),
  },
  invoices: {
    description: 'invoices',
    list: (client) => client.invoices.list(),
  },
  'api-keys': {
    description: 'API keys, without the keys themselves',
    list: (client) => client.apiKeys.list(),
  },
} as const satisfies Readonly<Record<string, Readable>>;

export type ReadableName = keyof typeof readables;

export function isReadable(name: string): name is ReadableName {
  return Object.hasOwn(readables, name);
}
