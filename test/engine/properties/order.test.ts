import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RequestHook } from '../../../src/emulator/request-pipeline.ts';
import { showNumber } from '../../../src/emulator/views.ts';
import { Bench } from '../bench.ts';
import { behaviours, editedWorkspaces, prepare, SECRETS } from './workspaces.ts';

const LISTS = { '/numbers': 'numbers', '/knowledge-bases': 'knowledgeBases', '/users': 'users' } as const;

it('makes the same plan whatever the order of manifests, of answers and of lists', async () => {
  await fc.assert(
    fc.asyncProperty(
      editedWorkspaces,
      behaviours,
      fc.infiniteStream(fc.nat({ max: 4 })),
      async ({ before, after }, behaviour, delays) => {
        let hook: RequestHook = () => undefined;
        await using bench = await Bench.start(behaviour, { onRequest: (request) => hook(request) });
        bench.secrets = SECRETS;
        prepare(bench, before);
        const { world } = bench.emulator;
        const mixed: RequestHook = ({ path }) => {
          const list = Object.entries(LISTS).find(([part]) => path.includes(part))?.[1];
          if (list === undefined) return { delayMs: delays.next().value ?? 0 };
          const data =
            list === 'numbers'
              ? [...world.numbers.values()].map((number) => showNumber(number, bench.emulator.behaviour))
              : [...world[list].values()];
          const body = { data: JSON.parse(JSON.stringify(data.reverse())), meta: { next_cursor: null } };
          return { status: 200, body };
        };
        for (const manifests of [before.manifests, after]) {
          hook = () => undefined;
          const plan = JSON.stringify(await bench.plan(manifests));
          hook = mixed;
          expect(JSON.stringify(await bench.plan(manifests.toReversed()))).toBe(plan);
          hook = () => undefined;
          await bench.apply(manifests);
        }
      },
    ),
    { numRuns: 15 },
  );
});
