import type { Hono } from 'hono';
import { type UserRequest, userRequest } from '../../platform/records/user-records.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { ordered } from '../normalising.ts';
import { pagedById, pageOf, withNameless } from '../pagination.ts';
import { found, invalid } from '../refusal.ts';
import { pageRequestOf, requireWorkspace, writtenBody } from '../request-checks.ts';
import type { StoredUser } from '../stored-records.ts';

const listing = pagedById('users');

export function userRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  api.get('/workspaces/:workspace/users', (c) => {
    requireWorkspace(emulated, c.req.param('workspace'));
    const { behaviour } = emulated;
    const isPaged = behaviour.users === 'paged';
    if (behaviour.users === 'refusesQuery' && Object.keys(c.req.query()).length > 0) {
      throw invalid([{ field: 'per_page', message: 'The list of users takes no parameters' }]);
    }
    const users = [...withNameless(world.users.values(), 'email', emulated)];
    const page = pageOf(users, listing, {
      request: isPaged ? pageRequestOf(c) : { per_page: Math.max(1, users.length) },
      behaviour: isPaged ? behaviour : { ...behaviour, pages: { most: null, overlap: 0 } },
    });
    if (behaviour.users === 'unmarked') return c.json({ data: page.data });
    if (behaviour.users !== 'ignoresCursor') return c.json(page);
    return c.json({ ...page, meta: { ...page.meta, next_cursor: 'ignored' } });
  });
  api.put('/workspaces/:workspace/users/:id', (c) => {
    requireWorkspace(emulated, c.req.param('workspace'));
    const { behaviour } = emulated;
    const user = found(world.users.get(c.req.param('id')), 'User');
    const body = writtenBody(c, userRequest(), behaviour);
    requireAgents(emulated, body);
    world.beginWrite();
    const base = behaviour.put === 'merge' ? user : { modules: [], agent_ids: [] };
    const updated: StoredUser = {
      ...user,
      role: body.role,
      is_owner: body.role === 'owner',
      modules: ordered(body.modules ?? base.modules, behaviour.normalise),
      agent_ids: ordered(body.agent_ids ?? base.agent_ids, behaviour.normalise),
    };
    world.users.set(user.id, updated);
    return c.json({ data: updated });
  });
}

function requireAgents({ world }: Emulated, { agent_ids: ids = [] }: UserRequest): void {
  const problems = ids.flatMap((id, index) =>
    world.agents.has(id)
      ? []
      : [{ field: `agent_ids.${index}`, message: `The selected agent_ids.${index} is invalid` }],
  );
  if (problems.length > 0) throw invalid(problems);
}
