import { Hono } from 'hono';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { seenByKey } from '../other-workspace.ts';
import { type PagedList, pageOf } from '../pagination.ts';
import { pageRequestOf } from '../request-checks.ts';
import type { Stored } from '../stored-records.ts';

const listing: PagedList<Stored<'knowledge-bases'>> = {
  name: 'knowledge-bases',
  key: ({ id }) => id,
  order: 'ascending',
};

export function knowledgeBaseRoutes(emulated: Emulated): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>().get('/knowledge-bases', (c) =>
    c.json(
      pageOf(seenByKey(emulated.world.knowledgeBases.values(), emulated), listing, {
        request: pageRequestOf(c),
        behaviour: emulated.behaviour,
      }),
    ),
  );
}
