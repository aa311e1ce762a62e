import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/problems/user-error.ts';
import { openSession, readState } from '../../src/state/session.ts';
import { LostLock } from '../../src/state/state-errors.ts';
import type { StateLease, StateStore } from '../../src/state/store.ts';
import { creating, failureOf, saved, sessionOptions, statePath, storeAt } from './temporary-state.ts';

const options = sessionOptions();

/** Simulates a process that dies: leaves a journal without a commit, but no lock. */
async function dieAfter(store: StateStore, ...names: readonly string[]): Promise<void> {
  const session = await openSession(store, options);
  for (const name of names) await session.record(saved(name));
  await store.unlock(JSON.parse(await readFile(`${store.location}.lock`, 'utf8')).id);
  await expect(session.close()).rejects.toThrow('this run lost the lock');
}

describe('a state session', () => {
  it('keeps recorded entries, with the next serial', async () => {
    const store = storeAt(await statePath());
    const first = await openSession(store, options);
    expect(first.state).toMatchObject({ lineage: 'L1', salt: 'S1', serial: 0, workspaceId: 'W1' });
    await first.record(creating('a'));
    expect(first.state.pending.has('Agent/a')).toBe(true);
    await first.record(saved('a'));
    await first.close();
    const second = await openSession(store, sessionOptions({ fresh: { lineage: 'L2', salt: 'S2' } }));
    expect(second.state).toMatchObject({ lineage: 'L1', salt: 'S1', serial: 1 });
    expect([...second.state.resources.keys()]).toEqual(['Agent/a']);
    expect(second.state.pending.size).toBe(0);
    await second.record(saved('b'));
    await second.close();
    expect((await readState(store, options)).serial).toBe(2);
  });

  it('stores the values of a create once in its journal', async () => {
    const store = storeAt(await statePath());
    const session = await openSession(store, options);
    const recorded = { prompt: 'Hello' };
    for (const [name, values] of [
      ['a', recorded],
      ['b', { prompt: 'Changed' }],
    ] as const) {
      const address = `Agent/${name}`;
      await session.record({ type: 'creating', address, pending: { since: '2030', recorded } });
      const entry = { id: `id-${name}`, recorded: values, observed: {}, unobserved: [] };
      await session.record({ type: 'saved', address, entry });
      expect(session.state.resources.get(address)).toEqual(entry);
    }
    const journal = await readFile(`${store.location}.journal`, 'utf8');
    expect(journal.match(/Hello|Changed/g)).toEqual(['Hello', 'Hello', 'Changed']);
    const { resources } = await readState(store, options);
    expect([...resources.values()].map((entry) => entry.recorded)).toEqual([recorded, { prompt: 'Changed' }]);
    await session.close();
  });

  it('writes nothing if nothing was recorded', async () => {
    const path = await statePath();
    const store = storeAt(path);
    await (await openSession(store, options)).close();
    expect(await readdir(dirname(path))).toEqual([]);
    const session = await openSession(store, options);
    await session.record(saved('a'));
    await session.close();
    const before = await stat(path);
    const idle = await openSession(store, options);
    expect(idle.changed).toBe(false);
    await idle.close();
    expect((await stat(path)).ino).toBe(before.ino);
    expect((await readState(store, options)).serial).toBe(1);
  });

  it('folds in the journal of a dead run, even of the very first one, and commits it at once', async () => {
    const path = await statePath();
    const store = storeAt(path);
    await dieAfter(store, 'a', 'b');
    const seen = await readState(store, options);
    expect([seen.serial, ...seen.resources.keys()]).toEqual([0, 'Agent/a', 'Agent/b']);
    const session = await openSession(store, sessionOptions({ fresh: { lineage: 'other', salt: 'other' } }));
    expect(session.state).toMatchObject({ serial: 1, lineage: 'L1', salt: 'S1' });
    expect(session.changed).toBe(false);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      serial: 1,
      resources: { 'Agent/b': {} },
    });
    await session.close();
    expect((await readState(store, options)).serial).toBe(1);
  });

  it('returns events in the order in which they were recorded, even if many overlap', async () => {
    const store = storeAt(await statePath());
    const session = await openSession(store, options);
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
    await Promise.all(names.map((name) => session.record(saved(name))));
    expect([...session.state.resources.keys()]).toEqual(names.map((name) => `Agent/${name}`));
    await session.close();
  });

  it('refuses the state of another workspace, names both, and releases the lock', async () => {
    const store = storeAt(await statePath());
    const session = await openSession(store, options);
    await session.record(saved('a'));
    await session.close();
    const other = sessionOptions({ workspaceId: 'W2' });
    for (const begin of [readState, openSession]) {
      const error = await failureOf(begin(store, other));
      expect(error).toBeInstanceOf(UserError);
      expect(error.message).toMatch(/W1.*W2/);
    }
    await (await openSession(store, options)).close();
  });

  it('refuses a create over an unknown one, and a rename to an existing address', async () => {
    const path = await statePath();
    const session = await openSession(storeAt(path), options);
    await session.record(creating('a'));
    await expect(session.record(creating('a'))).rejects.toThrow('unknown create');
    await session.record(saved('b'));
    for (const to of ['Agent/a', 'Agent/b']) {
      await session.record(saved('c'));
      await expect(session.record({ type: 'renamed', from: 'Agent/c', to })).rejects.toThrow('already');
    }
    await session.record({ type: 'resolved', address: 'Agent/a' });
    await session.record(creating('a'));
    await session.close();
    await expect(session.record(saved('d'))).rejects.toThrow('closed');
  });

  it('ends after a failed append: memory is unchanged, and the next run commits the journal', async () => {
    const path = await statePath();
    let failing = false;
    const store = storeAt(path, {
      failPoint: (name) => {
        if (failing && name === 'before-append') throw new Error('no more');
      },
    });
    const session = await openSession(store, options);
    await session.record(saved('a'));
    failing = true;
    const results = await Promise.allSettled(['b', 'c'].map((name) => session.record(saved(name))));
    failing = false;
    results.push(...(await Promise.allSettled([session.record(saved('d'))])));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect([...session.state.resources.keys()]).toEqual(['Agent/a']);
    expect(session.broken).toBe(true);
    await session.close().catch(() => undefined);
    const seen = await readState(store, options);
    expect([seen.serial, ...seen.resources.keys()]).toEqual([0, 'Agent/a']);
    await (await openSession(store, options)).close();
    expect((await readState(store, options)).serial).toBe(1);
  });

  it('releases the lock even if the commit fails', async () => {
    const path = await statePath();
    let failing = false;
    const store = storeAt(path, {
      failPoint: (name) => {
        if (failing && name === 'before-rename') throw new Error('no more');
      },
    });
    const session = await openSession(store, options);
    await session.record(saved('a'));
    expect(session.broken).toBe(false);
    failing = true;
    await expect(session.close()).rejects.toThrow('no more');
    expect(session.broken).toBe(true);
    failing = false;
    const next = await openSession(store, options);
    expect([next.state.serial, ...next.state.resources.keys()]).toEqual([1, 'Agent/a']);
    await next.close();
  });

  it('stops if another run released its lock and continued', async () => {
    const path = await statePath();
    const store = storeAt(path);
    const first = await openSession(store, options);
    await first.record(saved('a'));
    await store.unlock(JSON.parse(await readFile(`${path}.lock`, 'utf8')).id);
    const second = await openSession(store, options);
    await second.record(saved('b'));
    const error = await failureOf(first.record(saved('lost')));
    expect(error).toBeInstanceOf(LostLock);
    expect(error.message).toContain('this run lost the lock');
    await first.close();
    await second.close();
    expect([...(await readState(store, options)).resources.keys()]).toEqual(['Agent/a', 'Agent/b']);
  });

  it('opens for any store that fulfills the contract', async () => {
    const appended: unknown[] = [];
    const lease: StateLease = {
      info: { id: 'x', operation: '', who: '', host: '', pid: 1, since: '', voxform_version: '' },
      isRecent: true,
      renew: () => Promise.resolve(),
      read: () => Promise.resolve({ document: undefined, journal: [] }),
      append: (entry) => Promise.resolve(void appended.push(entry)),
      commit: (document, expected) => Promise.resolve(void appended.push([document.serial, expected])),
      convert: () => Promise.resolve([]),
      quarantine: () => Promise.resolve(undefined),
      leaveMark: () => Promise.resolve(),
      release: ({ commit, outcome } = {}) =>
        Promise.resolve(void appended.push([commit?.document.serial, commit?.expectedSerial, outcome?.result])),
    };
    const store: StateStore = {
      location: 'elsewhere',
      setting: 'state.path',
      read: lease.read,
      backups: () => Promise.resolve([]),
      lock: () => Promise.resolve(lease),
      holder: () => Promise.resolve(undefined),
      unlock: () => Promise.resolve({ ...lease.info, secondsSinceHeartbeat: 0 }),
      history: () => Promise.resolve([]),
      opened: () => Promise.reject(new Error('no rescue file')),
    };
    const session = await openSession(store, options);
    await Promise.all([session.record(saved('a')), session.record(saved('b'))]);
    await session.close();
    expect(appended).toMatchObject([
      [0, undefined],
      { serial: 0, sequence: 1 },
      { serial: 0, sequence: 2 },
      [1, 0, 'done'],
    ]);
  });
});
