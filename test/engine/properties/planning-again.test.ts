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

it('makes the plan of the same manifests and state that it would make for the first time', async () => {
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
          // A record that was deleted before can be edited no more.
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

it.each<{ reason: string; before: Partial<Made>; after: Partial<Made> }>([
  { reason: 'the state', before: { recorded: 'old' }, after: { recorded: 'new' } },
  { reason: 'the record', before: { shown: 'old' }, after: { shown: 'new' } },
  { reason: 'what the run may do', before: { retryIgnored: false }, after: { retryIgnored: true } },
])('decides anew where $reason differs', ({ before, after }) => {
  const desired = agent('a', { name: 'new' });
  const fresh = decided({ ...desired }, after);
  expect(decided(desired, before)).not.toEqual(fresh);
  expect(decided(desired, after)).toEqual(fresh);
});

it('takes the last decision where nothing differs', () => {
  const desired = agent('a', { name: 'new' });
  expect(decided(desired, { entry: ENTRY })).toBe(decided(desired, { entry: ENTRY }));
});

interface Made {
  readonly recorded: string;
  readonly shown: string;
  readonly retryIgnored: boolean;
  readonly entry: ResourceEntry;
}

const ENTRY = { id: '1', recorded: { name: 'old' }, observed: {}, unobserved: [], not_applied: ['name'] };

/** What is decided of a resource whose record shows another name than was sent. */
function decided(
  desired: Resource,
  { recorded = 'new', shown = 'old', retryIgnored = false, entry }: Partial<Made>,
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
