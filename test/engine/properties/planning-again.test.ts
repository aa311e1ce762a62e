import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DecideAhead } from '../../../src/engine/observe/decide-ahead.ts';
import type { ShownRecord } from '../../../src/kinds/kind.ts';
import type { Resource } from '../../../src/manifests/resource.ts';
import { attempt } from '../../../src/problems/attempt.ts';
import { createCachingParser } from '../../../src/state/document-text.ts';
import { createFingerprints } from '../../../src/state/fingerprint.ts';
import type { State } from '../../../src/state/state.ts';
import type { ResourceEntry } from '../../../src/state/state-document.ts';
import { Bench } from '../bench.ts';
import { agent, resource } from '../resources.ts';
import { agentSpecs, behaviours, withoutKey } from './workspaces.ts';

const changes = fc.array(
  fc.record({
    agent: fc.nat({ max: 2 }),
    how: fc.constantFrom('nothing', 'edit', 'delete', 'apply', 'recreate', 'retry'),
    name: fc.constantFrom('Hello', 'moved', 'moved again'),
  }),
  { minLength: 1, maxLength: 5 },
);

it('a repeated plan of the same manifests and state equals the first plan', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(agentSpecs.map(withoutKey), { minLength: 3, maxLength: 3 }),
      behaviours,
      changes,
      async (specs, behaviour, all) => {
        await using bench = await Bench.start(behaviour, { parse: createCachingParser() });
        const declared = specs.map((spec, index) => resource(`Agent/a-${index}`, { name: `a-${index}`, ...spec }));
        await bench.apply(declared);
        const same = async (options = {}) => {
          const first = await bench.plan(
            declared.map((each) => ({ ...each })),
            options,
          );
          expect(await bench.plan(declared, options)).toEqual(first);
        };
        await same();
        for (const { agent: at, how, name } of all) {
          const id = (await bench.state()).resources.get(`Agent/a-${at}`)?.id ?? '';
          // A deleted record cannot be edited.
          if (how === 'edit') attempt(() => bench.emulator.dashboard.edit('agents', id, { name }));
          if (how === 'delete') attempt(() => bench.emulator.dashboard.remove('agents', id));
          if (how === 'apply') await bench.apply(declared, { evenIfAll: true });
          await same({
            evenIfAll: true,
            allowRecreate: how === 'recreate' ? ['all'] : [],
            retryIgnored: how === 'retry',
          });
        }
      },
    ),
    { numRuns: 20 },
  );
});

it.each<{ reason: string; before: Partial<DecisionFacts>; after: Partial<DecisionFacts> }>([
  { reason: 'the state', before: { recorded: 'old' }, after: { recorded: 'new' } },
  { reason: 'the record', before: { shown: 'old' }, after: { shown: 'new' } },
  { reason: 'the options of the run', before: { retryIgnored: false }, after: { retryIgnored: true } },
])('DecideAhead decides again if $reason differs', ({ before, after }) => {
  const desired = agent('a', { name: 'new' });
  const fresh = decided({ ...desired }, after);
  expect(decided(desired, before)).not.toEqual(fresh);
  expect(decided(desired, after)).toEqual(fresh);
});

it('DecideAhead reuses the previous decision if nothing differs', () => {
  const desired = agent('a', { name: 'new' });
  expect(decided(desired, { entry: ENTRY })).toBe(decided(desired, { entry: ENTRY }));
});

interface DecisionFacts {
  readonly recorded: string;
  readonly shown: string;
  readonly retryIgnored: boolean;
  readonly entry: ResourceEntry;
}

const ENTRY = { id: '1', recorded: { name: 'old' }, observed: {}, unobserved: [], not_applied: ['name'] };

/** Returns the decision for a resource whose record has another name than the one sent. */
function decided(
  desired: Resource,
  { recorded = 'new', shown = 'old', retryIgnored = false, entry }: Partial<DecisionFacts>,
): unknown {
  const own = entry ?? { ...ENTRY, recorded: { name: recorded }, observed: { name: 'old' } };
  const state = { resources: new Map([[desired.address, own]]), salt: 'S1' } as unknown as State;
  const run = { state, retryIgnored, allowReplace: new Set<string>(), allowRecreate: new Set<string>() };
  const deciding = new DecideAhead({ ...run, fingerprints: createFingerprints('S1') });
  const binding = { resource: desired, entry: own, id: '1' };
  const past = { previousAddress: undefined, pending: undefined, released: undefined };
  const record = { id: '1', name: shown, workspace_id: 'W1' } as unknown as ShownRecord;
  deciding.add({ ...binding, ...past }, { status: 'shown', record, published: undefined });
  deciding.decide();
  return deciding.decisions.get(desired.address);
}
