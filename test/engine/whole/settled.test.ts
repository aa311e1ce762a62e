import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { actionsOf, testBench, writesIn } from './bench.ts';
import { behaviours, prepare, restOf, SECRETS, workspaces } from './workspaces.ts';

describe('whichever way the platform behaves', () => {
  it('leaves nothing to do after an apply but what only the dashboard can', async () => {
    await fc.assert(
      fc.asyncProperty(workspaces, behaviours, async (workspace, behaviour) => {
        const { manifests } = workspace;
        await using bench = await testBench({ manifests, behaviour, secrets: SECRETS });
        prepare(bench, workspace);
        await bench.plan();
        expect(writesIn(bench.requests())).toEqual([]);
        const report = await bench.apply();
        expect([...report.results].filter(([, { status }]) => status !== 'done')).toEqual([]);
        bench.requests();

        const state = await bench.state();
        const facts = { bench, workspace, state };
        const left = Object.fromEntries(manifests.map((each) => [each.address, restOf(each, facts)]));
        expect(actionsOf(await bench.plan())).toEqual(left);
        expect((await bench.drift()).resources.filter(({ action }) => action !== 'noop')).toEqual([]);
        expect((await bench.apply()).results.size).toBe(0);
        expect(actionsOf(await bench.plan({ refresh: false }))).toEqual(left);
        expect(actionsOf(await bench.plan())).toEqual(left);
        expect(writesIn(bench.requests())).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });
});
