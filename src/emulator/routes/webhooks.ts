import { Hono } from 'hono';
import { webhookRequest } from '../../platform/records.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { offsetTime } from '../ids-and-clock.ts';
import { trimmed } from '../normalising.ts';
import { notFound } from '../refusal.ts';
import { bodyOf, checked } from '../request-checks.ts';
import type { Stored } from '../stored-records.ts';

export function webhookRoutes(emulated: Emulated): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>()
    .post('/webhooks', (c) => {
      const { world, behaviour } = emulated;
      const body = checked(webhookRequest, trimmed(bodyOf(c), behaviour.normalise));
      const now = offsetTime(world.beginWrite());
      const webhook: Stored<'webhooks'> = {
        id: world.newId(),
        url: body.url,
        payload: body.payload ?? null,
        check_https: body.check_https ?? true,
        logging_enabled: body.logging_enabled ?? false,
        retries: body.retries ?? 3,
        timeout: body.timeout ?? 30,
        workspace_id: world.workspaceId,
        created_at: now,
        updated_at: now,
      };
      world.webhooks.set(webhook.id, webhook);
      world.showLater(webhook.id, behaviour.showsNewAfterReads);
      return c.json({ data: webhook }, 201);
    })
    .get('/webhooks/:id', (c) => {
      const webhook = emulated.world.webhooks.get(c.req.param('id'));
      if (webhook === undefined || emulated.world.isHidden(webhook.id)) throw notFound('Webhook');
      return c.json({ data: webhook });
    });
}
