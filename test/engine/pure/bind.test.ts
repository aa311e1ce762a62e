import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bindResources } from '../../../src/engine/decide/bind.ts';
import type { Resource } from '../../../src/manifests/resource.ts';
import type { State } from '../../../src/state/state.ts';
import { agent } from '../resources.ts';
import { entryOf, stateOf } from './facts.ts';

const pending = { since: '2030-01-01T00:00:00Z', recorded: {} };

/** Returns the previous address and the id to read for each address. */
function bound(resources: readonly Resource[], state: State): Record<string, string> {
  const declared = new Set(resources.map(({ address }) => address));
  const bindings = bindResources(resources, state, declared);
  return Object.fromEntries(
    [...bindings].map(([address, { previousAddress, entry, pending: open, id }]) => [
      address,
      [previousAddress, entry && 'known', open && 'open', id].filter(Boolean).join(' '),
    ]),
  );
}

describe('binding resources to state entries', () => {
  const state = stateOf(
    { 'Agent/a': entryOf({}, { id: 'A1' }), 'Agent/old': entryOf({}, { id: 'A2' }) },
    { pending: new Map([['Agent/lost', pending]]) },
  );

  it.each([
    { reason: 'by the address', resources: [agent('a')], found: { 'Agent/a': 'known A1' } },
    { reason: 'to nothing', resources: [agent('n')], found: { 'Agent/n': '' } },
    {
      reason: 'by an earlier name',
      resources: [agent('n', {}, { previousNames: ['older', 'old'] })],
      found: { 'Agent/n': 'Agent/old known A2' },
    },
    {
      reason: 'by its own address before an earlier one',
      resources: [agent('a', {}, { previousNames: ['old'] })],
      found: { 'Agent/a': 'known A1' },
    },
    {
      reason: 'by metadata.id, if no manifest has the record',
      resources: [agent('n', {}, { id: 'A2' })],
      found: { 'Agent/n': 'Agent/old known A2' },
    },
    {
      reason: 'not by metadata.id, if another manifest has the record',
      resources: [agent('n', {}, { id: 'A1' }), agent('a')],
      found: { 'Agent/n': 'A1', 'Agent/a': 'known A1' },
    },
    {
      reason: 'by the recorded id before metadata.id',
      resources: [agent('a', {}, { id: 'A9' })],
      found: { 'Agent/a': 'known A1' },
    },
    {
      reason: 'to an unknown create under an earlier name',
      resources: [agent('n', {}, { previousNames: ['lost'] })],
      found: { 'Agent/n': 'Agent/lost open' },
    },
    {
      reason: 'to one entry each, to which a second claim is ignored',
      resources: [agent('y', {}, { id: 'A2' }), agent('x', {}, { previousNames: ['old'] })],
      found: { 'Agent/x': 'Agent/old known A2', 'Agent/y': 'A2' },
    },
  ])('binds $reason', ({ resources, found }) => {
    expect(bound(resources, state)).toEqual(found);
  });

  it('binds each entry once with any claims in any order', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const claims = fc.uniqueArray(
      fc.record({ name, previous: fc.array(name, { maxLength: 2 }), id: fc.option(fc.constantFrom('A1', 'A2')) }),
      { selector: (claim) => claim.name },
    );
    fc.assert(
      fc.property(claims, fc.uniqueArray(name, { maxLength: 3 }), (all, known) => {
        const resources = all.map((claim) =>
          agent(claim.name, {}, { previousNames: claim.previous, id: claim.id ?? undefined }),
        );
        const entries = known.map((each, index) => [`Agent/${each}`, entryOf({}, { id: `A${index}` })]);
        const past = stateOf(Object.fromEntries(entries));
        const declared = new Set(resources.map(({ address }) => address));
        const once = bindResources(resources, past, declared);
        const used = [...once.values()].flatMap(({ entry }) => (entry === undefined ? [] : [entry.id]));
        expect(new Set(used).size).toBe(used.length);
        const again = bindResources(resources.toReversed(), past, declared);
        expect(Object.fromEntries(again)).toEqual(Object.fromEntries(once));
      }),
    );
  });
});
