import { Hono } from 'hono';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import type { PagedList } from '../pagination.ts';
import { pageOf } from '../pagination.ts';
import { notFound } from '../refusal.ts';
import { pageRequestOf } from '../request-checks.ts';
import type { StoredVersion } from '../stored-records.ts';
import { showVersion, showVersionSummary } from '../views.ts';
import { agentNamed } from './agents.ts';

const listing: PagedList<StoredVersion> = {
  name: 'versions',
  key: ({ version }) => version,
  order: 'descending',
};

export function versionRoutes(emulated: Emulated): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>()
    .get('/agents/:id/versions', (c) => {
      const { versions } = agentNamed(emulated, c.req.param('id'));
      const { data, meta } = pageOf(versions, listing, {
        request: pageRequestOf(c),
        behaviour: emulated.behaviour,
      });
      return c.json({ data: data.map(showVersionSummary), meta });
    })
    .get('/agents/:id/versions/:version', (c) => {
      const agent = agentNamed(emulated, c.req.param('id'));
      const wanted = c.req.param('version');
      const version =
        wanted === 'latest'
          ? agent.versions.at(-1)
          : agent.versions.find((candidate) => String(candidate.version) === wanted);
      if (version === undefined) throw notFound('Agent version');
      return c.json({ data: showVersion(emulated, agent, version) });
    });
}
