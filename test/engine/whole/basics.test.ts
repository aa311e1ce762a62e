import { describe, expect, it } from 'vitest';
import { actionsOf, manifest, testBench, writesIn } from './bench.ts';

describe('a whole run', () => {
  it('creates what is declared, each with one POST, and has nothing to do afterwards', async () => {
    await using bench = await testBench({
      manifests: [
        manifest('Agent/a', { name: 'A', tts_config: { speed: 'slow' } }),
        manifest('PhoneNumber/n', { number: '+4930123456', inbound_agent_id: { $ref: 'Agent/a' } }),
        manifest('Webhook/w', { url: 'https://example.com' }),
      ],
    });
    const report = await bench.apply();
    expect([...report.results.values()].map(({ status }) => status)).toEqual(['done', 'done', 'done']);
    expect(writesIn(bench.requests()).sort()).toEqual([
      'POST /api/v1/agents',
      'POST /api/v1/numbers',
      'POST /api/v1/webhooks',
    ]);
    expect(actionsOf(await bench.plan())).toEqual({
      'Agent/a': 'noop',
      'PhoneNumber/n': 'manual',
      'Webhook/w': 'noop',
    });
  });
});
