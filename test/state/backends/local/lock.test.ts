import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { copyFile, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeFiles } from '../../../../src/files/files.ts';
import { shellWord } from '../../../../src/problems/shell-word.ts';
import { localTiming } from '../../../../src/state/backends/local/lock-file.ts';
import { LostLock } from '../../../../src/state/state-errors.ts';
import type { LockRequest } from '../../../../src/state/store.ts';
import { failureOf, lockRequest, saved, statePath, storeAt } from '../../temporary-state.ts';

const nobody = 999_999_999;

const timing = { ...localTiming, heartbeat: 20 };

const journalEntry = { lineage: 'L', serial: 0, sequence: 1, at: '2030', event: saved('a') };

/** Simulates a holder without heartbeats for this number of seconds. */
async function silentFor(path: string, seconds: number): Promise<void> {
  const then = new Date(Date.now() - seconds * 1000);
  await utimes(`${path}.lock`, then, then);
}

/** Creates a lock whose holder is an ended process. */
async function leftBehind(path: string): Promise<string> {
  const lease = await storeAt(path, { pid: nobody }).lock(lockRequest({ operation: 'watch' }));
  return lease.info.id;
}

describe('lock', () => {
  it('names its holder, host, start and operation, and is free after its release', async () => {
    const path = await statePath();
    const lease = await storeAt(path).lock(lockRequest());
    expect(lease.info).toEqual({
      id: expect.stringMatching(/^[\w-]{20,}$/),
      operation: 'apply',
      who: 'ann@here',
      host: 'here',
      pid: process.pid,
      since: '2030-01-01T00:00:00.000Z',
      voxform_version: '0.0.0',
    });
    const error = await failureOf(storeAt(path, { user: 'bob' }).lock(lockRequest()));
    for (const said of ['ann@here', String(process.pid), '2030-01-01', 'for apply', lease.info.id, path]) {
      expect(error.message).toContain(said);
    }
    expect(error.hint).toContain('--lock-timeout');
    expect(error.next).toEqual([{ action: 'unlock', id: lease.info.id }]);
    await lease.release();
    await lease.release();
    await (await storeAt(path).lock(lockRequest())).release();
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('is readable only by its owner', async () => {
    const path = await statePath();
    const lease = await storeAt(path).lock(lockRequest());
    expect((await stat(`${path}.lock`)).mode & 0o777).toBe(0o600);
    await lease.release();
  });

  it('is waited for, with one notice, up to the timeout', async () => {
    const path = await statePath();
    const first = await storeAt(path).lock(lockRequest({ operation: 'plan' }));
    const notices: string[] = [];
    const second = await storeAt(path).lock(
      lockRequest({
        timeoutSeconds: 60,
        notice: (text) => {
          notices.push(text);
          void first.release();
        },
      }),
    );
    expect(notices).toEqual([expect.stringMatching(/^waiting for the lock of .* held by ann@here.*for plan/)]);
    await second.release();
  });

  it('is not waited for longer than the timeout', async () => {
    const path = await statePath();
    const lease = await storeAt(path).lock(lockRequest());
    const error = await failureOf(storeAt(path).lock(lockRequest({ timeoutSeconds: 0.05 })));
    expect(error.message).toContain('is locked by');
    await lease.release();
  });

  it('is waited for until the signal', async () => {
    const path = await statePath();
    const lease = await storeAt(path).lock(lockRequest());
    const controller = new AbortController();
    const request: LockRequest = lockRequest({
      timeoutSeconds: 60,
      signal: controller.signal,
      notice: () => controller.abort('SIGINT'),
    });
    await expect(storeAt(path).lock(request)).rejects.toThrow('interrupted before the state was locked');
    await lease.release();
  });

  it('is not renewed after another run claimed it, and not taken over after a renewal', async () => {
    const path = await statePath();
    const lease = await storeAt(path, { timing }).lock(lockRequest());
    await lease.renew();
    await copyFile(`${path}.lock`, `${path}.lock.claim-${lease.info.id}`);
    expect(await failureOf(lease.renew())).toBeInstanceOf(LostLock);
    await lease.release();
    // The holder wakes up right after its lock was claimed.
    const sleeping = await storeAt(path, { timing: { ...timing, heartbeat: 1e6 } }).lock(lockRequest());
    await silentFor(path, 61);
    const link: typeof nodeFiles.link = async (from, to) => {
      await nodeFiles.link(from, to);
      await utimes(`${path}.lock`, new Date(), new Date());
    };
    const next = storeAt(path, { timing, isAlive: () => true, files: { ...nodeFiles, link } });
    expect((await failureOf(next.lock(lockRequest()))).message).toContain(sleeping.info.id);
    await sleeping.renew();
    await sleeping.release();
  });

  it('is checked by every renewal, even right after a write of the journal', async () => {
    const path = await statePath();
    const lease = await storeAt(path).lock(lockRequest());
    await lease.append(journalEntry);
    rmSync(`${path}.lock`);
    expect(await failureOf(lease.renew())).toBeInstanceOf(LostLock);
    await lease.release();
  });

  it('is not needed for reads', async () => {
    const path = await statePath();
    const lease = await storeAt(path).lock(lockRequest());
    const { holder, ...stored } = await storeAt(path).read();
    expect(stored).toEqual({ document: undefined, journal: [] });
    expect(holder?.id).toBe(lease.info.id);
    await lease.release();
  });

  it.each([
    { reason: 'a dead process of this host', options: {}, taken: true },
    { reason: 'a process of another host', options: { host: 'elsewhere' }, taken: false },
    { reason: 'a running process', options: { isAlive: () => true }, taken: false },
  ])('of $reason: taken over is $taken', async ({ options, taken }) => {
    const path = await statePath();
    const id = await leftBehind(path);
    const notices: string[] = [];
    const locking = storeAt(path, options).lock(lockRequest({ notice: (text) => notices.push(text) }));
    if (!taken) return expect((await failureOf(locking)).message).toContain(id);
    const lease = await locking;
    expect(notices).toEqual([
      expect.stringMatching(new RegExp(`acquired the lock .* dead process: ann@here .*for watch.*${id}`)),
    ]);
    await lease.release();
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('of a process whose id was reused is taken over', async () => {
    const path = await statePath();
    const id = await leftBehind(path);
    const lock = JSON.parse(await readFile(`${path}.lock`, 'utf8'));
    await writeFile(
      `${path}.lock`,
      JSON.stringify({ ...lock, pid: process.pid, process: { ...lock.process, started: '1' } }),
    );
    const locking = storeAt(path).lock(lockRequest());
    // Only a system that reports the start of a process can tell the two apart.
    if (process.platform !== 'linux') return expect((await failureOf(locking)).message).toContain(id);
    await (await locking).release();
  });

  it.each([
    ['another boot of the same machine', { boot: 'another' }],
    ['another container on the same kernel', { namespace: 'pid:[1]' }],
    ['a system that does not report it', {}],
  ])('of %s does not prove that its process died: host name and process id may be the same', async (_, process) => {
    const path = await statePath();
    const id = await leftBehind(path);
    const lock = JSON.parse(await readFile(`${path}.lock`, 'utf8'));
    const facts = Object.keys(process).length === 0 ? {} : { ...lock.process, ...process };
    await writeFile(`${path}.lock`, JSON.stringify({ ...lock, process: facts }));
    expect((await failureOf(storeAt(path).lock(lockRequest()))).message).toContain(id);
    expect(await storeAt(path).holder()).toMatchObject({ id });
  });

  it('of a holder without heartbeats for a minute is taken over by anyone, with a notice', async () => {
    const path = await statePath();
    const first = await storeAt(path, { host: 'elsewhere' }).lock(lockRequest({ operation: 'watch' }));
    await silentFor(path, 50);
    const error = await failureOf(storeAt(path, { timing }).lock(lockRequest()));
    expect(error.message).toMatch(/lock \S+, last heartbeat 5\d s ago$/);
    await silentFor(path, 61);
    expect(await storeAt(path, { timing }).holder()).toBeUndefined();
    const notices: string[] = [];
    const second = await storeAt(path, { timing }).lock(lockRequest({ notice: (text) => notices.push(text) }));
    expect(notices).toEqual([
      expect.stringMatching(
        new RegExp(`^acquired the lock of .* without a heartbeat for 6\\d s: ann@elsewhere .*${first.info.id}$`),
      ),
    ]);
    await expect(first.read().then(() => first.append(journalEntry))).rejects.toThrow('this run lost the lock');
    await first.release();
    expect(await storeAt(path).holder()).toMatchObject({ id: second.info.id });
    await second.release();
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('is kept by a holder that wakes up together with the waiting runs', async () => {
    const path = await statePath();
    const lease = await storeAt(path, { timing, host: 'elsewhere' }).lock(lockRequest());
    await silentFor(path, 3600);
    const waiting = storeAt(path, { timing: { ...timing, heartbeat: 500 } }).lock(lockRequest());
    expect((await failureOf(waiting)).message).toContain(lease.info.id);
    await lease.release();
  });

  it('gets heartbeats that keep its contents, and none after its release', async () => {
    const path = await statePath();
    const lease = await storeAt(path, { timing }).lock(lockRequest());
    const before = await readFile(`${path}.lock`, 'utf8');
    await silentFor(path, 3600);
    await expect.poll(async () => (await storeAt(path).holder())?.secondsSinceHeartbeat).toBe(0);
    expect(await readFile(`${path}.lock`, 'utf8')).toBe(before);
    await lease.release();
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('survives a heartbeat that the file system refuses', async () => {
    const path = await statePath();
    const refused = Promise.withResolvers<void>();
    let isRefusing = false;
    const open: typeof nodeFiles.open = async (file, flags, mode) => {
      if (isRefusing && file === `${path}.lock`) {
        isRefusing = false;
        refused.resolve();
        throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
      }
      return nodeFiles.open(file, flags, mode);
    };
    const store = storeAt(path, { timing, files: { ...nodeFiles, open } });
    const lease = await store.lock(lockRequest());
    isRefusing = true;
    await refused.promise;
    await lease.append(journalEntry);
    await lease.release();
  });

  it('cleans up the files of killed processes beside it, and no others', async () => {
    const path = await statePath();
    await leftBehind(path);
    const dead = await readFile(`${path}.lock`, 'utf8');
    const leftovers = ['lock.tmp-', 'lock.claim-'].map((name) => `${path}.${name}${randomUUID()}`);
    const half = `${path}.lock.tmp-${randomUUID()}`;
    const inUse = `${path}.lock.tmp-${randomUUID()}`;
    const kept = [`${path}.lock.tmp-mine`, `${path}.lock.orig`, `${path}.tmp.yaml`, inUse];
    for (const file of leftovers) await writeFile(file, dead);
    await writeFile(`${path}.tmp`, '{');
    for (const file of [half, ...kept]) await writeFile(file, dead.slice(0, 20));
    await utimes(half, 1, 1);
    const lease = await storeAt(path).lock(lockRequest());
    await lease.read();
    await lease.release();
    const names = await readdir(dirname(path));
    expect(names.sort()).toEqual(kept.map((file) => basename(file)).sort());
  });

  it('is never held by two, however many find the same dead holder', async () => {
    const path = await statePath();
    await leftBehind(path);
    let holders = 0;
    const visits = Array.from({ length: 12 }, async () => {
      const lease = await storeAt(path).lock(lockRequest({ timeoutSeconds: 60 }));
      holders += 1;
      expect(holders).toBe(1);
      await storeAt(path).read();
      holders -= 1;
      await lease.release();
    });
    await Promise.all(visits);
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('works on a file system without links', async () => {
    const path = await statePath();
    const files = {
      ...nodeFiles,
      link: () => Promise.reject(Object.assign(new Error('no links'), { code: 'ENOTSUP' })),
    };
    const lease = await storeAt(path, { files }).lock(lockRequest());
    expect((await failureOf(storeAt(path, { files }).lock(lockRequest()))).message).toContain(lease.info.id);
    await lease.release();
  });

  it('that is unreadable is refused with a hint', async () => {
    const path = await statePath();
    await (await storeAt(path).lock(lockRequest())).release();
    await writeFile(`${path}.lock`, '{"id":');
    const error = await failureOf(storeAt(path).lock(lockRequest()));
    expect([error.message, error.hint]).toEqual([
      expect.stringContaining('is damaged'),
      expect.stringContaining(`rm ${shellWord(`${path}.lock`)}`),
    ]);
  });
});

describe('unlock', () => {
  it('ends the lock with this id, and names its holder and the time since its heartbeat', async () => {
    const path = await statePath();
    const lease = await storeAt(path, { host: 'elsewhere' }).lock(lockRequest());
    const ended = await storeAt(path).unlock(lease.info.id);
    expect(ended).toEqual({ ...lease.info, secondsSinceHeartbeat: expect.any(Number) });
    await (await storeAt(path).lock(lockRequest())).release();
  });

  it('refuses another id, and a state that is not locked', async () => {
    const path = await statePath();
    expect((await failureOf(storeAt(path).unlock('x'))).message).toContain('is not locked');
    const lease = await storeAt(path).lock(lockRequest());
    const error = await failureOf(storeAt(path).unlock('x'));
    expect(error.message).toContain(lease.info.id);
    await expect(storeAt(path).lock(lockRequest())).rejects.toThrow('is locked by');
    await lease.release();
  });

  it('does not affect the lock of the next holder when the first one releases its own', async () => {
    const path = await statePath();
    const first = await storeAt(path).lock(lockRequest());
    await storeAt(path).unlock(first.info.id);
    const second = await storeAt(path).lock(lockRequest());
    await first.release();
    await expect(storeAt(path).lock(lockRequest())).rejects.toThrow(second.info.id);
    await second.release();
  });
});
