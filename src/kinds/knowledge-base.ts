import type { Lookup } from './kind.ts';
import { ID_COLUMN } from './record-table.ts';

/** Knowledge bases are managed in the dashboard. Manifests only refer to them. */
export const knowledgeBase: Lookup = {
  name: 'KnowledgeBase',
  description: 'A knowledge base of the workspace, by its name on the platform.',
  table: {
    name: 'knowledge-bases',
    description: 'knowledge bases',
    columns: [
      ID_COLUMN,
      { title: 'NAME', field: 'name' },
      { title: 'CREATED', field: 'created_at', form: 'time', dropOrder: 1 },
    ],
  },
  list: (client) => client.knowledgeBases.list(),
  listedThrough: (client, through) => ({
    ...client,
    knowledgeBases: { list: () => through(client.knowledgeBases.list()) },
  }),
  manualAddStep: (name) => `In the dashboard, add the knowledge base "${name}"`,
};
