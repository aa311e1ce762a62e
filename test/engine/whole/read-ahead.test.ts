import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Bench, testBench } from './bench.ts';
import { behaviours, editedWorkspaces, prepare, SECRETS } from './workspaces.ts';

/** Requests as a set: they are sent side by side, so that their order says nothing. */
function asked(bench: Bench): readonly string[] {
  return bench
    .requests()
    .map(({ method, path }) => `${method} ${path}`)
    .sort();
}

it('makes the same plan of the same requests, whether or not reading was begun before', async () => {
  await fc.assert(
    fc.asyncProperty(
      editedWorkspaces,
      behaviours,
      fc.infiniteStream(fc.nat({ max: 6 })),
      async ({ before, after }, behaviour, turns) => {
        await using bench = await testBench({ manifests: before.manifests, behaviour, secrets: SECRETS });
        prepare(bench, before);
        for (const manifests of [before.manifests, after]) {
          bench.manifests = manifests;
          bench.requests();
          const plain = JSON.stringify(await bench.plan());
          const requests = asked(bench);
          expect(JSON.stringify(await bench.planAhead(turns))).toBe(plain);
          expect(asked(bench)).toEqual(requests);
          await bench.apply();
        }
      },
    ),
    { numRuns: 8 },
  );
});
