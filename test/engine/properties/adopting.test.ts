import fc from 'fast-check';
import { expect, it } from 'vitest';
import { actionsOf, Bench, type Manifest, manifest } from '../bench.ts';
import { unlike } from './platform-truth.ts';
import { agentSpecs, behaviours, withoutKey, workspaces } from './workspaces.ts';

const specs = agentSpecs.map((spec) => {
  const { llm_config, ...rest } = withoutKey(spec);
  const { knowledge_base_ids: _, ...llm } = (llm_config ?? {}) as Record<string, never>;
  return llm_config === undefined ? rest : { ...rest, llm_config: llm };
});

it('apply imports and updates an existing agent with any fields and any returned fields', async () => {
  await fc.assert(
    fc.asyncProperty(specs, specs, behaviours, fc.boolean(), async (theirs, ours, behaviour, isPublished) => {
      await using bench = await Bench.start(behaviour);
      await bench.apply([manifest('Agent/maker', theirs)]);
      await bench.record({ type: 'forgotten', address: 'Agent/maker' });
      const [id = ''] = bench.emulator.world.agents.keys();
      if (isPublished) bench.emulator.dashboard.publishAgent(id);

      const adopted = manifest('Agent/a', ours, { id });
      const { results } = await bench.apply([adopted]);
      // A platform that trims keeps the old value of a string that only differs in surrounding spaces.
      const ignored = behaviour.normalise?.trim ? { notApplied: expect.any(Array) } : {};
      const done = { status: 'done', id };
      expect([[['Agent/a', done]], [['Agent/a', { ...done, ...ignored }]]]).toContainEqual([...results]);
      bench.requests();
      expect(actionsOf(await bench.plan([adopted]))).toEqual({ 'Agent/a': 'noop' });
      expect((await bench.apply([adopted])).results.size).toBe(0);
      expect(bench.writes).toEqual([]);
      expect(unlike(adopted, bench, await bench.state())).toEqual([]);
      expect(bench.emulator.world.agents.size).toBe(1);
    }),
    { numRuns: 18 },
  );
});

it('apply imports the numbers and users of a workspace whose state was lost', async () => {
  await fc.assert(
    fc.asyncProperty(workspaces, behaviours, async ({ manifests }, behaviour) => {
      const found = manifests.filter(({ address }) => /^(PhoneNumber|WorkspaceUser)/.test(address));
      const loose = found.map((each): Manifest => {
        const { inbound_agent_id, outbound_agent_id, agent_ids, ...spec } = each.spec;
        return { ...each, spec: spec.email === undefined ? spec : { ...spec, role: 'member' } };
      });
      await using bench = await Bench.start(behaviour);
      for (const { spec } of loose) {
        if (spec.email !== undefined) bench.emulator.dashboard.inviteUser({ email: String(spec.email).toLowerCase() });
      }
      await bench.apply(loose);
      const before = (await bench.state()).resources;
      for (const { address } of loose) await bench.record({ type: 'forgotten', address });
      bench.requests();
      const plan = await bench.plan(loose);
      expect(new Set(Object.values(actionsOf(plan)))).toEqual(new Set(loose.length > 0 ? ['adopt'] : []));
      await bench.apply(loose);
      expect(bench.writes).toEqual([]);
      const after = (await bench.state()).resources;
      const ids = (resources: typeof before) =>
        Object.fromEntries([...resources].map(([address, { id }]) => [address, id]));
      expect(ids(after)).toEqual(ids(before));
      expect(new Set(Object.values(actionsOf(await bench.plan(loose))))).toEqual(
        new Set(loose.length > 0 ? ['noop'] : []),
      );
    }),
    { numRuns: 12 },
  );
});
