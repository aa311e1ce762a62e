import fc from 'fast-check';
import { expect, it } from 'vitest';
import { actionsOf, Bench } from '../bench.ts';
import { behaviours, prepare, restOf, SECRETS, workspaces } from './workspaces.ts';

it('leaves nothing to do after an apply but manual steps, whichever way the platform behaves', async () => {
  await fc.assert(
    fc.asyncProperty(workspaces, behaviours, async (workspace, behaviour) => {
      const { manifests } = workspace;
      await using bench = await Bench.start(behaviour);
      bench.secrets = SECRETS;
      prepare(bench, workspace);
      await bench.plan(manifests);
      expect(bench.writes).toEqual([]);
      const report = await bench.apply(manifests);
      expect([...report.results].filter(([, { status }]) => status !== 'done')).toEqual([]);
      bench.requests();

      const state = await bench.state();
      const facts = { bench, workspace, state };
      const left = Object.fromEntries(manifests.map((each) => [each.address, restOf(each, facts)]));
      expect(actionsOf(await bench.plan(manifests))).toEqual(left);
      expect((await bench.drift(manifests)).resources.filter(({ action }) => action !== 'noop')).toEqual([]);
      expect((await bench.apply(manifests)).results.size).toBe(0);
      expect(actionsOf(await bench.plan(manifests, { refresh: false }))).toEqual(left);
      expect(actionsOf(await bench.plan(manifests))).toEqual(left);
      for (const id of bench.emulator.world.agents.keys()) bench.emulator.dashboard.publishAgent(id);
      const published = await bench.plan(manifests, { publications: 'changes' });
      expect(actionsOf(published)).toEqual(left);
      const notices = published.resources.flatMap((each) => each.notices ?? []);
      expect(behaviour.updatedAfterPublishing === 90 ? [] : notices).toEqual([]);
      expect(bench.writes).toEqual([]);
    }),
    { numRuns: 20 },
  );
});
