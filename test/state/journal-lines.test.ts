import { execFileSync } from 'node:child_process';
import { appendFile, open, readFile, writeFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FileHandle, nodeFiles } from '../../src/files/files.ts';
import { type JournalEntry, journalLine, parseJournal, validEntries } from '../../src/state/journal-lines.ts';
import { openSession, readState } from '../../src/state/session.ts';
import { failureOf, lockRequest, saved, sessionOptions, statePath, storeAt } from './temporary-state.ts';

const options = sessionOptions();

function entriesNamed(names: readonly string[]): JournalEntry[] {
  return names.map((name, index) => ({
    lineage: 'L1',
    serial: 0,
    sequence: index + 1,
    at: '2030-01-01T00:00:00Z',
    event: saved(name),
  }));
}

const linesOf = (entries: readonly JournalEntry[]) => Buffer.from(entries.map(journalLine).join(''));

/** Creates a state with an empty document and a journal with these lines. */
async function withJournal(content: string | Uint8Array): Promise<string> {
  const path = await statePath();
  const store = storeAt(path);
  const session = await openSession(store, options);
  await session.record(saved('gone'));
  await store.unlock(JSON.parse(await readFile(`${path}.lock`, 'utf8')).id);
  await session.close().catch(() => undefined);
  await writeFile(`${path}.journal`, content);
  return path;
}

describe('journal', () => {
  it('that is truncated anywhere returns the entries of its complete lines', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 5 }), fc.nat(2000), (names, cut) => {
        const entries = entriesNamed(names);
        const bytes = linesOf(entries).subarray(0, cut);
        const content = parseJournal(bytes, 'j');
        const lines = bytes.filter((byte) => byte === 0x0a).length;
        expect(content.entries).toEqual(entries.slice(0, lines));
        expect(content.goodLength).toBe(linesOf(entries.slice(0, lines)).length);
      }),
    );
  });

  it('with any flipped bit in its last line is refused, and returns the earlier entries', () => {
    const [first, last] = entriesNamed(['a', 'b']).map(journalLine);
    const bytes = Buffer.from(`${first}${last}`);
    const passed: number[] = [];
    for (let bit = Buffer.byteLength(first ?? '') * 8; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const isRefused = /is damaged/.test(problemOf(() => parseJournal(flipped, 'j')));
      if (!isRefused || validEntries(flipped)[0]?.sequence !== 1) passed.push(bit);
    }
    expect(passed).toEqual([]);
  });

  it.each([
    { reason: 'half a line', tail: (line: string) => line.slice(0, line.length / 2) },
    { reason: 'a line without its line break', tail: (line: string) => line.slice(0, -1) },
    { reason: 'half a checksum', tail: (line: string) => line.slice(0, 4) },
  ])('is read without $reason, which the next run removes', async ({ tail }) => {
    const good = linesOf(entriesNamed(['a'])).toString();
    const path = await withJournal(good + tail(linesOf(entriesNamed(['torn'])).toString()));
    const before = await readFile(`${path}.journal`);
    expect([...(await readState(storeAt(path), options)).resources.keys()]).toEqual(['Agent/a']);
    expect(await readFile(`${path}.journal`), 'reading changed it').toEqual(before);
    const session = await openSession(storeAt(path), options);
    await session.record(saved('b'));
    await session.close();
    const { resources } = await readState(storeAt(path), options);
    expect([...resources.keys()]).toEqual(['Agent/a', 'Agent/b']);
  });

  it('accepts new lines after a torn one was removed, if nothing was folded in', async () => {
    const path = await withJournal('');
    await appendFile(`${path}.journal`, 'deadbeef {"li');
    const lease = await storeAt(path).lock(lockRequest());
    await lease.read();
    for (const entry of entriesNamed(['a', 'b'])) await lease.append(entry);
    await lease.release();
    expect((await storeAt(path).read()).journal).toHaveLength(2);
  });

  const three = entriesNamed(['a', 'b', 'c']);
  it.each([
    {
      reason: 'zeros in place of every line',
      content: Buffer.alloc(linesOf(three).length),
      message: /journal:1 {2}.*damaged/,
    },
    {
      reason: 'zeros after complete lines',
      content: Buffer.concat([linesOf(three), Buffer.alloc(100)]),
      message: /journal:4 {2}.*damaged/,
    },
    {
      reason: 'a last line that ends in zeros',
      content: Buffer.concat([linesOf(three).subarray(0, -100), Buffer.alloc(100)]),
      message: /journal:3 {2}.*damaged/,
    },
    {
      reason: 'a last line without its start',
      content: linesOf(three).subarray(20, 100),
      message: /journal:1 {2}.*damaged/,
    },
    {
      reason: 'a last line with invalid UTF-8',
      content: Buffer.concat([linesOf(three).subarray(0, -100), Buffer.from([0xff]), Buffer.from('x')]),
      message: /journal:3 {2}.*damaged/,
    },
    {
      reason: 'a damaged line that is not the last',
      content: linesOf(three).toString().replace('id-a', 'id-x'),
      message: /journal:1 {2}.*damaged/,
    },
    {
      reason: 'a damaged last line with a line break',
      content: linesOf(three).toString().replace('id-c', 'id-x'),
      message: /journal:3 {2}.*damaged/,
    },
    {
      reason: 'an entry that a newer voxform may have written',
      content: lineOf('{"lineage":"L1","serial":0,"sequence":1,"at":"2030","event":{"type":"teleported"}}'),
      message: /journal:1 {2}.*a newer voxform/,
    },
    {
      reason: 'a missing entry in the middle',
      content: linesOf(three.filter(({ sequence }) => sequence !== 2)),
      message: /does not belong to its document/,
    },
    {
      reason: 'a journal of a later state than the present one',
      content: linesOf(three.map((entry) => ({ ...entry, serial: 7 }))),
      message: /continues serial 7, but the state has serial 0/,
    },
  ])('is refused with $reason, and not changed', async ({ content, message }) => {
    const path = await withJournal(content);
    for (const failing of [() => readState(storeAt(path), options), () => openSession(storeAt(path), options)]) {
      const error = await failureOf(failing());
      expect(error.message).toMatch(message);
      expect(error.hint).toMatch(/voxform recover|Upgrade voxform/);
    }
    expect((await readFile(`${path}.journal`)).equals(Buffer.from(content))).toBe(true);
  });

  it('with a damaged end names the command that removes it', async () => {
    const good = linesOf(entriesNamed(['a']));
    const path = await withJournal(Buffer.concat([good, Buffer.alloc(80)]));
    const { hint } = await failureOf(readState(storeAt(path), options));
    const command = /: (truncate .+)$/.exec(hint ?? '')?.[1] ?? 'false';
    execFileSync('sh', ['-c', command]);
    expect([...(await readState(storeAt(path), options)).resources.keys()]).toEqual(['Agent/a']);
  });

  it('that is empty has no entries', async () => {
    const path = await withJournal('');
    expect((await readState(storeAt(path), options)).resources.size).toBe(0);
  });

  it('of another state is set aside, with a notice of its contents', async () => {
    const stranger = entriesNamed(['a']).map((entry) => ({ ...entry, lineage: 'L9' }));
    const path = await withJournal(linesOf(stranger));
    const notices: string[] = [];
    const store = storeAt(path, { warn: (text) => notices.push(text) });
    await (await openSession(store, options)).close();
    expect(notices.join()).toMatch(/belonged to another state.*Agent\/a \(id-a\)/);
    const aside = /moved to (.+?\.aside-\S+)\. It /.exec(notices.join())?.[1] ?? '';
    expect(parseJournal(await readFile(aside), aside).entries).toEqual(stranger);
  });

  it('confirms an entry only after it is on disk', async () => {
    const done: string[] = [];
    const path = await statePath();
    const files = { ...nodeFiles, open: observed(done) };
    const session = await openSession(storeAt(path, { files }), options);
    await session.record(saved('a'));
    done.length = 0;
    await session.record(saved('b')).then(() => done.push('kept'));
    expect(done).toEqual(['write', 'datasync', 'kept']);
    done.length = 0;
    await Promise.all(Array.from({ length: 20 }, (_, index) => session.record(saved(`n${index}`))));
    expect(done, 'concurrent entries share one sync').toEqual(['write', 'datasync']);
    await session.close();
  });

  it('is restored to its previous end when the disk is full, and the next run continues there', async () => {
    const path = await statePath();
    let full = false;
    const files = { ...nodeFiles, open: filledUp(() => full) };
    const session = await openSession(storeAt(path, { files }), options);
    await session.record(saved('a'));
    const size = (await readFile(`${path}.journal`)).length;
    full = true;
    const error = await failureOf(session.record(saved('b')));
    expect([error.message, error.hint]).toEqual([
      expect.stringContaining('the disk is full'),
      expect.stringContaining('everything written so far is kept'),
    ]);
    expect(session.broken).toBe(true);
    full = false;
    await session.close().catch(() => undefined);
    expect((await readFile(`${path}.journal`)).length).toBe(size);
    const next = await openSession(storeAt(path), options);
    expect([...next.state.resources.keys()]).toEqual(['Agent/a']);
    await next.close();
  });
});

function problemOf(act: () => unknown): string {
  try {
    act();
    return '';
  } catch (error) {
    return String(error);
  }
}

/** Returns a line with a correct checksum for any content. */
function lineOf(json: string): string {
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`;
}

/** Opens files whose writes and syncs are recorded. */
function observed(done: string[]): typeof open {
  return async (...args) =>
    intercepted(await open(...args), (name, carryOut) => {
      if (String(args[0]).endsWith('.journal') && (name === 'write' || name === 'datasync')) done.push(name);
      return carryOut();
    });
}

/** Opens files whose writes are only half done while `isFull` returns true. */
function filledUp(isFull: () => boolean): typeof open {
  return async (...args) => {
    const handle = await open(...args);
    return intercepted(handle, async (name, carryOut, [bytes]) => {
      if (name !== 'write' || !isFull() || !String(args[0]).endsWith('.journal')) return carryOut();
      if (bytes instanceof Uint8Array) await handle.write(bytes.subarray(0, bytes.length / 2));
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    });
  };
}

type Intercept = (name: string | symbol, carryOut: () => unknown, args: readonly unknown[]) => unknown;

function intercepted(handle: FileHandle, intercept: Intercept): FileHandle {
  return new Proxy(handle, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => intercept(name, () => Reflect.apply(member, target, args), args);
    },
  });
}
