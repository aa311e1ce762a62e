import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Bench } from '../bench.ts';
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
        await using bench = await Bench.start(behaviour);
        bench.secrets = SECRETS;
        prepare(bench, before);
        for (const manifests of [before.manifests, after]) {
          bench.requests();
          const plain = JSON.stringify(await bench.plan(manifests));
          const requests = asked(bench);
          expect(JSON.stringify(await bench.planAhead(manifests, turns))).toBe(plain);
          expect(asked(bench)).toEqual(requests);
          await bench.apply(manifests);
        }
      },
    ),
    { numRuns: 8 },
  );
});
