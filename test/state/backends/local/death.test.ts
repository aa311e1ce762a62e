import { describe, expect, it } from 'vitest';
import { emptyDocument, fold } from '../../../../src/state/fold.ts';
import type { JournalEvent } from '../../../../src/state/journal-lines.ts';
import { openSession, readState, type StateSession } from '../../../../src/state/session.ts';
import type { State } from '../../../../src/state/state.ts';
import { creating, saved, sessionOptions, statePath, storeAt } from '../../temporary-state.ts';
import { dyingFiles } from './dying-files.ts';

const options = sessionOptions();
const address = 'Agent/a';

/** No process has this id. */
const dead = 999_999_999;

/** Two consecutive runs. */
const runs: readonly (readonly JournalEvent[])[] = [
  [creating('a'), saved('a'), creating('b'), saved('b')],
  [
    { type: 'updating', address, paths: ['name'] },
    { type: 'not-done', address },
    creating('c'),
    saved('c'),
    {
      type: 'forgotten',
      address,
      orphan: { kind: 'Agent', id: 'id-a', address, reason: 'forgotten', since: '2030' },
    },
  ],
];
const events = runs.flat();

/** Returns the content of the state after the first `count` events. */
function contentAfter(count: number): unknown {
  const entries = events
    .slice(0, count)
    .map((event, index) => ({ lineage: 'L1', serial: 0, sequence: index + 1, at: '2030', event }));
  return contentOf(fold(emptyDocument(options.fresh, 'W1', ''), entries));
}

function contentOf({ resources, pending, orphans }: State): unknown {
  return {
    resources: Object.fromEntries(resources),
    pending: Object.fromEntries(pending),
    orphans: [...orphans],
  };
}

/** Runs until the process dies. Returns the number of events that were confirmed as stored. */
async function runUntilDeath(path: string, dying: ReturnType<typeof dyingFiles>): Promise<number> {
  const store = storeAt(path, { files: dying.files, pid: dead, isAlive: () => false });
  let kept = 0;
  let session: StateSession | undefined;
  try {
    for (const run of runs) {
      session = await openSession(store, options);
      for (const event of run) {
        await session.record(event);
        kept += 1;
      }
      await session.close();
    }
  } catch (error) {
    if (!dying.died) throw error;
    await session?.close().catch(() => undefined);
  }
  return kept;
}

describe('process that dies', () => {
  it('in any file operation loses no confirmed event, and leaves nothing to repair', async () => {
    const whole = dyingFiles();
    expect(await runUntilDeath(await statePath(), whole)).toBe(events.length);
    expect(whole.count).toBeGreaterThan(100);
    await atEachOf(whole.count, async (last) => dieAndRecover(await statePath(), last));
  });

  it("during a takeover of another dead process's lock leaves nothing to repair", async () => {
    // Longer than a takeover takes. The rest is the same as above.
    await atEachOf(40, async (last) => {
      const path = await statePath();
      await storeAt(path, { pid: dead - 1 }).lock(options.lock);
      await dieAndRecover(path, last);
    });
  });
});

/** Calls back with each number from 1, some at the same time. */
async function atEachOf(count: number, recover: (last: number) => Promise<void>): Promise<void> {
  const left = Array.from({ length: count }, (_, index) => index + 1);
  const inTurn = async () => {
    for (let last = left.pop(); last !== undefined; last = left.pop()) await recover(last);
  };
  await Promise.all(Array.from({ length: 16 }, inTurn));
}

async function dieAndRecover(path: string, last: number): Promise<void> {
  const kept = await runUntilDeath(path, dyingFiles(last));
  const store = storeAt(path, { isAlive: (pid) => pid < dead - 1 });
  // The current event may have reached the disk, too.
  const allowed = [contentAfter(kept), contentAfter(Math.min(kept + 1, events.length))];
  const reason = `died in operation ${last}, after ${kept} events`;
  expect(allowed, `${reason}, read`).toContainEqual(contentOf(await readState(store, options)));
  const session = await openSession(store, options);
  expect(allowed, `${reason}, opened`).toContainEqual(contentOf(session.state));
  await session.record(saved('z'));
  await session.close();
  expect((await readState(store, options)).resources.has('Agent/z'), reason).toBe(true);
}
