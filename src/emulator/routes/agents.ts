import { Hono } from 'hono';
import { agentRequest } from '../../platform/records.ts';
import { createAgent, updateAgent, withFieldsOf } from '../agents.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { trimmed } from '../normalising.ts';
import { notFound } from '../refusal.ts';
import { bodyOf, checked } from '../request-checks.ts';
import type { StoredAgent } from '../stored-records.ts';
import { showAgent } from '../views.ts';

export function agentRoutes(emulated: Emulated): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>()
    .post('/agents', (c) => {
      const { world, behaviour } = emulated;
      const body = checked(agentRequest, trimmed(bodyOf(c), behaviour.normalise));
      const agent = createAgent(world, body, behaviour);
      world.showLater(agent.id, behaviour.showsNewAfterReads);
      return c.json({ data: showAgent(emulated, agent) }, behaviour.agentCreateStatus);
    })
    .get('/agents/:id', (c) => {
      const agent = agentNamed(emulated, c.req.param('id'));
      if (emulated.world.isHidden(agent.id)) throw notFound('Agent');
      return c.json({ data: showAgent(emulated, agent, emulated.behaviour.shows.read) });
    })
    .put('/agents/:id', (c) => {
      const { world, behaviour } = emulated;
      const agent = agentNamed(emulated, c.req.param('id'));
      const body = checked(agentRequest, trimmed(bodyOf(c), behaviour.normalise));
      const { fields, answer } = behaviour.ignoredByPut;
      const updated = updateAgent(world, agent, { body, rules: behaviour });
      const kept = withFieldsOf(updated, agent, fields);
      world.agents.set(kept.id, kept);
      return c.json({
        data: showAgent(emulated, answer === 'sent' ? updated : kept, behaviour.shows.update),
      });
    });
}

/** The agent of that id. Throws a 404. */
export function agentNamed({ world }: Emulated, id: string): StoredAgent {
  const agent = world.agents.get(id);
  if (agent === undefined) throw notFound('Agent');
  return agent;
}
