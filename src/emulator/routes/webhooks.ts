import type { Hono } from 'hono';
import { webhookRequest } from '../../platform/records/webhook-records.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { offsetTime } from '../ids-and-clock.ts';
import { found, notFound } from '../refusal.ts';
import { writtenBody } from '../request-checks.ts';
import type { Stored } from '../stored-records.ts';
import { showWebhook } from '../views.ts';

export function webhookRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  api.post('/webhooks', (c) => {
    const { behaviour } = emulated;
    const body = writtenBody(c, webhookRequest(), behaviour);
    const webhook: Stored<'webhooks'> = {
      ...world.newRecord(offsetTime),
      url: body.url,
      payload: body.payload ?? null,
      check_https: body.check_https ?? true,
      logging_enabled: body.logging_enabled ?? false,
      retries: body.retries ?? 3,
      timeout: body.timeout ?? 30,
    };
    world.webhooks.set(webhook.id, webhook);
    world.showLater(webhook.id, behaviour.showsNewAfterReads);
    return c.json({ data: showWebhook(webhook, behaviour) }, 201);
  });
  api.get('/webhooks/:id', (c) => {
    const webhook = found(world.webhooks.get(c.req.param('id')), 'Webhook');
    if (world.isHidden(webhook.id)) throw notFound('Webhook');
    return c.json({ data: showWebhook(webhook, emulated.behaviour) });
  });
}
