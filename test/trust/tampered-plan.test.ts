import { describe, expect, it } from 'vitest';
import { withDigest } from '../../src/engine/plan/plan-digest.ts';
import type { PlanDocument, PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { SecretWorkspace } from './secret-workspace.ts';

type Change = (resource: PlannedResource) => object;

describe('a saved plan whose digest was worked out anew', () => {
  it.each<{ reason: string; change: Change; said: string }>([
    {
      reason: 'a secret that the plan did not look at',
      change: ({ desired }) => ({ desired: { ...desired, name: { $secret: 'API_KEY' } } }),
      said: 'the secret "API_KEY" without its fingerprint in Agent/a',
    },
    {
      reason: 'a variable',
      change: ({ desired }) => ({ desired: { ...desired, name: { $env: 'HOME' } } }),
      said: 'an unresolved variable in Agent/a',
    },
    {
      reason: 'a field that there is not',
      change: ({ desired }) => ({ desired: { ...desired, nmae: 'x' } }),
      said: 'unknown field "nmae"',
    },
    {
      reason: 'a value over its limit',
      change: ({ desired }) => ({ desired: { ...desired, name: 'x'.repeat(256) } }),
      said: 'name must be a string of at most 255 characters',
    },
    { reason: 'another kind', change: () => ({ kind: 'Webhook' }), said: 'the address "Agent/a"' },
    { reason: 'a kind that there is not', change: () => ({ kind: 'Robot' }), said: 'unknown kind Robot' },
    { reason: 'no name', change: () => ({ address: 'Agent/' }), said: 'the address "Agent/"' },
    {
      reason: 'one resource twice',
      change: () => ({ address: 'Webhook/hook', kind: 'Webhook' }),
      said: 'Webhook/hook twice',
    },
  ])('is refused before anything is asked or written: $reason', async ({ change, said }) => {
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
