import path from 'node:path';
import { expect, it } from 'vitest';
import type { JournalEvent } from '../../src/state/journal-lines.ts';
import { findRescues, recordOutcomes, writeRescue } from '../../src/state/rescue.ts';
import { noSeal } from '../../src/state/seal.ts';
import { inSession } from '../../src/state/session.ts';
import { creating, entry, saved, sessionOptions, statePath, storeAt } from './temporary-state.ts';

const SENT = '2030-01-01T00:00:00.000Z';

function unsaved(...events: readonly JournalEvent[]) {
  const entries = events.map((event, at) => ({ lineage: 'L1', serial: 1, sequence: at + 1, at: SENT, event }));
  return { location: 'the state', entries, run: 'run' };
}

it.each([
  { reason: 'a replacement', replaces: { replaces: 'id-a' }, why: 'replaced' as const },
  { reason: 'a recreated record', replaces: {}, why: 'gone' as const },
])('records $reason, and the old record as its orphan', async ({ replaces, why }) => {
  const store = storeAt(await statePath());
  const address = 'Agent/a';
  const pending = { since: SENT, recorded: { name: 'new' }, ...replaces };
  await inSession(store, sessionOptions(), async (session) => {
    await session.record(saved('a'));
    await session.record({ type: 'creating', address, pending });
    const orphan = { kind: 'Agent', id: 'id-a', address, reason: why, since: SENT };
    const { entries } = unsaved({
      type: 'saved',
      address,
      entry: entry('id-new'),
      ...(why === 'replaced' && { orphan }),
    });
    expect(await recordOutcomes(session, { file: 'f', entries, damaged: 0 }, store)).toEqual([`${address} = id-new`]);
    expect(session.state.resources.get(address)?.id).toBe('id-new');
    expect([...session.state.pending.keys()]).toEqual([]);
    expect(session.state.orphans).toEqual([orphan]);
  });
});

it('writes only what the next run records', async () => {
  const root = path.dirname(await statePath());
  const forgotten = { type: 'forgotten', address: 'Agent/a' } as const;
  const intents = [creating('a'), { type: 'renamed', from: 'Agent/a', to: 'Agent/b' } as const, forgotten];
  expect(await writeRescue(root, unsaved(...intents), noSeal)).toBeUndefined();
  expect(await writeRescue(root, unsaved(...intents, saved('c')), noSeal)).toContain('Agent/c = id-c');
  const [rescue] = await findRescues(root, 'L1');
  expect(rescue?.entries.map(({ sequence }) => sequence)).toEqual([4]);
});
