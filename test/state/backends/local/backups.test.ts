import { copyFile, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSession, readState } from '../../../../src/state/session.ts';
import { LostState } from '../../../../src/state/state-errors.ts';
import { creating, failureOf, lockRequest, saved, sessionOptions, statePath, storeAt } from '../../temporary-state.ts';

const options = sessionOptions();

/** Creates a state that recorded `a` and then `b`, one save each. */
async function written(): Promise<string> {
  const path = await statePath();
  for (const name of ['a', 'b']) {
    const session = await openSession(storeAt(path), options);
    await session.record(saved(name));
    await session.close();
  }
  return path;
}

/** Returns the backups of each address, newest first. */
async function idsAt(path: string): Promise<Record<string, string[]>> {
  const ids: Record<string, string[]> = {};
  for (const { resources } of await storeAt(path).backups()) {
    for (const [address, { id }] of resources) ids[address] = [...(ids[address] ?? []), id];
  }
  return ids;
}

async function quarantine(path: string): Promise<string | undefined> {
  const lease = await storeAt(path).lock(lockRequest());
  try {
    return await lease.quarantine();
  } finally {
    await lease.release();
  }
}

const damages: { reason: string; happen: (path: string) => Promise<void>; knows: string[] }[] = [
  { reason: 'the document is missing', happen: (path) => rm(path), knows: ['Agent/a', 'Agent/b'] },
  { reason: 'the document is empty', happen: (path) => writeFile(path, ''), knows: ['Agent/a', 'Agent/b'] },
  { reason: 'the document was truncated', happen: (path) => truncate(path, 60), knows: ['Agent/a', 'Agent/b'] },
  {
    reason: 'an older document replaced the newer one while a journal existed',
    happen: async (path) => {
      const session = await openSession(storeAt(path), options);
      await session.record(saved('c'));
      await copyFile(`${path}.journal`, `${path}.kept`);
      await session.close();
      await copyFile(`${path}.backup-1`, path);
      await copyFile(`${path}.kept`, `${path}.journal`);
      await rm(`${path}.kept`);
    },
    knows: ['Agent/a', 'Agent/b', 'Agent/c'],
  },
  {
    reason: 'a line in the middle of the journal is damaged',
    happen: async (path) => {
      const session = await openSession(storeAt(path), options);
      for (const name of ['c', 'd', 'e']) await session.record(saved(name));
      const lines = (await readFile(`${path}.journal`, 'utf8')).split('\n');
      await session.close();
      await copyFile(`${path}.backup-2`, path);
      await rm(`${path}.backup-3`);
      await writeFile(`${path}.journal`, [lines[0], 'rubbish', ...lines.slice(2)].join('\n'));
    },
    knows: ['Agent/a', 'Agent/b', 'Agent/c', 'Agent/e'],
  },
];

describe('lost state', () => {
  it.each(damages)('can be read from its backups and replaced by a new one: $reason', async ({ happen, knows }) => {
    const path = await written();
    await happen(path);
    expect(await failureOf(readState(storeAt(path), options))).toBeInstanceOf(LostState);
    expect(Object.keys(await idsAt(path)).sort()).toEqual(knows);
    const kept = await quarantine(path);
    expect(kept).toMatch(/\.(lost|aside)-/);
    const session = await openSession(storeAt(path), { ...options, allowOlder: () => undefined });
    await session.record(saved('new'));
    await session.close();
    expect((await readState(storeAt(path), options)).resources.has('Agent/new')).toBe(true);
    expect(Object.keys(await idsAt(path)).sort()).toEqual([...knows, 'Agent/new']);
  });

  it('keeps an undamaged document when it is set aside', async () => {
    const path = await written();
    const lease = await storeAt(path).lock(lockRequest());
    await lease.append({ lineage: 'L1', serial: 9, sequence: 1, at: '', event: saved('x') }).catch(() => undefined);
    await lease.release();
    await quarantine(path).catch(() => undefined);
    expect((await readState(storeAt(path), options)).resources.size).toBe(2);
  });
});

describe('backups of a lost state', () => {
  it('are empty if there never was a state', async () => {
    const path = await statePath();
    expect(await storeAt(path).backups()).toEqual([]);
    await mkdir(dirname(path), { recursive: true });
    expect(await quarantine(path)).toBeUndefined();
    expect(await readdir(dirname(path))).toEqual([]);
  });

  it('are listed newest first, with unconfirmed creates and orphans', async () => {
    const path = await written();
    const session = await openSession(storeAt(path), options);
    await session.record(saved('a', 'id-of-another'));
    await session.record(creating('c'));
    const orphan = {
      kind: 'Agent',
      id: 'id-b',
      address: 'Agent/b',
      reason: 'forgotten' as const,
      since: '2030',
    };
    await session.record({ type: 'forgotten', address: 'Agent/b', orphan });
    await session.close();
    await rm(path);
    expect((await idsAt(path))['Agent/a']?.[0]).toBe('id-of-another');
    const [newest] = await storeAt(path).backups();
    expect([...(newest?.pending.keys() ?? [])]).toEqual(['Agent/c']);
    expect(newest?.orphans).toMatchObject([{ id: 'id-a', address: 'Agent/a', reason: 'gone' }, orphan]);
    expect(newest?.workspaceId).toBe('W1');
  });

  it('of a newer format are not changed', async () => {
    const path = await written();
    const newer = JSON.stringify({ format_version: 99 });
    await writeFile(path, newer);
    expect((await failureOf(quarantine(path))).message).toContain('format 99');
    expect(await readFile(path, 'utf8')).toBe(newer);
  });
});
