import type { Hono } from 'hono';
import { agentRequest } from '../../platform/records/agent-records.ts';
import { createAgent, updateAgent, withFieldsOf } from '../agent-lifecycle.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import type { PagedList } from '../pagination.ts';
import { found, notFound } from '../refusal.ts';
import { pageIn, writtenBody } from '../request-checks.ts';
import type { StoredVersion } from '../stored-records.ts';
import { showAgent, showVersion, showVersionSummary } from '../views.ts';

const versionList: PagedList<StoredVersion> = {
  name: 'versions',
  key: ({ version }) => version,
  order: 'descending',
};

export function agentRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  const agentNamed = (id: string) => found(world.agents.get(id), 'Agent');
  api.post('/agents', (c) => {
    const { behaviour } = emulated;
    const agent = createAgent(world, writtenBody(c, agentRequest(), behaviour), behaviour);
    world.showLater(agent.id, behaviour.showsNewAfterReads);
    return c.json({ data: showAgent(emulated, agent) }, behaviour.agentCreateStatus);
  });
  api.get('/agents/:id', (c) => {
    const agent = agentNamed(c.req.param('id'));
    if (world.isHidden(agent.id)) throw notFound('Agent');
    return c.json({ data: showAgent(emulated, agent, emulated.behaviour.shows.read) });
  });
  api.put('/agents/:id', (c) => {
    const { behaviour } = emulated;
    const agent = agentNamed(c.req.param('id'));
    const body = writtenBody(c, agentRequest(), behaviour);
    const { fields, answer } = behaviour.ignoredByPut;
    const updated = updateAgent(world, agent, { body, rules: behaviour });
    const kept = withFieldsOf(updated, agent, fields);
    world.agents.set(kept.id, kept);
    const shown = answer === 'sent' ? updated : kept;
    return c.json({ data: showAgent(emulated, shown, behaviour.shows.update) });
  });
  api.get('/agents/:id/versions', (c) => {
    const { versions } = agentNamed(c.req.param('id'));
    const { data, meta } = pageIn(c, versionList, { items: versions, emulated });
    return c.json({ data: data.map((each) => showVersionSummary(each, emulated.behaviour)), meta });
  });
  api.get('/agents/:id/versions/:version', (c) => {
    const agent = agentNamed(c.req.param('id'));
    const wanted = c.req.param('version');
    const version =
      wanted === 'latest'
        ? agent.versions.at(-1)
        : agent.versions.find((candidate) => String(candidate.version) === wanted);
    if (wanted === 'latest' && version === undefined && emulated.behaviour.noLatestVersion === 'null')
      return c.json({ data: null });
    return c.json({ data: showVersion(emulated, agent, found(version, 'Agent version')) });
  });
}
