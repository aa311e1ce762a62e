import { type Files, syncFolderOf, unlinkIfThere } from '../../../files/files.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { JournalEntry } from '../../journal-lines.ts';
import type { LockInfo } from '../../lock-info.ts';
import type { Marks } from '../../marks.ts';
import { type DeadRun, endingLine } from '../../run-history.ts';
import type { StateDocument } from '../../state-document.ts';
import { LostLock, type MovedMark, MovedState } from '../../state-errors.ts';
import type { Ending, LockRequest, StateLease, StoredState } from '../../store.ts';
import type { FailPoint, StoreUser } from '../backend.ts';
import { quarantine } from './backups.ts';
import { keepCurrent, pruneBackups, readDocument, writeDocument, writeMark } from './document-file.ts';
import { onFiles } from './file-problem.ts';
import { addToHistory } from './history-file.ts';
import { JournalWriter } from './journal-writer.ts';
import { isHeld, type LockSettings, releaseLock } from './lock.ts';
import { Heartbeat, removeLeftovers } from './lock-heartbeat.ts';
import { journalPathOf, readStored, readWithNewer, unknownTo } from './read-stored.ts';

interface LocalLeaseParts {
  readonly files: Files;
  readonly path: string;
  readonly location: string;
  readonly info: LockInfo;
  readonly lock: LockSettings;
  readonly request: Pick<LockRequest, 'notice' | 'isStep'>;
  readonly marks: Marks | undefined;
  readonly redact: StoreUser['redact'];
  failPoint(name: FailPoint): void;
}

export class LocalLease implements StateLease {
  readonly info: LockInfo;
  readonly #parts: LocalLeaseParts;
  readonly #heartbeat: Heartbeat;
  #writer: JournalWriter | undefined;
  /** Settles when the files are fit for what comes next: leftovers cleared away, a commit done. */
  #ready: Promise<void> | undefined;
  #released: Promise<void> | undefined;

  constructor(parts: LocalLeaseParts) {
    this.#parts = parts;
    this.info = parts.info;
    const { files, lock, info } = parts;
    this.#heartbeat = new Heartbeat(files, lock.path, {
      id: info.id,
      now: () => lock.now(),
      timing: lock.lockTiming,
    });
  }

  get isRecent(): boolean {
    return this.#heartbeat.isRecent;
  }

  async renew(): Promise<void> {
    this.#assertOpen();
    const { location } = this.#parts;
    if (!(await onFiles('lock', location, () => this.#heartbeat.renew()))) throw new LostLock(location);
  }

  async read(): Promise<StoredState> {
    this.#assertOpen();
    await this.#whenReady();
    return onFiles('read', this.#parts.location, () => readWithNewer(this.#parts));
  }

  async append(entry: JournalEntry): Promise<void> {
    this.#assertOpen();
    await this.#whenReady();
    const { files, path, failPoint } = this.#parts;
    this.#writer ??= new JournalWriter(files, journalPathOf(path), {
      assertHeld: () => this.#assertHeld(),
      failPoint,
    });
    await this.#writer.append(entry);
  }

  async commit(document: StateDocument, expectedSerial: number | undefined, died?: DeadRun): Promise<void> {
    this.#assertOpen();
    const done = this.#whenReady().then(() => this.#commit(document, expectedSerial));
    this.#ready = done.catch(() => undefined);
    const { files, path, location, redact } = this.#parts;
    await onFiles('write', location, () => done);
    if (died) await addToHistory(files, path, endingLine(died, died.ended, { ...died, redact }));
  }

  async quarantine(): Promise<string | undefined> {
    this.#assertOpen();
    const { files, path, location, info } = this.#parts;
    return onFiles('write', location, async () => {
      await this.#assertHeld();
      return quarantine(files, path, info.id);
    });
  }

  async leaveMark(mark: MovedMark): Promise<void> {
    this.#assertOpen();
    await this.#whenReady();
    const { files, path, location, failPoint } = this.#parts;
    await onFiles('write', location, async () => {
      await this.#assertHeld();
      const { document, journal } = (await readStored(files, path)).stored;
      if (document?.serial !== mark.serial || journal.length > 0)
        throw movedOn(location, document?.serial, mark.serial);
      await keepCurrent(files, path, document);
      failPoint('before-mark');
      await writeMark(files, path, mark);
      failPoint('after-mark');
    });
  }

  release(ending: Ending = {}): Promise<void> {
    this.#released ??= this.#release(ending);
    return this.#released;
  }

  async #commit(document: StateDocument, expectedSerial: number | undefined): Promise<void> {
    const { files, path, location, failPoint } = this.#parts;
    await this.#writer?.close();
    if (this.#writer?.failed) throw new Error('a journal that could not be written stays for the next run');
    await this.#assertHeld();
    failPoint('before-fold');
    const stored = await readDocument(files, path).catch((error: unknown) => {
      // What was moved away may come back.
      if (error instanceof MovedState && error.mark.lineage === document.lineage) return undefined;
      throw error;
    });
    if (stored?.serial !== expectedSerial) throw movedOn(location, stored?.serial, expectedSerial);
    if (stored !== undefined) await keepCurrent(files, path, stored);
    await writeDocument(files, { path, document, replaces: stored !== undefined, failPoint });
    failPoint('after-rename');
    await this.#parts.marks?.raise(document, path);
    this.#writer = undefined;
    failPoint('before-truncate');
    await unlinkIfThere(files, journalPathOf(path));
    // Backups too many do no harm: not worth failing for.
    await pruneBackups(files, path).catch(() => undefined);
  }

  async #release({ commit, outcome = { result: 'done' } }: Ending): Promise<void> {
    const { lock, location, files, path, request, redact } = this.#parts;
    try {
      await this.#ready?.catch(() => undefined);
      if (commit === undefined) await this.#writer?.close();
      else await onFiles('write', location, () => this.#commit(commit.document, commit.expectedSerial));
    } finally {
      await this.#heartbeat.end();
      const isOurs = await this.#isHeld().catch(() => false);
      if (isOurs && !request.isStep)
        await addToHistory(files, path, endingLine(this.info, lock.now(), { outcome, redact }));
      await onFiles('lock', location, () => releaseLock(lock, this.info.id));
    }
  }

  #whenReady(): Promise<void> {
    this.#ready ??= this.#clearLeftovers().finally(() => this.#removeLeftovers());
    return this.#ready;
  }

  /** Files too many do no harm: not worth failing for. */
  async #removeLeftovers(): Promise<void> {
    const { lock, path, info } = this.#parts;
    await removeLeftovers(lock, { path, lockPath: lock.path, id: info.id }).catch(() => undefined);
  }

  /** Cuts off a line that was never finished, and removes entries that the document already has. */
  async #clearLeftovers(): Promise<void> {
    const { files, path, location, request, info } = this.#parts;
    const read = await onFiles('read', location, () => readStored(files, path)).catch((error: unknown) => {
      if (error instanceof MovedState) return undefined;
      throw error;
    });
    if (read === undefined || read.journalFile.size === 0) return;
    const { stored, journalFile } = read;
    const journalPath = journalPathOf(path);
    await onFiles('write', location, async () => {
      if (stored.journal.length > 0) {
        if (journalFile.goodLength < journalFile.size)
          await cutOff(files, journalPath, journalFile.goodLength);
        return;
      }
      const unknown = stored.document === undefined ? [] : unknownTo(stored.document, journalFile.leftover);
      if (unknown.length === 0) return unlinkIfThere(files, journalPath);
      const aside = `${journalPath}.aside-${info.id}`;
      await files.rename(journalPath, aside);
      await syncFolderOf(files, path);
      request.notice(
        `the journal of ${location} belonged to another state; it is now in quarantine as ${aside} and names records missing from this state: ${unknown.join(', ')}`,
      );
    });
  }

  #isHeld(): Promise<boolean> {
    return isHeld(this.#parts.lock, this.info.id);
  }

  async #assertHeld(): Promise<void> {
    if (!(await this.#isHeld())) throw new LostLock(this.#parts.location);
  }

  #assertOpen(): void {
    if (this.#released !== undefined) throw new Error('the state lock was already released');
  }
}

async function cutOff(files: Files, path: string, length: number): Promise<void> {
  await using handle = await files.open(path, 'r+');
  await handle.truncate(length);
  await handle.sync();
}

function movedOn(location: string, found: number | undefined, expected: number | undefined): UserError {
  const serial = (value: number | undefined): string => (value === undefined ? 'none' : `serial ${value}`);
  return new UserError(
    `the state ${location} changed during this run: expected ${serial(expected)}, found ${serial(found)}`,
    {
      hint: 'Nothing was overwritten, and the journal has every write of this run. Find out who wrote the state, then plan again.',
    },
  );
}
