import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withNameless } from '../../../src/emulator/pagination.ts';
import type { RequestHook } from '../../../src/emulator/request-pipeline.ts';
import { showNumber } from '../../../src/emulator/views.ts';
import { actionsOf, type Bench } from '../bench.ts';
import { unlike } from './platform-truth.ts';
import { behaviours, editedWorkspaces, restOf, started, workspaces } from './workspaces.ts';

it('after an apply, a plan contains only manual steps with any behaviour of the platform', async () => {
  await fc.assert(
    fc.asyncProperty(workspaces, behaviours, async (workspace, behaviour) => {
      const { manifests } = workspace;
      await using bench = await started(workspace, behaviour);
      await bench.plan(manifests);
      expect(bench.writes).toEqual([]);
      const report = await bench.apply(manifests);
      expect([...report.results].filter(([, { status }]) => status !== 'done')).toEqual([]);
      bench.requests();

      const state = await bench.state();
      const facts = { bench, workspace, state };
      const expected = Object.fromEntries(manifests.map((each) => [each.address, restOf(each, facts)]));
      expect(actionsOf(await bench.plan(manifests))).toEqual(expected);
      expect((await bench.drift(manifests)).resources.filter(({ action }) => action !== 'noop')).toEqual([]);
      expect((await bench.apply(manifests)).results.size).toBe(0);
      expect(actionsOf(await bench.plan(manifests, { refresh: false }))).toEqual(expected);
      expect(actionsOf(await bench.plan(manifests))).toEqual(expected);
      for (const id of bench.emulator.world.agents.keys()) bench.emulator.dashboard.publishAgent(id);
      const published = await bench.plan(manifests, { publications: 'changes' });
      expect(actionsOf(published)).toEqual(expected);
      const notices = published.resources.flatMap((each) => each.notices ?? []);
      expect(behaviour.updatedAfterPublishing === 90 ? [] : notices).toEqual([]);
      expect(bench.writes).toEqual([]);
    }),
    { numRuns: 20 },
  );
});

/** The ways to apply the edits. */
const ways = fc.record({ refresh: fc.boolean(), saved: fc.boolean() });

it('an apply completes all edits with any behaviour of the platform', async () => {
  await fc.assert(
    fc.asyncProperty(editedWorkspaces, behaviours, ways, async ({ before, after }, behaviour, way) => {
      await using bench = await started(before, behaviour);
      await bench.apply(before.manifests);

      bench.secrets = { PROVIDER_KEY: 'sk-provider-0002' };
      const report = way.saved
        ? await bench.applySaved(await bench.plan(after, { refresh: way.refresh }))
        : await bench.apply(after, { refresh: way.refresh });
      expect([...report.results].filter(([, { status }]) => status !== 'done')).toEqual([]);
      bench.requests();

      const facts = { bench, workspace: { ...before, manifests: after }, state: await bench.state() };
      const expected = Object.fromEntries(after.map((each) => [each.address, restOf(each, facts)]));
      const plan = await bench.plan(after);
      expect(actionsOf(plan)).toEqual(expected);
      const settled = after.filter(({ address }) => expected[address] === 'noop');
      expect(settled.filter((each) => unlike(each, bench, facts.state)?.length !== 0)).toEqual([]);
      expect((await bench.apply(after)).results.size).toBe(0);
      expect(bench.writes).toEqual([]);
      expect(JSON.stringify([report, plan, await bench.store.read()])).not.toContain('sk-provider');
    }),
    { numRuns: 20 },
  );
});

const ignored = fc.record({
  fields: fc.subarray([
    'name',
    'llm_config.model',
    'llm_config.temperature',
    'tts_config.speed',
    'prompt_config.prompt',
  ]),
  answer: fc.constantFrom('kept' as const, 'sent' as const),
});

it('an apply resends a value that the platform ignores only a limited number of times', async () => {
  await fc.assert(
    fc.asyncProperty(editedWorkspaces, behaviours, ignored, async ({ before, after }, behaviour, ignoredByPut) => {
      await using bench = await started(before, behaviour);
      await bench.apply(before.manifests);
      bench.emulator.setBehaviour({ ignoredByPut });
      await bench.apply(after);
      // A value that a response contained and a read does not is repaired once.
      if (ignoredByPut.answer === 'sent') await bench.apply(after);
      bench.requests();
      expect((await bench.apply(after)).results.size).toBe(0);
      expect(bench.writes).toEqual([]);
    }),
    { numRuns: 15 },
  );
});

it('a plan does not depend on the order of manifests, responses and lists', async () => {
  await fc.assert(
    fc.asyncProperty(
      editedWorkspaces,
      behaviours,
      fc.infiniteStream(fc.nat({ max: 4 })),
      async ({ before, after }, behaviour, delays) => {
        let hook: RequestHook = () => undefined;
        await using bench = await started(before, behaviour, { onRequest: (request) => hook(request) });
        const { emulator } = bench;
        const { world } = emulator;
        const numbers = () => [...world.numbers.values()].map((number) => showNumber(number, emulator.behaviour));
        const lists = {
          '/numbers': () => withNameless(numbers(), 'number', emulator),
          '/knowledge-bases': () => withNameless(world.knowledgeBases.values(), 'name', emulator),
          '/users': () => withNameless(world.users.values(), 'email', emulator),
        };
        const mixed: RequestHook = ({ path }) => {
          const list = Object.entries(lists).find(([part]) => path.includes(part))?.[1];
          if (list === undefined) return { delayMs: delays.next().value ?? 0 };
          const data = JSON.parse(JSON.stringify([...list()].reverse()));
          return { status: 200, body: { data, meta: { next_cursor: null } } };
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

/** Returns the requests, sorted because they are sent concurrently. */
function sentRequests(bench: Bench): readonly string[] {
  return bench
    .requests()
    .map(({ method, path }) => `${method} ${path}`)
    .sort();
}

it('a plan with reading ahead has the same result and requests', async () => {
  await fc.assert(
    fc.asyncProperty(
      editedWorkspaces,
      behaviours,
      fc.infiniteStream(fc.nat({ max: 6 })),
      async ({ before, after }, behaviour, turns) => {
        await using bench = await started(before, behaviour);
        for (const manifests of [before.manifests, after]) {
          bench.requests();
          const plain = JSON.stringify(await bench.plan(manifests));
          const requests = sentRequests(bench);
          expect(JSON.stringify(await bench.planAhead(manifests, turns))).toBe(plain);
          expect(sentRequests(bench)).toEqual(requests);
          await bench.apply(manifests);
        }
      },
    ),
    { numRuns: 8 },
  );
});
