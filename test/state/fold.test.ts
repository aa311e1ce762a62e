import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyDocument, fold } from '../../src/state/fold.ts';
import type { JournalEntry, JournalEvent } from '../../src/state/journal-lines.ts';
import type { Orphan, PendingCreate, ResourceEntry, StateDocument } from '../../src/state/state-document.ts';

const at = '2030-01-01T00:00:00.000Z';
const address = 'Agent/a';
const empty = emptyDocument({ lineage: 'L', salt: 'S' }, 'W', '0');

const entry = (id: string, recorded: ResourceEntry['recorded'] = {}): ResourceEntry => ({
  id,
  recorded,
  observed: {},
  unobserved: [],
});
const pending = (since = at): PendingCreate => ({ since, recorded: { name: 'A' } });
const orphan = (id: string, reason: Orphan['reason'] = 'forgotten'): Orphan => ({
  kind: 'Agent',
  id,
  address,
  reason,
  since: at,
});

function entriesOf(events: readonly JournalEvent[]): JournalEntry[] {
  return events.map((event, index) => ({ lineage: 'L', serial: 0, sequence: index + 1, at, event }));
}

function documentAfter(...events: JournalEvent[]): StateDocument {
  return fold(empty, entriesOf(events)).toDocument({ serial: 0, voxform_version: '0', write: '' });
}

const saved = (id: string, rest: Partial<Extract<JournalEvent, { type: 'saved' }>> = {}): JournalEvent => ({
  type: 'saved',
  address,
  entry: entry(id),
  ...rest,
});

interface Case {
  readonly reason: string;
  readonly events: readonly JournalEvent[];
  readonly expected: Partial<StateDocument>;
}

const full: ResourceEntry = {
  id: '1',
  recorded: { name: 'n', 'tts.speed': 's', 'tts.speed_alpha': 1, 'tool.a.b': 2 },
  observed: { 'tts.speed': 'S' },
  unobserved: ['tts.speed', 'tts.speed_alpha'],
};
const whole: JournalEvent = { type: 'saved', address, entry: full };

const cases: readonly Case[] = [
  {
    reason: 'a record that is replaced without being reported missing remains listed',
    events: [saved('1'), saved('2')],
    expected: { resources: { [address]: entry('2') }, orphans: [orphan('1', 'gone')] },
  },
  {
    reason: 'a missing record that is imported again is not an orphan',
    events: [saved('1'), saved('2'), { ...saved('1'), address: 'Agent/b' } as JournalEvent],
    expected: { orphans: [] },
  },
  {
    reason: 'a create without an outcome is pending',
    events: [{ type: 'creating', address, pending: pending() }],
    expected: { pending: { [address]: pending() }, resources: {} },
  },
  {
    reason: 'an outcome without values uses those of its create',
    events: [
      { type: 'creating', address, pending: { ...pending(), recorded: full.recorded } },
      { type: 'saved', address, entry: { id: '1', observed: {}, unobserved: [] } },
    ],
    expected: { resources: { [address]: { id: '1', recorded: full.recorded, observed: {}, unobserved: [] } } },
  },
  {
    reason: 'an outcome without values and without a create keeps its id',
    events: [{ type: 'saved', address, entry: { id: '1', observed: {}, unobserved: [] } }],
    expected: { resources: { [address]: { id: '1', recorded: {}, observed: {}, unobserved: [] } } },
  },
  {
    reason: 'an outcome ends the pending create',
    events: [{ type: 'creating', address, pending: pending() }, saved('1')],
    expected: { pending: {}, resources: { [address]: entry('1') } },
  },
  {
    reason: 'a create that certainly failed leaves nothing',
    events: [
      { type: 'creating', address, pending: pending() },
      { type: 'not-done', address },
    ],
    expected: { pending: {}, resources: {} },
  },
  {
    reason: 'an earlier unknown create is not lost by a later failed one',
    events: [
      { type: 'creating', address, pending: pending('earlier') },
      { type: 'creating', address, pending: pending('later') },
      { type: 'not-done', address },
    ],
    expected: { pending: { [address]: pending('earlier') } },
  },
  {
    reason: 'a replacement makes the old record an orphan',
    events: [saved('1'), saved('2', { orphan: orphan('1', 'replaced') })],
    expected: { resources: { [address]: entry('2') }, orphans: [orphan('1', 'replaced')] },
  },
  {
    reason: 'saving the record of an unknown replacement keeps the replacement open',
    events: [saved('1'), { type: 'creating', address, pending: { ...pending(), replaces: '1' } }, saved('1')],
    expected: { pending: { [address]: { ...pending(), replaces: '1' } } },
  },
  {
    reason: 'an update without an outcome keeps a secret marked as secret',
    events: [
      {
        type: 'saved',
        address,
        entry: { id: '1', recorded: { key: { $fingerprint: 'f' } }, observed: {}, unobserved: [] },
      },
      { type: 'updating', address, paths: ['key'] },
    ],
    expected: {
      resources: {
        [address]: { id: '1', recorded: { key: { $fingerprint: '' } }, observed: {}, unobserved: ['key'] },
      },
    },
  },
  {
    reason: 'during an update the named paths and their children are unknown',
    events: [whole, { type: 'updating', address, paths: ['tts.speed', 'tool.a'] }],
    expected: {
      resources: {
        [address]: {
          ...full,
          recorded: { name: 'n', 'tts.speed_alpha': 1 },
          observed: {},
          unobserved: ['tts.speed_alpha'],
        },
      },
    },
  },
  {
    reason: 'during an update the earlier values of the platform are unknown',
    events: [
      {
        type: 'saved',
        address,
        entry: { ...full, not_applied: ['name', 'tts.speed'] },
      },
      { type: 'updating', address, paths: ['tts'] },
    ],
    expected: {
      resources: {
        [address]: {
          ...full,
          recorded: { name: 'n', 'tool.a.b': 2 },
          observed: {},
          unobserved: [],
          not_applied: ['name'],
        },
      },
    },
  },
  {
    reason: 'an update that certainly failed restores the previous entry',
    events: [whole, { type: 'updating', address, paths: ['tts', 'name'] }, { type: 'not-done', address }],
    expected: { resources: { [address]: full } },
  },
  {
    reason: 'values left unknown by an earlier update stay unknown',
    events: [
      whole,
      { type: 'updating', address, paths: ['tts', 'tool'] },
      { type: 'updating', address, paths: ['name'] },
      { type: 'not-done', address },
    ],
    expected: {
      resources: { [address]: { ...full, recorded: { name: 'n' }, observed: {}, unobserved: [] } },
    },
  },
  {
    reason: 'a failure without a pending write changes nothing',
    events: [whole, { type: 'not-done', address }],
    expected: { resources: { [address]: full } },
  },
  {
    reason: 'a release keeps a pending create of that address',
    events: [
      saved('1'),
      { type: 'creating', address, pending: pending() },
      { type: 'forgotten', address, orphan: orphan('1') },
    ],
    expected: { resources: {}, pending: { [address]: pending() }, orphans: [orphan('1')] },
  },
  {
    reason: 'a released record does not return when its update ends',
    events: [
      saved('1'),
      { type: 'updating', address, paths: ['x'] },
      { type: 'forgotten', address },
      { type: 'not-done', address },
    ],
    expected: { resources: {}, orphans: [] },
  },
  {
    reason: 'a record is listed once as an orphan',
    events: [
      { type: 'forgotten', address, orphan: orphan('1') },
      { type: 'forgotten', address: 'Agent/b', orphan: orphan('1', 'removed') },
    ],
    expected: { orphans: [orphan('1', 'removed')] },
  },
  {
    reason: 'a record that is managed again is no longer an orphan',
    events: [saved('1'), { type: 'forgotten', address, orphan: orphan('1') }, saved('1')],
    expected: { resources: { [address]: entry('1') }, orphans: [] },
  },
  {
    reason: 'a record of another kind with the same id stays an orphan',
    events: [{ type: 'forgotten', address, orphan: { ...orphan('1'), kind: 'Webhook' } }, saved('1')],
    expected: { orphans: [{ ...orphan('1'), kind: 'Webhook' }] },
  },
  {
    reason: 'a rename moves the record and the pending create',
    events: [
      saved('1'),
      { type: 'creating', address, pending: pending() },
      { type: 'renamed', from: address, to: 'Agent/b' },
    ],
    expected: { resources: { 'Agent/b': entry('1') }, pending: { 'Agent/b': pending() } },
  },
  {
    reason: 'a rename to the same address changes nothing',
    events: [saved('1'), { type: 'renamed', from: address, to: address }],
    expected: { resources: { [address]: entry('1') } },
  },
  {
    reason: 'an orphan is closed, and reopened by another release',
    events: [
      { type: 'forgotten', address: 'Agent/b', orphan: orphan('1', 'removed') },
      { type: 'forgotten', address: 'Agent/b', orphan: orphan('2', 'removed') },
      { type: 'closed', orphan: { ...orphan('1', 'removed'), closed: { because: 'kept', since: at } } },
      { type: 'closed', orphan: { ...orphan('2', 'removed'), closed: { because: 'kept', since: at } } },
      { type: 'forgotten', address: 'Agent/b', orphan: orphan('2', 'forgotten') },
    ],
    expected: {
      orphans: [{ ...orphan('1', 'removed'), closed: { because: 'kept', since: at } }, orphan('2', 'forgotten')],
    },
  },
  {
    reason: 'a record that is managed again is not closed',
    events: [
      saved('1'),
      { type: 'closed', orphan: { ...orphan('1', 'removed'), closed: { because: 'deleted', since: at } } },
    ],
    expected: { resources: { [address]: entry('1') }, orphans: [] },
  },
  {
    reason: 'a record that a rename displaces becomes an orphan',
    events: [
      saved('1'),
      { type: 'saved', address: 'Agent/b', entry: entry('2') },
      { type: 'renamed', from: address, to: 'Agent/b' },
    ],
    expected: {
      resources: { 'Agent/b': entry('1') },
      orphans: [{ kind: 'Agent', id: '2', address: 'Agent/b', reason: 'removed', since: at }],
    },
  },
  {
    reason: 'a person resolves a pending create',
    events: [
      { type: 'creating', address, pending: pending() },
      { type: 'resolved', address },
    ],
    expected: { pending: {}, resources: {} },
  },
];

const someAddress = fc.constantFrom('Agent/a', 'Agent/b', 'Webhook/a');
const someId = fc.constantFrom('1', '2', '3');
const someOrphan = fc.record({
  kind: fc.constantFrom('Agent', 'Webhook'),
  id: someId,
  address: someAddress,
  reason: fc.constantFrom('forgotten' as const, 'replaced' as const),
  since: fc.constant(at),
});
const someEvent: fc.Arbitrary<JournalEvent> = fc.oneof(
  fc.record({
    type: fc.constant('creating' as const),
    address: someAddress,
    pending: fc.constant(pending()),
  }),
  fc.record({
    type: fc.constant('updating' as const),
    address: someAddress,
    paths: fc.subarray(['name', 'tts', 'tts.speed', 'tool.a']),
  }),
  fc.record({ type: fc.constant('not-done' as const), address: someAddress }),
  fc.record(
    {
      type: fc.constant('saved' as const),
      address: someAddress,
      entry: fc
        .tuple(someId, fc.boolean())
        .map(([id, isShort]) => ({ ...full, id, ...(isShort && { recorded: undefined }) })),
      orphan: someOrphan,
    },
    { requiredKeys: ['type', 'address', 'entry'] },
  ),
  fc.record(
    { type: fc.constant('forgotten' as const), address: someAddress, orphan: someOrphan },
    { requiredKeys: ['type', 'address'] },
  ),
  fc.record({ type: fc.constant('renamed' as const), from: someAddress, to: someAddress }),
  fc.record({ type: fc.constant('resolved' as const), address: someAddress }),
  fc.record({
    type: fc.constant('closed' as const),
    orphan: someOrphan.map((each) => ({ ...each, closed: { because: 'kept' as const, since: at } })),
  }),
);

/** Returns true if a write in the events still waits for its outcome. Its `before` is only in memory. */
function hasOpenWrite(events: readonly JournalEvent[]): boolean {
  return events.some((event) => event.type === 'creating' || event.type === 'updating');
}

describe('fold', () => {
  it.each(cases)('applies an event: $reason', ({ events, expected }) => {
    expect(documentAfter(...events)).toMatchObject(expected);
    for (const key of ['resources', 'pending', 'orphans'] as const) {
      if (expected[key] !== undefined) expect(documentAfter(...events)[key]).toEqual(expected[key]);
    }
  });

  it('gives the same result for a prefix and the rest as for all events at once', () => {
    fc.assert(
      fc.property(fc.array(someEvent, { maxLength: 30 }), fc.nat(30), (events, cut) => {
        const entries = entriesOf(events);
        const head = { serial: 1, voxform_version: '0', write: '' };
        const atOnce = fold(empty, entries).toDocument(head);
        const stepwise = fold(empty, entries.slice(0, cut));
        // The value is read between the two parts, as an engine does.
        expect(stepwise.orphans.length).toBe(new Set(stepwise.orphans.map((o) => `${o.kind}/${o.id}`)).size);
        for (const entry of entries.slice(cut)) stepwise.apply(entry);
        expect(stepwise.toDocument(head)).toEqual(atOnce);
        if (!hasOpenWrite(events.slice(0, cut))) {
          const halfway = fold(empty, entries.slice(0, cut)).toDocument(head);
          expect(fold(halfway, entries.slice(cut)).toDocument(head)).toEqual(atOnce);
        }
      }),
    );
  });

  it('changes neither the document nor the entries', () => {
    fc.assert(
      fc.property(fc.array(someEvent, { maxLength: 30 }), (events) => {
        const entries = entriesOf(events);
        const document = documentAfter(whole, { type: 'creating', address: 'Agent/b', pending: pending() });
        const copy = structuredClone({ document, entries });
        fold(document, entries);
        expect({ document, entries }).toEqual(copy);
      }),
    );
  });

  it('never loses the id of a record over create, update, rename and release', () => {
    const careful = fc.array(
      fc.oneof(
        fc.record({
          type: fc.constant('creating' as const),
          address: someAddress,
          pending: fc.constant(pending()),
        }),
        fc.record({
          type: fc.constant('updating' as const),
          address: someAddress,
          paths: fc.constant(['name']),
        }),
        fc.record({ type: fc.constant('not-done' as const), address: someAddress }),
        fc.record({ type: fc.constant('renamed' as const), from: someAddress, to: someAddress }),
        // The record is created again with a new id, because the platform reported the old one missing.
        fc.record({
          type: fc.constant('saved' as const),
          address: fc.constantFrom('Agent/a', 'Agent/b'),
          entry: fc.uuid().map((id) => entry(id)),
        }),
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(careful, (events) => {
        const start = documentAfter(saved('1'), { type: 'saved', address: 'Agent/b', entry: entry('2') });
        const state = fold(start, entriesOf(events));
        const ids = [...state.resources.values(), ...state.orphans].map(({ id }) => id);
        const given = events.flatMap((event) => (event.type === 'saved' ? [event.entry.id] : []));
        expect(ids.sort()).toEqual(['1', '2', ...given].sort());
      }),
    );
  });
});
