import { Hono } from 'hono';
import { type Listing, pageOf } from '../pagination.ts';
import { pageRequestOf } from '../request-checks.ts';
import type { EmulatorEnv, Service } from '../service.ts';
import type { Stored } from '../stored-records.ts';

const listing: Listing<Stored<'knowledge-bases'>> = {
  name: 'knowledge-bases',
  key: ({ id }) => id,
  order: 'ascending',
};

export function knowledgeBaseRoutes(service: Service): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>().get('/knowledge-bases', (c) =>
    c.json(
      pageOf(service.world.knowledgeBases.values(), listing, {
        request: pageRequestOf(c),
        spelling: service.behaviour.previousCursorSpelling,
      }),
    ),
  );
}
