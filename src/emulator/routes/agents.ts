import { Hono } from 'hono';
import { agentRequest } from '../../platform/records.ts';
import { createAgent, updateAgent } from '../agents.ts';
import { trimmed } from '../normalising.ts';
import { notFound } from '../refusal.ts';
import { bodyOf, checked } from '../request-checks.ts';
import type { EmulatorEnv, Service } from '../service.ts';
import type { StoredAgent } from '../stored-records.ts';
import { showAgent } from '../views.ts';

export function agentRoutes(service: Service): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>()
    .post('/agents', (c) => {
      const { world, behaviour } = service;
      const body = checked(agentRequest, trimmed(bodyOf(c), behaviour.normalise));
      const agent = createAgent(world, body, behaviour);
      return c.json({ data: showAgent(service, agent) }, behaviour.agentCreateStatus);
    })
    .get('/agents/:id', (c) => {
      const agent = agentNamed(service, c.req.param('id'));
      return c.json({ data: showAgent(service, agent, service.behaviour.shows.read) });
    })
    .put('/agents/:id', (c) => {
      const { world, behaviour } = service;
      const agent = agentNamed(service, c.req.param('id'));
      const body = checked(agentRequest, trimmed(bodyOf(c), behaviour.normalise));
      const updated = updateAgent(world, agent, { body, rules: behaviour });
      return c.json({ data: showAgent(service, updated, behaviour.shows.update) });
    });
}

/** The agent of that id. Throws a 404. */
export function agentNamed({ world }: Service, id: string): StoredAgent {
  const agent = world.agents.get(id);
  if (agent === undefined) throw notFound('Agent');
  return agent;
}
