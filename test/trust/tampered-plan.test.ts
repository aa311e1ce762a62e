import { describe, expect, it } from 'vitest';
import { withDigest } from '../../src/engine/plan/plan-digest.ts';
import type { PlanDocument, PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { SecretWorkspace } from './secret-workspace.ts';

type Change = (resource: PlannedResource) => object;

describe('saved plan with a recomputed digest', () => {
  it.each<{ reason: string; change: Change; said: string }>([
    {
      reason: 'a secret that the plan did not read',
      change: ({ desired }) => ({ desired: { ...desired, name: { $secret: 'API_KEY' } } }),
      said: 'the secret "API_KEY" without its fingerprint in Agent/a',
    },
    {
      reason: 'a variable',
      change: ({ desired }) => ({ desired: { ...desired, name: { $env: 'HOME' } } }),
      said: 'an unresolved variable in Agent/a',
    },
    {
      reason: 'an unknown field',
      change: ({ desired }) => ({ desired: { ...desired, nmae: 'x' } }),
      said: 'unknown field "nmae"',
    },
    {
      reason: 'a value above its limit',
      change: ({ desired }) => ({ desired: { ...desired, name: 'x'.repeat(256) } }),
      said: 'name must be a string of at most 255 characters',
    },
    { reason: 'another kind', change: () => ({ kind: 'Webhook' }), said: 'the address "Agent/a"' },
    { reason: 'an unknown kind', change: () => ({ kind: 'Robot' }), said: 'unknown kind Robot' },
    { reason: 'no name', change: () => ({ address: 'Agent/' }), said: 'the address "Agent/"' },
    {
      reason: 'a duplicate resource',
      change: () => ({ address: 'Webhook/hook', kind: 'Webhook' }),
      said: 'Webhook/hook twice',
    },
  ])('is refused before any request or write: $reason', async ({ change, said }) => {
    await using workspace = await SecretWorkspace.open({ few: true });
    expect((await workspace.run(['plan', '--out', 'a.plan'])).code).toBe(0);
    const plan = JSON.parse(workspace.written().get('a.plan') ?? '') as PlanDocument;
    const resources = plan.resources.map((each, index) =>
      index === 0 ? { ...each, ...(said.endsWith('twice') && { desired: undefined }), ...change(each) } : each,
    );
    workspace.write({ 'a.plan': JSON.stringify(withDigest({ ...plan, resources })) });
    const { code, stderr } = await workspace.run(['apply', 'a.plan', '--auto-approve']);
    expect(code).toBe(1);
    expect(stderr.replace(/\s+/g, ' ')).toContain(said);
    expect(workspace.platform.emulator.requests).toEqual([]);
  });
});
