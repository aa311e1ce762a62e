import { Hono } from 'hono';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { seenByKey } from '../other-workspace.ts';
import { type PagedList, pageOf } from '../pagination.ts';
import { pageRequestOf } from '../request-checks.ts';
import type { Stored } from '../stored-records.ts';

const apiKeys: PagedList<Stored<'api-keys'>> = { name: 'api-keys', key: ({ id }) => id, order: 'ascending' };

const knowledgeBases: PagedList<Stored<'knowledge-bases'>> = {
  name: 'knowledge-bases',
  key: ({ id }) => id,
  order: 'ascending',
};

/** The collections that the API only lists. */
export function plainListRoutes(emulated: Emulated): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>()
    .get('/api-keys', (c) => {
      const { world, behaviour } = emulated;
      const { data, meta } = pageOf(world.records['api-keys'].values(), apiKeys, {
        request: pageRequestOf(c),
        behaviour,
      });
      return c.json({
        data: data.map(({ id, name, ...times }) => ({ id, name, token: null, ...times })),
        meta,
      });
    })
    .get('/knowledge-bases', (c) => {
      const { world, behaviour } = emulated;
      const seen = seenByKey(world.knowledgeBases.values(), emulated);
      return c.json(pageOf(seen, knowledgeBases, { request: pageRequestOf(c), behaviour }));
    });
}
