import { Hono } from 'hono';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { type PagedList, pageOf } from '../pagination.ts';
import { pageRequestOf } from '../request-checks.ts';
import type { Stored } from '../stored-records.ts';
import { showApiKey } from '../views.ts';

const listing: PagedList<Stored<'api-keys'>> = { name: 'api-keys', key: ({ id }) => id, order: 'ascending' };

export function apiKeyRoutes(emulated: Emulated): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>().get('/api-keys', (c) => {
    const { data, meta } = pageOf(emulated.world.apiKeys.values(), listing, {
      request: pageRequestOf(c),
      behaviour: emulated.behaviour,
    });
    return c.json({ data: data.map(showApiKey), meta });
  });
}
