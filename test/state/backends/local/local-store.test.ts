import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Files, nodeFiles } from '../../../../src/files/files.ts';
import { UserError } from '../../../../src/problems/user-error.ts';
import { emptyDocument } from '../../../../src/state/fold.ts';
import { openSession, readState } from '../../../../src/state/session.ts';
import type { StateDocument } from '../../../../src/state/state-document.ts';
import { failureOf, lockRequest, saved, sessionOptions, statePath, stateText, storeAt } from '../../temporary-state.ts';

const options = sessionOptions();
const empty = emptyDocument({ lineage: 'L1', salt: 'S1' }, 'W1', '0.0.0');

/** Creates a state with one record after this number of commits. */
async function written(commits = 1, at?: string): Promise<string> {
  const path = at ?? (await statePath());
  for (let count = 0; count < commits; count++) {
    const session = await openSession(storeAt(path), options);
    await session.record(saved('a', `id-${count}`));
    await session.close();
  }
  return path;
}

/** Creates something else in place of a state. */
async function replaced(make: (path: string) => unknown): Promise<string> {
  const path = await statePath();
  await mkdir(dirname(path), { recursive: true });
  await make(path);
  return path;
}

const change = (path: string, edit: (document: Record<string, unknown>) => unknown) => async () =>
  writeFile(path, JSON.stringify(edit(JSON.parse(await readFile(path, 'utf8')))));

describe('state in local files', () => {
  it('has sorted keys, an indentation of two spaces, and a final newline', async () => {
    const path = await written();
    const text = await readFile(path, 'utf8');
    const [, write = '', digest = ''] = /"write": "([\da-f-]{36})",\n {2}"write_digest": "(.*)"\n/.exec(text) ?? [];
    expect(text).toBe(`{
  "format_version": 2,
  "lineage": "L1",
  "orphans": [],
  "pending": {},
  "resources": {
    "Agent/a": {
      "id": "id-0",
      "observed": {},
      "recorded": {
        "name": "id-0"
      },
      "unobserved": []
    }
  },
  "salt": "S1",
  "serial": 1,
  "voxform_version": "0.0.0",
  "workspace_id": "W1",
  "write": "${write}",
  "write_digest": "${digest}"
}
`);
    const digested = text.slice(0, text.indexOf(',\n  "write_digest"'));
    expect(digest).toBe(`sha256:${createHash('sha256').update(digested).digest('hex')}`);
  });

  it('checks its lock once between two consecutive writes of the journal', async () => {
    const path = await statePath();
    const done: string[] = [];
    const files: Files = {
      ...nodeFiles,
      async open(...given) {
        if (given[0] === `${path}.lock`) done.push('look');
        const handle = await nodeFiles.open(...given);
        const datasync = handle.datasync.bind(handle);
        handle.datasync = async () => {
          if (!done.includes('sync')) second = session.record(saved('b'));
          done.push('sync');
          return datasync();
        };
        return handle;
      },
    };
    let second: Promise<void> | undefined;
    await written(1, path);
    const session = await openSession(storeAt(path, { files }), options);
    done.length = 0;
    await session.record(saved('a', 'id-1'));
    await second;
    expect(done).toEqual(['look', 'sync', 'look', 'sync', 'look']);
    await session.close();
  });

  it('can be read only by its owner, like all files beside it', async () => {
    const path = await written(2);
    const session = await openSession(storeAt(path), options);
    await session.record(saved('b'));
    const names = await readdir(dirname(path));
    expect(names.sort()).toEqual(
      ['', '.backup-0', '.backup-1', '.backup-2', '.journal', '.lock'].map((ending) => basename(path) + ending),
    );
    for (const name of names) {
      expect((await stat(join(dirname(path), name))).mode & 0o777, name).toBe(0o600);
    }
    expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
    await session.close();
  });

  it('is reported as an older copy after a restore, with the newer one', async () => {
    const path = await written(2, join(dirname(await statePath()), 'my state.json'));
    await copyFile(`${path}.backup-1`, path);
    const told: string[] = [];
    const onOlder = ({ message }: UserError) => told.push(message);
    expect((await readState(storeAt(path), { ...options, onOlder })).serial).toBe(1);
    expect(told).toEqual([expect.stringMatching(/is older than .+\.backup-2 \(serial 2\)/)]);
    const error = await failureOf(openSession(storeAt(path), options));
    expect(error.message).toContain('Missing records: Agent/a (id-1)');
    expect(error.next).toEqual([{ action: 'push_newer', file: `${path}.backup-2` }, { action: 'allow_older_state' }]);
    const session = await openSession(storeAt(path), { ...options, allowOlder: () => undefined });
    await session.record(saved('b'));
    await session.close();
    expect(session.state.serial).toBe(3);
    await (await openSession(storeAt(path), options)).close();
  });

  it('ignores copies that cannot be read or have another lineage when it searches for newer ones', async () => {
    const path = await written(1);
    const text = await readFile(path, 'utf8');
    await writeFile(`${path}.backup-7`, text.replace('"serial": 1', '"serial": 7'));
    await writeFile(`${path}.backup-8`, stateText({ ...empty, lineage: 'L2', serial: 8 }));
    await (await openSession(storeAt(path), options)).close();
  });

  it('is replaced only if the serial is still the expected one', async () => {
    const path = await written();
    const before = await readFile(path);
    const lease = await storeAt(path).lock(lockRequest());
    for (const expected of [undefined, 0, 2]) {
      const error = await failureOf(lease.commit({ ...empty, serial: 3 }, expected));
      expect(error).toBeInstanceOf(UserError);
      expect(error.message).toContain('changed during this run');
    }
    expect(await readFile(path)).toEqual(before);
    await lease.commit({ ...empty, serial: 2 }, 1);
    expect((await lease.read()).document?.serial).toBe(2);
    await lease.release();
    await expect(lease.commit({ ...empty, serial: 3 }, 2)).rejects.toThrow('already released');
  });

  it('names the copy with the highest serial, regardless of file times', async () => {
    const path = await written(3);
    await utimes(`${path}.backup-1`, 2_000_000_000, 2_000_000_000);
    await rm(path);
    const { hint } = await failureOf(readState(storeAt(path), options));
    expect(hint).toMatch(/cp .+\.backup-3'? .+staging\.state\.json'?$/);
  });

  it('prunes by serial, and the copies of another lineage separately', async () => {
    const path = await written(8);
    for (const old of [3, 4]) await utimes(`${path}.backup-${old}`, 2_000_000_000, 2_000_000_000);
    await writeFile(path, stateText({ ...empty, lineage: 'L2' }));
    const lease = await storeAt(path).lock(lockRequest());
    for (const serial of [1, 2]) await lease.commit({ ...empty, lineage: 'L2', serial }, serial - 1);
    await lease.release();
    const kept = (await readdir(dirname(path))).map((name) => /backup-(\d+)$/.exec(name)?.[1] ?? '');
    expect(kept.filter(Boolean).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].map(String));
  });

  it('keeps the last good copies beside it, up to a limit', async () => {
    const path = await written(9);
    const backups = (await readdir(dirname(path))).filter((name) => name.includes('.backup-')).sort();
    expect(backups).toEqual([4, 5, 6, 7, 8, 9].map((serial) => `${basename(path)}.backup-${serial}`));
    expect(await readFile(`${path}.backup-9`)).toEqual(await readFile(path));
    const earlier: StateDocument = JSON.parse(await readFile(`${path}.backup-4`, 'utf8'));
    expect(earlier.resources['Agent/a']?.id).toBe('id-3');
  });

  const damages: readonly {
    reason: string;
    damage: (path: string) => Promise<unknown>;
    message: RegExp;
    /** By default, the hint names the copy to restore. */
    hint?: RegExp;
  }[] = [
    { reason: 'empty', damage: (path) => writeFile(path, ''), message: /is damaged: it is empty/ },
    {
      reason: 'truncated',
      damage: async (path) => writeFile(path, (await readFile(path)).subarray(0, 100)),
      message: /truncated JSON/,
    },
    {
      reason: 'filled with zeros',
      damage: (path) => writeFile(path, Buffer.alloc(300)),
      message: /is invalid or truncated JSON/,
    },
    {
      reason: 'not UTF-8',
      damage: (path) => writeFile(path, Buffer.from([0x22, 0xff, 0x22])),
      message: /is invalid or truncated JSON/,
    },
    {
      reason: 'in the middle of a merge',
      damage: async (path) =>
        writeFile(path, `<<<<<<< HEAD\n${await readFile(path, 'utf8')}=======\n{}\n>>>>>>> other\n`),
      message: /unresolved merge conflict/,
      hint: /^Do not restore a backup.*\n {2}git checkout --ours .+staging\.state\.json'?\n/,
    },
    {
      reason: 'of a newer format',
      damage: (path) => change(path, (state) => ({ ...state, format_version: 4, voxform_version: '9.0.0' }))(),
      message: /written by voxform 9\.0\.0 in format 4; this version of voxform reads formats up to 3/,
      hint: /Upgrade/,
    },
    {
      reason: 'another document',
      damage: (path) => writeFile(path, '{"version":4,"terraform_version":"1.9.0"}'),
      message: /is damaged: at format_version: missing, or not a known state format/,
    },
    {
      reason: 'a record without an id',
      damage: (path) => change(path, (state) => ({ ...state, resources: { 'Agent/a': { recorded: {} } } }))(),
      message: /is damaged: at resources > Agent\/a > id/,
    },
    {
      reason: 'nested too deeply',
      damage: (path) => writeFile(path, `${'['.repeat(100_000)}${']'.repeat(100_000)}`),
      message: /damaged/,
    },
    {
      reason: 'missing although backups exist',
      damage: (path) => rm(path),
      message: /is missing, but its backup staging\.state\.json\.backup-1 exists/,
    },
  ];

  it.each(damages)('that is $reason is refused with a hint, and never overwritten', async (case_) => {
    const path = await written();
    const backup = await readFile(`${path}.backup-1`);
    await case_.damage(path);
    const damaged = await readFile(path).catch(() => undefined);
    for (const failing of [() => readState(storeAt(path), options), () => openSession(storeAt(path), options)]) {
      const error = await failureOf(failing());
      expect(error).toBeInstanceOf(UserError);
      expect(error.message).toMatch(case_.message);
      expect(error.hint).toMatch(case_.hint ?? /cp .+\.backup-1'? .+staging\.state\.json'?$/);
    }
    const lease = await storeAt(path).lock(lockRequest());
    await expect(lease.commit({ ...empty, serial: 2 }, 1)).rejects.toThrow(UserError);
    await lease.release();
    expect(await readFile(path).catch(() => undefined)).toEqual(damaged);
    expect(await readFile(`${path}.backup-1`)).toEqual(backup);
  });

  it('is restored by copying the backup that the hint names', async () => {
    const path = await written(2);
    await writeFile(path, '');
    const error = await failureOf(readState(storeAt(path), options));
    execFileSync('sh', ['-c', /cp .+$/.exec(error.hint ?? '')?.[0] ?? 'false']);
    expect((await readState(storeAt(path), options)).resources.get('Agent/a')?.id).toBe('id-1');
  });

  it('that is missing beside its journal is refused', async () => {
    const path = await statePath();
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.journal`, 'x');
    const error = await failureOf(readState(storeAt(path), options));
    expect(error.message).toMatch(/is missing, but its journal exists/);
    expect(error.hint).toContain('version control or another backup');
    expect(error.hint).toContain('voxform recover');
  });

  it('that is a link into a missing folder is not treated as a first run', async () => {
    const path = await statePath();
    await mkdir(dirname(path), { recursive: true });
    await symlink('../volume/state.json', path);
    const error = await failureOf(readState(storeAt(path), options));
    expect(error.message).toMatch(/is a link into .*volume, which does not exist/);
    expect(await failureOf(openSession(storeAt(path), options))).toBeInstanceOf(UserError);
    await mkdir(join(dirname(path), '..', 'volume'));
    expect((await readState(storeAt(path), options)).resources.size).toBe(0);
  });

  it("behind a link is written at the link's target", async () => {
    const path = await statePath();
    const target = join(dirname(path), '..', 'elsewhere.json');
    await mkdir(dirname(path), { recursive: true });
    await symlink('../elsewhere.json', path);
    for (const name of ['a', 'b']) {
      const session = await openSession(storeAt(path), options);
      await session.record(saved(name));
      await session.close();
    }
    expect(Object.keys(JSON.parse(await readFile(target, 'utf8')).resources)).toEqual(['Agent/a', 'Agent/b']);
    expect(await readdir(dirname(path))).toEqual([basename(path)]);
  });

  it('is read completely while another run commits', async () => {
    const path = await written();
    const session = await openSession(storeAt(path), options);
    let busy = true;
    const reading = (async () => {
      const serials: number[] = [];
      while (busy) {
        const state = await readState(storeAt(path), options);
        expect(state.resources.has('Agent/a')).toBe(true);
        serials.push(state.serial);
      }
      return serials;
    })();
    await session.record(saved('b'));
    await session.close();
    for (let count = 0; count < 10; count++) {
      const next = await openSession(storeAt(path), options);
      await next.record(saved(`n${count}`));
      await next.close();
    }
    busy = false;
    const serials = await reading;
    expect(serials).toEqual(serials.toSorted((a, b) => a - b));
  });

  it.each([
    {
      reason: 'a folder in place of the file',
      path: async () => dirname(await written()),
      message: /the path is a folder/,
    },
    {
      reason: 'a file in place of its folder',
      path: async () => join(await written(), 'state.json'),
      message: /part of the path is a file/,
    },
    {
      reason: 'a pipe that nothing writes to',
      path: () => replaced((path) => execFileSync('mkfifo', [path])),
      message: /the path is a pipe/,
    },
    {
      reason: 'a device that never ends',
      path: () => replaced((path) => symlink('/dev/zero', path)),
      message: /a device/,
    },
    {
      reason: 'a file that is too large to be a state',
      path: () =>
        replaced(async (path) => {
          await writeFile(path, '');
          await truncate(path, 2 ** 32);
        }),
      message: /larger than 512 MiB/,
    },
  ])('reports $reason', async ({ path, message }) => {
    const error = await failureOf(openSession(storeAt(await path()), options));
    expect(error).toBeInstanceOf(UserError);
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(/state\.path/);
  });
});
