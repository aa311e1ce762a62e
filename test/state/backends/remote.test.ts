import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { StoreUser } from '../../../src/state/backends/backend.ts';
import { changed } from '../../../src/state/backends/object-store/change.ts';
import { NO_CONTENT, type StoredContent } from '../../../src/state/backends/object-store/object-store.ts';
import { createStateStore } from '../../../src/state/backends/object-store/state-store.ts';
import { findRescues, recordOutcomes } from '../../../src/state/rescue.ts';
import { Seal } from '../../../src/state/seal.ts';
import { openSession, readState } from '../../../src/state/session.ts';
import { LostLock } from '../../../src/state/state-errors.ts';
import type { StateStore } from '../../../src/state/store.ts';
import { creating, failureOf, lockRequest, saved, sessionOptions } from '../temporary-state.ts';
import { newSealSettings } from './identity.ts';
import { memoryStore, type Shelf, shelfNamed } from './memory-backend.ts';

interface Scene {
  readonly root: string;
  readonly shelf: Shelf;
  store(user?: Partial<StoreUser>): StateStore;
  pass(seconds: number): void;
}

async function scene(gather = 0, fastBatch?: number): Promise<Scene> {
  const root = await mkdtemp(join(tmpdir(), 'voxform-remote-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  let clock = Date.parse('2030-01-01T00:00:00Z');
  const now = () => new Date(clock);
  const timing = { heartbeat: 60_000, takeoverAfter: () => 600_000, gather, ...(fastBatch && { fastBatch }), poll: 5 };
  return {
    root,
    shelf: shelfNamed(root),
    pass: (seconds) => {
      clock += seconds * 1000;
    },
    store: (user) =>
      createStateStore(memoryStore(root, now, timing), {
        root,
        host: 'here',
        user: 'ann',
        pid: 7,
        version: '0.0.0',
        now,
        ...user,
      }),
  };
}

/** Time stands still until the test advances it. */
function controlTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

const recorded = () => sessionOptions({ lock: lockRequest({ isStep: false }) });

describe('remote store', () => {
  it('writes once for the start, each record and the end of a run, and batches concurrent entries', async () => {
    const { store, shelf } = await scene(5);
    const session = await openSession(store(), recorded());
    await Promise.all(['a', 'b', 'c'].map((name) => session.record(creating(name))));
    await Promise.all(['a', 'b', 'c'].map((name) => session.record(saved(name))));
    await session.close();
    // The lock, the first document, the intents, the outcomes, and the end.
    expect(shelf.writes).toBe(5);
    expect((await readState(store(), recorded())).resources.size).toBe(3);
  });

  it('writes small batches while writes are fast, and larger ones while they are slow', async () => {
    controlTime();
    const { store, shelf } = await scene(0, 4);
    const session = await openSession(store(), recorded());
    let recordedCount = 0;
    const writesFor = async (count: number): Promise<number> => {
      const before = shelf.writes;
      await Promise.all(Array.from({ length: count }, () => session.record(creating(`a${recordedCount++}`))));
      return shelf.writes - before;
    };
    expect(await writesFor(1), 'the first document and one entry').toBe(2);
    expect(await writesFor(10)).toBe(3);
    shelf.fault = () => void vi.advanceTimersByTime(10);
    expect(await writesFor(10), 'one slow write may be due to a busy thread').toBe(3);
    for (let count = 0; count < 20; count++) await writesFor(1);
    expect(await writesFor(10)).toBe(1);
    shelf.fault = undefined;
    await session.close();
    expect((await readState(store(), recorded())).pending.size).toBe(recordedCount);
  });

  it('reads once for a state and its holder', async () => {
    const { store, shelf } = await scene();
    const lease = await store().lock(lockRequest({ isStep: false }));
    shelf.reads = 0;
    expect((await store().read()).holder).toMatchObject({ who: 'ann@here', secondsSinceHeartbeat: expect.any(Number) });
    expect(shelf.reads).toBe(1);
    await lease.release();
  });

  it.each(['before', 'after'] as const)('stores once if a write fails %s it was stored', async (when) => {
    const { store, shelf } = await scene();
    let count = 0;
    shelf.fault = () => (++count % 2 === 1 ? when : undefined);
    const session = await openSession(store(), recorded());
    await session.record(creating('a'));
    await session.record(saved('a'));
    await session.close();
    const history = await store().history();
    expect(history).toMatchObject([{ command: 'apply', who: 'ann@here', result: 'done' }]);
    expect(shelf.history).toHaveLength(2);
    expect((await readState(store(), recorded())).resources.get('Agent/a')?.id).toBe('id-a');
    expect(await store().holder()).toBeUndefined();
  });

  it('gives up the lock if other writers are always first', async () => {
    const { store, shelf } = await scene();
    shelf.fault = () => {
      shelf.held = { ...shelf.held, revision: randomUUID() };
      return undefined;
    };
    const { message, hint } = await failureOf(store().lock(lockRequest({ isStep: false })));
    expect(message).toMatch(/^other runs took the lock of memory:\S+ 10 times$/);
    expect(hint).toContain('--lock-timeout');
  });

  it('takes over the lock of a holder without heartbeats, whose writes then fail', async () => {
    const { store, pass } = await scene();
    const first = await openSession(store({ user: 'bob' }), recorded());
    await first.record(creating('a'));
    pass(599);
    const { message, hint } = await failureOf(store().lock(lockRequest({ isStep: false })));
    expect(message).toContain('bob@here (process 7)');
    expect(message).toContain('last heartbeat 10 min ago');
    expect(hint).toContain('in 1 s');
    pass(1);
    const notices: string[] = [];
    const lock = lockRequest({ isStep: false, notice: (text) => notices.push(text) });
    const second = await openSession(store(), sessionOptions({ lock }));
    expect(notices.join()).toContain('a run without a heartbeat for 10 min: bob@here');
    expect([...second.state.pending.keys()]).toEqual(['Agent/a']);
    await expect(first.record(saved('a'))).rejects.toBeInstanceOf(LostLock);
    await first.close().catch(() => undefined);
    expect((await store().holder())?.who).toBe('ann@here');
    await second.close();
    const [died, done] = await store().history();
    const left = [{ address: 'Agent/a', action: 'create', result: 'unknown' }];
    expect(died).toMatchObject({ who: 'bob@here', result: 'died', resources: left });
    expect(done?.result).toBe('done');
  });

  it.each(['plain', 'sealed'])('saves unstored ids in a %s file, which the next run imports', async (form) => {
    const { store: storeOf, root, pass } = await scene();
    const seal = form === 'sealed' ? new Seal(await newSealSettings()) : undefined;
    const store = () => storeOf({ seal });
    const warnings: string[] = [];
    const lock = lockRequest({ isStep: false, warn: (text) => warnings.push(text) });
    const first = await openSession(store(), sessionOptions({ lock }));
    await first.record(creating('a'));
    await first.record(creating('b'));
    pass(600);
    await (await openSession(store(), recorded())).close();
    await Promise.allSettled([first.record(saved('a')), first.record(saved('b')), first.record(creating('c'))]);
    await first.close().catch(() => undefined);
    expect(warnings.join()).toContain('Agent/a = id-a, Agent/b = id-b');
    const folder = join(root, '.voxform', 'rescue');
    const [name = ''] = await readdir(folder);
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    const text = await readFile(join(folder, name), 'utf8');
    expect(text).not.toContain('creating');
    expect(text.includes('id-a')).toBe(form === 'plain');

    const session = await openSession(store(), recorded());
    expect([...session.state.pending.keys()]).toEqual(['Agent/a', 'Agent/b']);
    for (const rescue of await findRescues(root, session.state.lineage)) await recordOutcomes(session, rescue, store());
    await session.close();
    const state = await readState(store(), recorded());
    expect(state.pending.size).toBe(0);
    expect([...state.resources].map(([address, { id }]) => [address, id])).toEqual([
      ['Agent/a', 'id-a'],
      ['Agent/b', 'id-b'],
    ]);
  });

  it('waits 9 s for an unresponsive store after a stop, and then saves the ids', async () => {
    const { store, shelf, root } = await scene();
    const stop = new AbortController();
    const warnings: string[] = [];
    const warn = (text: string) => warnings.push(text);
    const lock = lockRequest({ isStep: false, warn });
    const session = await openSession(store({ stop: stop.signal }), sessionOptions({ lock }));
    await session.record(creating('a'));
    const asked = Promise.withResolvers<void>();
    shelf.fault = () => {
      asked.resolve();
      return 'never';
    };
    controlTime();
    const recorded = failureOf(session.record(saved('a')));
    await asked.promise;
    stop.abort('SIGINT');
    const closed = failureOf(session.close());
    vi.advanceTimersByTime(8_999);
    await setImmediate();
    expect(warnings).toEqual([]);
    vi.advanceTimersByTime(1);
    expect((await recorded).message).toContain('no response in time');
    await closed;
    expect(warnings.join()).toContain(': Agent/a = id-a. The next run in this folder records them');
    expect(await readdir(join(root, '.voxform', 'rescue'))).toHaveLength(1);
  });

  it('reports a missing response after 5 s, and gives up after a minute for all requests of the run', async () => {
    const { store, shelf } = await scene();
    const said: string[] = [];
    const asked = store({ warn: (text) => said.push(text) });
    shelf.isAway = true;
    controlTime();
    const all = [asked.read(), asked.lock(lockRequest())].map(failureOf);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(said).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(said).toEqual([expect.stringContaining('cannot reach the state memory:')]);
    await vi.advanceTimersByTimeAsync(25_000);
    const late = failureOf(asked.holder());
    await vi.advanceTimersByTimeAsync(28_000);
    for (const { message } of await Promise.all([...all, late])) {
      expect(message).toContain('cannot reach the state memory:');
    }
    const { reads } = shelf;
    for (const next of [asked.read(), asked.unlock('x'), asked.lock(lockRequest())]) {
      expect((await failureOf(next)).message).toContain('cannot reach the state memory:');
    }
    expect(shelf.reads).toBe(reads);
    expect(said).toHaveLength(1);
    // A loop retries in its next run.
    await vi.advanceTimersByTimeAsync(1_000);
    shelf.isAway = false;
    expect((await asked.read()).document).toBeUndefined();
  });

  it('gives up after a few seconds once another state of the same command took a minute', async () => {
    const [first, second, third] = [await scene(), await scene(), await scene()];
    const outage = { milliseconds: 0 };
    first.shelf.isAway = true;
    second.shelf.isAway = true;
    controlTime();
    const slow = failureOf(first.store({ outage }).read());
    await vi.advanceTimersByTimeAsync(58_000);
    expect((await slow).message).toContain('cannot reach the state memory:');
    const next = failureOf(second.store({ outage }).read());
    await vi.advanceTimersByTimeAsync(5_000);
    expect((await next).message).toContain('cannot reach the state memory:');
    expect((await third.store({ outage }).read()).document).toBeUndefined();
  });

  it('stores nothing more after it gave up during a run, and sends no request to end the run', async () => {
    const { store, shelf, root } = await scene();
    const session = await openSession(store(), recorded());
    await session.record(creating('a'));
    controlTime();
    shelf.fault = () => 'never';
    const lost = failureOf(session.record(saved('a')));
    await vi.advanceTimersByTimeAsync(58_000);
    const { message } = await lost;
    expect(message).toContain('cannot reach the state');
    let writes = 0;
    shelf.fault = () => {
      writes += 1;
      return 'never';
    };
    expect((await failureOf(session.close())).message).toBe(message);
    expect(writes).toBe(0);
    expect(await readdir(join(root, '.voxform', 'rescue'))).toHaveLength(1);
  });

  it('aborts a read immediately when the run is stopped, or when its result is no longer needed', async () => {
    const { store, shelf } = await scene();
    shelf.isAway = true;
    for (const which of ['stop', 'until'] as const) {
      const controller = new AbortController();
      const asked = store(which === 'stop' ? { stop: controller.signal } : {});
      const failed = failureOf(asked.read(which === 'until' ? controller.signal : undefined));
      controller.abort('SIGINT');
      expect((await failed).message).toContain('interrupted while');
    }
  });

  it('imports the record of a superseded create as an orphan, and keeps the newer create', async () => {
    const { store, root, pass } = await scene();
    const first = await openSession(store(), recorded());
    await first.record(creating('a'));
    pass(600);
    const second = await openSession(store(), recorded());
    await first.record(saved('a')).catch(() => undefined);
    await first.close().catch(() => undefined);
    await second.record({ type: 'resolved', address: 'Agent/a' });
    await second.record({
      type: 'creating',
      address: 'Agent/a',
      pending: { since: '2031-01-01T00:00:00Z', recorded: {} },
    });
    for (const rescue of await findRescues(root, second.state.lineage)) await recordOutcomes(second, rescue, store());
    await second.close();
    const state = await readState(store(), recorded());
    expect([...state.pending.keys()]).toEqual(['Agent/a']);
    expect(state.orphans).toMatchObject([{ address: 'Agent/a', id: 'id-a', reason: 'replaced' }]);
  });

  it('refuses a journal with a truncated last entry', async () => {
    const { store, shelf, pass } = await scene();
    const first = await openSession(store(), recorded());
    await first.record(creating('a'));
    await first.record(saved('a'));
    shelf.held = { ...shelf.held, journal: shelf.held.journal.subarray(0, -20) };
    pass(600);
    const { message, hint } = await failureOf(openSession(store(), recorded()));
    expect(message).toContain('is damaged');
    expect(hint).toContain('voxform state push FILE');
  });

  it('appends to a journal without changing its earlier entries', () => {
    const held = { ...NO_CONTENT, journal: new Uint8Array() };
    const added = (to: StoredContent, text: string) =>
      changed(to, { write: text, summary: '', journal: Buffer.from(text) }, text);
    const first = added(held, 'a');
    const both = [added(first, 'b'), added(first, 'c'), added(added(first, 'dd'), 'e')];
    expect(both.map(({ journal }) => Buffer.from(journal).toString())).toEqual(['ab', 'ac', 'adde']);
    expect(Buffer.from(first.journal).toString()).toBe('a');
  });

  it('grants the lock to one of several at once', async () => {
    const { store } = await scene();
    const all = await Promise.allSettled([1, 2, 3, 4].map(() => store().lock(lockRequest({ isStep: false }))));
    const won = all.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(won).toHaveLength(1);
    await won[0]?.release();
    const waiting = [1, 2, 3, 4].map(async () => {
      const lease = await store().lock(lockRequest({ timeoutSeconds: 30 }));
      await lease.release();
    });
    await Promise.all(waiting);
    expect(await store().holder()).toBeUndefined();
  });
});
