import fc from 'fast-check';
import { expect, it } from 'vitest';
import { actionsOf, Bench } from '../bench.ts';
import { unlike } from './platform-truth.ts';
import { behaviours, editedWorkspaces, prepare, restOf, SECRETS } from './workspaces.ts';

/** How the edits are carried out. */
const ways = fc.record({ refresh: fc.boolean(), saved: fc.boolean() });

it('brings edits of manifests to the platform whole, shown or not, merged or replaced', async () => {
  await fc.assert(
    fc.asyncProperty(editedWorkspaces, behaviours, ways, async ({ before, after }, behaviour, way) => {
      await using bench = await Bench.start(behaviour);
      bench.secrets = SECRETS;
      prepare(bench, before);
      await bench.apply(before.manifests);

      bench.secrets = { PROVIDER_KEY: 'sk-provider-0002' };
      const report = way.saved
        ? await bench.applySaved(await bench.plan(after, { refresh: way.refresh }))
        : await bench.apply(after, { refresh: way.refresh });
      expect([...report.results].filter(([, { status }]) => status !== 'done')).toEqual([]);
      bench.requests();

      const facts = { bench, workspace: { ...before, manifests: after }, state: await bench.state() };
      const left = Object.fromEntries(after.map((each) => [each.address, restOf(each, facts)]));
      const plan = await bench.plan(after);
      expect(actionsOf(plan)).toEqual(left);
      const settled = after.filter(({ address }) => left[address] === 'noop');
      expect(settled.filter((each) => unlike(each, bench, facts.state)?.length !== 0)).toEqual([]);
      expect((await bench.apply(after)).results.size).toBe(0);
      expect(bench.writes).toEqual([]);
      expect(JSON.stringify([report, plan, await bench.store.read()])).not.toContain('sk-provider');
    }),
    { numRuns: 20 },
  );
});
