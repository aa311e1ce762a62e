import { describe, expect, it } from 'vitest';
import { failed, notifierTo, receiver } from './receiver.ts';

describe('webhooks', () => {
  it.each([
    [
      'Slack, a channel',
      '<!channel> <!here|x> <!subteam^S1> <@U1> <#C1>',
      '‹!channel> ‹!here|x> ‹!subteam^S1> ‹@\u200bU1> ‹#C1>',
    ],
    ['Slack, a link', '<https://evil.example|sign in>', '‹https://evil.example|sign in>'],
    ['Discord, everyone', '@everyone x@here', '@\u200beveryone x@\u200bhere'],
    ['Discord, roles and users', '<@&12> <@!34> <@56> <#78> <:e:9>', '‹@&12> ‹@!34> ‹@\u200b56> ‹#78> ‹:e:9>'],
    ['Mattermost', '@all (@channel) @ann', '@\u200ball (@\u200bchannel) @\u200bann'],
    ['Teams', '<at>Ann</at> [sign in](https://evil.example)', '‹at>Ann‹/at> [sign in]\u200b(https://evil.example)'],
    ['nobody', 'a@b.example 1 < 2 <= 3 a -> b @ noon [x] (y)', 'a@b.example 1 < 2 <= 3 a -> b @ noon [x] (y)'],
  ])('neutralize mentions in messages: %s', async (_, written, sent) => {
    using hook = await receiver(200);
    const { flush, tell } = notifierTo(hook.url);
    const templated = notifierTo(hook.url, {
      template: { content: 'Oh: {{error}}', only: '{{error}}', fixed: '@here' },
    });
    const error = new Error(written);
    tell({ ...failed, error });
    await flush();
    templated.tell({ ...failed, error });
    await templated.flush();
    const [plain, filled] = hook.bodies.map(({ text }) => JSON.parse(text) as Record<string, string>);
    expect(plain?.text).toBe(`voxform staging: failure\n${sent}`);
    expect(plain?.error).toBe(written);
    expect(filled).toEqual({ content: `Oh: ${sent}`, only: sent, fixed: '@here' });
  });

  it('redact a secret that looks like a mention', async () => {
    using hook = await receiver(200);
    const { flush, tell } = notifierTo(hook.url, { template: { a: '{{text}}' }, secret: '<@here>hunter' });
    tell({ ...failed, error: new Error('key <@here>hunter refused') });
    await flush();
    expect(hook.bodies[0]?.text).toBe('{"a":"voxform staging: failure\\nkey (secret) refused"}');
  });
});
