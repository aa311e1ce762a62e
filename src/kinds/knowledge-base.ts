import type { Lookup } from './kind.ts';

/** Knowledge bases are filled in the dashboard; manifests only refer to them. */
export const knowledgeBase: Lookup = {
  name: 'KnowledgeBase',
  description: 'A knowledge base of the workspace, by its name on the platform.',
  list: (client) => client.knowledgeBases.list(),
  addByHand: (name) => `In the dashboard, add the knowledge base "${name}".`,
};
