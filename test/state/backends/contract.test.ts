import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { UserError } from '../../../src/problems/user-error.ts';
import type { StateBackend, StoreUser } from '../../../src/state/backends/backend.ts';
import { createStateStore } from '../../../src/state/backends/object-store/state-store.ts';
import { emptyDocument } from '../../../src/state/fold.ts';
import type { JournalEntry } from '../../../src/state/journal-lines.ts';
import { Seal } from '../../../src/state/seal.ts';
import { openSession, readState } from '../../../src/state/session.ts';
import { LostLock, MovedState } from '../../../src/state/state-errors.ts';
import type { StateLease, StateStore } from '../../../src/state/store.ts';
import { failureOf, lockRequest, saved, sessionOptions } from '../temporary-state.ts';
import { hasAzurite } from './azure/azurite.ts';
import { newSealSettings } from './identity.ts';
import { memory } from './memory-backend.ts';
import { settingsOf, testableBackends } from './settings.ts';

const all = Object.entries<StateBackend>({ ...testableBackends, memory }).flatMap(
  ([name, backend]): [string, StateBackend, 'plain' | 'sealed'][] => [
    [name, backend, 'plain'],
    [name, backend, 'sealed'],
  ],
);
const sealSettings = await newSealSettings();
const empty = emptyDocument({ lineage: 'L1', salt: 'S1' }, 'W1', '0.0.0');

function entry(sequence: number): JournalEntry {
  return { lineage: 'L1', serial: 0, sequence, at: '2030-01-01T00:00:00Z', event: saved(`a${sequence}`) };
}

/** Returns the contents of all files in a folder. */
async function filesIn(folder: string): Promise<string[]> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
}

if (!hasAzurite) it.skip('backend azure (skipped: there is no azurite-blob)');

/** Sealing does not depend on the backend, and a Git remote needs a process for each request. */
const tagsOf = (name: string, form: string) =>
  name === 'memory' || (form === 'plain' && name !== 'git') ? [] : ['long'];

for (const [name, backend, form] of all)
  describe(`backend ${name}, ${form}`, { tags: tagsOf(name, form) }, () => {
    let root: string;
    let settings: object;
    let clock: number;
    beforeEach(async () => {
      clock = Date.parse('2030-01-01T00:00:00Z');
      root = await mkdtemp(join(tmpdir(), 'voxform-backend-'));
      onTestFinished(() => rm(root, { recursive: true, force: true }));
      settings = await settingsOf(name, root);
    });

    /** Returns a new store each time, as another process would open it. */
    function store({ workspace = 'staging', seal = sealOf(form) } = {}): StateStore {
      const user = userOf(seal);
      return createStateStore(backend.open(backend.locate(settings, { workspace, root }), user), user);
    }

    function userOf(seal: Seal): StoreUser {
      const now = () => new Date(clock);
      return { root, host: 'here', user: 'ann', pid: process.pid, version: '0.0.0', now, seal };
    }

    function sealOf(which: typeof form, isConverting = false): Seal {
      const isNeeded = which === 'sealed' || isConverting;
      return new Seal(isNeeded ? sealSettings : undefined, isConverting ? which : undefined);
    }

    async function begun(): Promise<StateLease> {
      const lease = await store().lock(lockRequest());
      await lease.commit(empty, undefined);
      return lease;
    }

    it('has a location for each workspace, and describes it consistently', () => {
      const place = (workspace: string) => backend.locate(settings, { workspace, root });
      expect(place('a')).toEqual(place('a'));
      expect(backend.keyOf(place('a'))).toBe(backend.keyOf(place('a')));
      expect(backend.keyOf(place('a'))).not.toBe(backend.keyOf(place('b')));
      expect(Object.keys(backend.settings().shape)).toContain(backend.locationSetting);
      expect(store().location).toBe(backend.describe(place('staging'), root));
      expect(store().setting).toBe(`state.${backend.locationSetting}`);
    });

    it('has no state before the first commit', async () => {
      expect(await store().read()).toMatchObject({ document: undefined, journal: [] });
      expect(await store().backups()).toEqual([]);
      expect(await store().holder()).toBeUndefined();
    });

    it('shows appended entries to others, in order, and empties the journal with the document', async () => {
      const lease = await begun();
      await Promise.all([lease.append(entry(1)), lease.append(entry(2))]);
      const { document, journal } = await store().read();
      expect(document).toEqual(empty);
      expect(journal).toEqual([entry(1), entry(2)]);
      expect((await lease.read()).journal).toEqual(journal);
      await lease.commit({ ...empty, serial: 1 }, 0);
      expect(await store().read()).toMatchObject({ document: { serial: 1 }, journal: [] });
      await lease.release();
    });

    it('replaces the document only if the serial is the expected one', async () => {
      const lease = await begun();
      for (const expected of [undefined, 1]) {
        expect(await failureOf(lease.commit({ ...empty, serial: 2 }, expected))).toBeInstanceOf(UserError);
      }
      expect((await store().read()).document?.serial).toBe(0);
      await lease.release();
      await expect(lease.commit({ ...empty, serial: 1 }, 0)).rejects.toThrow();
      await lease.release();
    });

    it('grants the lock to one holder at a time, and names the holder', async () => {
      const lease = await store().lock(lockRequest({ operation: 'import' }));
      expect(await store().holder()).toMatchObject({ id: lease.info.id, who: 'ann@here', operation: 'import' });
      const { message } = await failureOf(store().lock(lockRequest()));
      expect(message).toContain('ann@here');
      expect(message).toContain(lease.info.id);
      await lease.release();
      await (await store().lock(lockRequest())).release();
      expect(await store().holder()).toBeUndefined();
    });

    it('lists its runs and their results', async () => {
      const lock = lockRequest({ operation: 'import', isStep: false, commit: Promise.resolve('c0ffee') });
      const lease = await store().lock(lock);
      const run = { run: lease.info.id, command: 'import', who: 'ann@here', commit: 'c0ffee' };
      expect(await store().history()).toMatchObject([run]);
      await lease.release({ outcome: { result: 'refused', error: 'a guard' } });
      await (await store().lock(lockRequest())).release();
      await (await store().lock(lockRequest({ isStep: false }))).release();
      expect(await store().history()).toMatchObject([
        { ...run, result: 'refused', error: 'a guard' },
        { command: 'apply', result: 'done' },
      ]);
    });

    it('records who released the lock of a run', async () => {
      const lease = await store().lock(lockRequest({ isStep: false }));
      await store().unlock(lease.info.id);
      expect(await store().history()).toMatchObject([{ run: lease.info.id, unlocked_by: 'ann@here' }]);
      await lease.release().catch(() => undefined);
    });

    it('accepts no write from a holder whose lock was released by someone else', async () => {
      const lost = await begun();
      await expect(store().unlock('another')).rejects.toThrow(UserError);
      await expect(store().unlock(lost.info.id.slice(0, 7))).rejects.toThrow(UserError);
      expect(await store().unlock(lost.info.id.slice(0, 8))).toMatchObject({
        id: lost.info.id,
        secondsSinceHeartbeat: expect.any(Number),
      });
      const lease = await store().lock(lockRequest());
      const error = await failureOf(lost.append(entry(1)));
      expect(error).toBeInstanceOf(LostLock);
      expect(error.hint).not.toContain('minute');
      await lost.release();
      expect((await store().holder())?.id).toBe(lease.info.id);
      expect((await lease.read()).journal).toEqual([]);
      await lease.release();
      const other = await store().lock(lockRequest());
      await store().unlock(other.info.id);
      expect(await failureOf(other.commit({ ...empty, serial: 1 }, 0))).toBeInstanceOf(LostLock);
    });

    it.each(['the wall clock', 'the monotonic clock'])(
      'names by %s the time for the next renewal, and renews its own lock',
      async (which) => {
        // Half of the longest period after which any backend takes over a lock.
        const pass = (milliseconds: number): void => {
          if (which === 'the wall clock') clock += milliseconds;
          else vi.spyOn(performance, 'now').mockReturnValue(performance.now() + milliseconds);
        };
        onTestFinished(() => void vi.restoreAllMocks());
        const lease = await begun();
        await lease.renew();
        expect(lease.isRecent).toBe(true);
        pass(360_001);
        expect(lease.isRecent).toBe(false);
        await lease.renew();
        expect(lease.isRecent).toBe(true);
        pass(360_001);
        await store().unlock(lease.info.id);
        const next = await store().lock(lockRequest());
        expect(await failureOf(lease.renew())).toBeInstanceOf(LostLock);
        expect(lease.isRecent).toBe(false);
        await next.renew();
        await next.release();
        await lease.release();
      },
    );

    it('names its new location after a move, and may move back', async () => {
      const lease = await begun();
      const mark = { moved_to: 'x', moved_at: '2030', lineage: 'L1', serial: 0, workspace_id: 'W1' };
      await expect(lease.leaveMark({ ...mark, serial: 7 })).rejects.toThrow(UserError);
      await lease.leaveMark(mark);
      expect(await failureOf(store().read())).toBeInstanceOf(MovedState);
      await expect(lease.commit({ ...empty, lineage: 'L2', serial: 1 }, undefined)).rejects.toThrow(MovedState);
      await lease.commit({ ...empty, serial: 1 }, undefined);
      expect((await store().read()).document?.serial).toBe(1);
      await lease.release();
    });

    it('refuses the other form, and converts the state with its history and its backups', async () => {
      const lease = await store().lock(lockRequest({ isStep: false }));
      await lease.commit(empty, undefined);
      await lease.append(entry(1));
      await store().unlock(lease.info.id);
      const other = form === 'plain' ? 'sealed' : 'plain';
      const inOther = () => store({ seal: sealOf(other) });
      await expect(inOther().read()).rejects.toThrow(/sealed/);
      await expect(openSession(inOther(), sessionOptions())).rejects.toThrow(/sealed/);
      const converting = store({ seal: sealOf(other, true) });
      const session = await openSession(converting, sessionOptions({ lock: lockRequest({ isStep: false }) }));
      expect(await session.convert()).toEqual([]);
      await session.close();
      await expect(store().read()).rejects.toThrow(/sealed/);
      expect((await readState(inOther(), sessionOptions())).resources.get('Agent/a1')?.id).toBe('id-a1');
      expect(await inOther().history()).toMatchObject([{ run: lease.info.id }, { result: 'done' }]);
      const object = backend.open(backend.locate(settings, { workspace: 'staging', root }), userOf(sealOf(other)));
      const { signal } = new AbortController();
      const { state } = await object.read(signal);
      const texts = [Buffer.from(state ?? []).toString(), ...(await object.history(signal))];
      if (object.local !== undefined) texts.push(...(await filesIn(root)));
      for (const text of texts.filter((each) => each !== '')) {
        if (other === 'sealed') expect(text).not.toMatch(/Agent\/a1|"salt"|"command"/);
        else expect(text).not.toContain('"sealed"');
      }
      await lease.release();
    });

    it('recovers from a dead run: its journal is folded in, and its entries remain', async () => {
      const lease = await begun();
      await lease.append(entry(1));
      await store().unlock(lease.info.id);
      const session = await openSession(store(), sessionOptions());
      expect([...session.state.resources.keys()]).toEqual(['Agent/a1']);
      await session.close();
      const [backup] = await store().backups();
      expect(backup?.resources.get('Agent/a1')?.id).toBe('id-a1');
      expect((await readState(store(), sessionOptions())).resources.size).toBe(1);
      await lease.release();
    });
  });
