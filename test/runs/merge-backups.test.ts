import { describe, expect, it } from 'vitest';
import { mergeBackups, restore } from '../../src/runs/recover/find-lost-records.ts';
import { emptyDocument, fold } from '../../src/state/fold.ts';
import type { JournalEvent } from '../../src/state/journal-lines.ts';
import { openSession, readState } from '../../src/state/session.ts';
import type { StateBackup } from '../../src/state/store.ts';
import { creating, saved, sessionOptions, statePath, storeAt } from '../state/temporary-state.ts';

/** Returns a document or journal after these events. */
function backups(source: string, events: readonly JournalEvent[], workspaceId: string | undefined = 'W1'): StateBackup {
  const state = fold(emptyDocument({ lineage: 'L', salt: '' }, 'W1', ''), []);
  for (const event of events) state.apply({ event, at: '2030' });
  const { resources, pending, orphans } = state;
  return { source, workspaceId, isCurrent: false, resources, pending, orphans };
}

function forgotten(name: string): JournalEvent {
  const orphan = {
    kind: 'Agent',
    id: `id-${name}`,
    address: `Agent/${name}`,
    reason: 'forgotten' as const,
    since: '2030',
  };
  return { type: 'forgotten', address: `Agent/${name}`, orphan };
}

describe('mergeBackups', () => {
  it('uses the newest entry of each address, and keeps every id', () => {
    const { remembered, known } = mergeBackups(
      [backups('/x/new', [saved('a', 'id-2')]), backups('/x/old', [saved('a', 'id-1'), saved('b')])],
      'W1',
    );
    expect(Object.fromEntries(remembered)).toEqual({
      'Agent/a': { id: 'id-2', source: 'new' },
      'Agent/b': { id: 'id-b', source: 'old' },
    });
    expect(known.map(({ id }) => id)).toEqual(['id-2', 'id-1', 'id-b']);
  });

  it('omits records that were released since', () => {
    const { remembered, orphans } = mergeBackups(
      [backups('new', [saved('a'), forgotten('a')]), backups('old', [saved('a')])],
      'W1',
    );
    expect([...remembered]).toEqual([]);
    expect(orphans.map(({ id }) => id)).toEqual(['id-a']);
  });

  it('omits creates that were resolved since', () => {
    const settled = mergeBackups([backups('new', [saved('x')]), backups('old', [creating('a')])], 'W1');
    expect([...settled.pending.keys()]).toEqual([]);
    const journal = backups('journal', [creating('b')]);
    const open = mergeBackups([{ ...journal, workspaceId: undefined }, backups('new', [creating('a')])], 'W1');
    expect([...open.pending.keys()].sort()).toEqual(['Agent/a', 'Agent/b']);
  });

  it('ignores states of another workspace', () => {
    const { known, pending, orphans } = mergeBackups(
      [backups('x', [saved('a'), creating('b'), forgotten('c')], 'W2')],
      'W1',
    );
    expect([known, [...pending], orphans]).toEqual([[], [], []]);
  });
});

describe('restore', () => {
  it('restores orphans and open creates that are not managed', async () => {
    const store = storeAt(await statePath());
    const options = sessionOptions();
    const session = await openSession(store, options);
    await session.record(saved('held'));
    await session.record(saved('again', 'id-other'));
    const told = mergeBackups(
      [
        backups('x', [
          creating('open'),
          creating('gone'),
          creating('held'),
          forgotten('a'),
          forgotten('held'),
          forgotten('again'),
        ]),
      ],
      'W1',
    );
    await restore(told, session, new Set(['Agent/open', 'Agent/held']));
    await session.close();
    const state = await readState(store, options);
    expect([...state.pending.keys()]).toEqual(['Agent/open']);
    expect(state.orphans.map(({ id }) => id)).toEqual(['id-a']);
    expect([...state.resources.keys()].sort()).toEqual(['Agent/again', 'Agent/held']);
  });
});
