import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import { stateBytes } from '../../document-text.ts';
import { type JournalEntry, journalLine } from '../../journal-lines.ts';
import type { LockInfo } from '../../lock-info.ts';
import { writeQuarantine, writeRescue } from '../../rescue.ts';
import { type DeadRun, endingLine, type RunEnding } from '../../run-history.ts';
import { convertLine, encryptLine, noSeal, type Seal } from '../../seal.ts';
import type { StateDocument } from '../../state-document.ts';
import { LostLock, type MovedMark } from '../../state-errors.ts';
import type { Ending, LockRequest, StateLease, StoredState } from '../../store.ts';
import type { StoreUser } from '../backend.ts';
import { writeChange } from './change.ts';
import { type AcquiredLock, type LockContext, leave } from './lock.ts';
import {
  type Change,
  type ObjectStore,
  SecondState,
  type StoredContent,
  type StoredLock,
  WriteConflict,
} from './object-store.ts';
import type { Retries } from './retries.ts';
import { decryptContent, parseContent, serialIn, textOfMark, withNewer } from './stored-content.ts';

/** The maximum number of pauses before a write while entries keep arriving. */
const MAX_PAUSES = 5;

const FAST_WRITE_MS = 5;

/** The optional parts of a change. */
type Content = Omit<Change, 'write' | 'summary'>;

/** The permission to write. Each write is based on the previous one, so that a holder that lost its lock cannot write. */
export class Lease implements StateLease {
  readonly info: LockInfo;
  readonly #store: ObjectStore;
  readonly #user: StoreUser;
  readonly #seal: Seal;
  readonly #retries: Retries;
  readonly #request: LockRequest;
  #lock: StoredLock;
  /** The stored content after the last write of this run. */
  #content: StoredContent;
  #waiting: { readonly entry: JournalEntry; resolve(): void; reject(error: unknown): void }[] = [];
  /** Present while waiting entries are collected for the next write. */
  #gathering: Promise<void> | undefined;
  /** Addresses of stored intents without an outcome so far. */
  readonly #inFlight = new Set<string>();
  /** Serializes writes; never rejects. */
  #writes: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  /** The serial of the document in `state`, once it is known. */
  #known: { readonly state: Uint8Array | undefined; readonly serial: number | undefined } | undefined;
  /** Entries that could not be stored. */
  readonly #unsaved: JournalEntry[] = [];
  #released: Promise<void> | undefined;
  readonly #heartbeat: NodeJS.Timeout;
  /** A slowly rising minimum of the durations of writes, in milliseconds, because a busy thread can make some writes look slow. */
  #writeMs = Number.POSITIVE_INFINITY;
  /** The time just before the last renewal was sent. For other runs, the timeout starts at this time or later. */
  #renewed: ClockReading | undefined;

  constructor({ store, user, retries }: LockContext, request: LockRequest, { lock, content }: AcquiredLock) {
    const { heard: _, ...info } = lock;
    this.info = info;
    this.#lock = lock;
    this.#store = store;
    this.#user = user;
    this.#seal = user.seal ?? noSeal;
    this.#retries = retries;
    this.#request = request;
    this.#content = content;
    this.#heartbeat = setInterval(() => this.#renewIdle(), store.timing.heartbeat);
    this.#heartbeat.unref();
  }

  get isRecent(): boolean {
    return this.#age <= this.#store.timing.takeoverAfter(this.info) / 2;
  }

  renew(): Promise<void> {
    this.#assertOpen();
    return this.#write('alive', () => ({}));
  }

  async read(): Promise<StoredState> {
    this.#assertOpen();
    await this.#writes;
    await this.#catchUp();
    const [content, store, user] = [this.#content, this.#store, this.#user];
    const stored = await decryptContent(parseContent(content, store.location), store.location, user.seal);
    this.#known = { state: content.state, serial: stored.document?.serial };
    return withNewer(stored, { store, user, content });
  }

  append(entry: JournalEntry): Promise<void> {
    this.#assertOpen();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { event } = entry;
    if (event.type === 'saved' || event.type === 'not-done') this.#inFlight.delete(event.address);
    this.#waiting.push({ entry, resolve, reject });
    this.#gathering ??= this.#gather();
    return promise;
  }

  async commit(document: StateDocument, expectedSerial: number | undefined, died?: DeadRun): Promise<void> {
    this.#assertOpen();
    await this.#write('state', async () => ({
      ...(await this.#contentOf(document, expectedSerial)),
      ...(died && { history: await this.#ending(died, died.ended, died.outcome) }),
    }));
    await this.#raiseMark(document);
  }

  async convert(document: StateDocument, expectedSerial: number): Promise<readonly string[]> {
    this.#assertOpen();
    await this.#write('convert', async () => {
      const stored = await this.#retries.read((signal) => this.#store.history(signal));
      const lines = stored.filter((line) => line !== '');
      const history = await Promise.all(lines.map((line) => convertLine(line, this.#seal)));
      return { ...(await this.#contentOf(document, expectedSerial)), converted: { history } };
    });
    await this.#raiseMark(document);
    return (await this.#store.local?.convertBackups(this.#seal)) ?? [];
  }

  async quarantine(): Promise<string | undefined> {
    this.#assertOpen();
    const { local } = this.#store;
    if (local !== undefined) {
      await this.renew();
      const moved = await local.quarantine(this.info.id);
      await this.#readAgain();
      return moved;
    }
    const { state, journal } = this.#content;
    if (state === undefined && journal.length === 0) return undefined;
    const moved = await writeQuarantine(this.#user.root, { state, journal, run: this.info.id });
    await this.#write('quarantine', () => ({ state: null, journal: null }));
    return moved;
  }

  async leaveMark(mark: MovedMark): Promise<void> {
    this.#assertOpen();
    await this.#write('moved', async () => {
      await this.#catchUp();
      const { document, journal } = parseContent(this.#content, this.#store.location);
      if (document?.serial !== mark.serial || journal.length > 0) throw concurrentChangeError(this.#store.location);
      return { state: textOfMark(mark), replaces: document.serial, journal: null };
    });
  }

  release(ending: Ending = {}): Promise<void> {
    this.#released ??= this.#release(ending);
    return this.#released;
  }

  async #release({ commit, outcome = { result: 'done' } }: Ending): Promise<void> {
    clearInterval(this.#heartbeat);
    try {
      while (this.#gathering !== undefined) await this.#gathering;
      await this.#write('end', async () => ({
        ...(commit !== undefined && (await this.#contentOf(commit.document, commit.expectedSerial))),
        lock: null,
        ...(!this.#request.isStep && { history: await this.#ending(this.info, this.#user.now(), outcome) }),
      }));
      if (commit !== undefined) await this.#raiseMark(commit.document);
    } catch (error) {
      // If there is no document to commit, losing the lock causes no data loss.
      if (!(error instanceof LostLock) || commit !== undefined) throw error;
    } finally {
      await this.#keepUnsaved();
      await leave({ store: this.#store, user: this.#user, retries: this.#retries }, this.info.id).catch((error) => {
        const { message, hint } = unreachable(this.#store, error);
        const help = hint === undefined ? '' : `. ${hint}`;
        // An earlier failure of the store was already reported.
        const reason = this.#failure === undefined ? `: ${message}${help}` : '';
        this.#request.warn(`the lock was not released, so the next run may have to wait${reason}`);
      });
    }
  }

  async #catchUp(): Promise<void> {
    if (this.#content.isBehind) await this.#readAgain();
  }

  async #readAgain(): Promise<void> {
    this.#content = await this.#store.read(new AbortController().signal);
  }

  #ending(run: Pick<LockInfo, 'id'>, ended: Date, outcome: RunEnding): Promise<string> {
    return encryptLine(endingLine(run, ended, { outcome, redact: this.#user.redact }), run.id, this.#seal);
  }

  /**
   * Writes entries in batches. A batch collects the entries that arrive during the previous write, until a pause without further entries.
   * The batch also waits for the outcomes of earlier intents, but at most for `MAX_PAUSES` pauses. While writes are fast, a batch is small:
   * the requests of one batch then run while the next one is written, instead of all waiting for each other.
   */
  async #gather(): Promise<void> {
    const { gather, fastBatch = Number.POSITIVE_INFINITY } = this.#store.timing;
    await this.#writes;
    let count = -1;
    const mayGrow = (): boolean => count < this.#waiting.length || this.#inFlight.size > 0;
    for (let pauses = 0; gather > 0 && pauses < MAX_PAUSES && mayGrow(); pauses++) {
      count = this.#waiting.length;
      await delay(gather);
    }
    const isFast = this.#writeMs < FAST_WRITE_MS;
    const batch = this.#waiting.splice(0, isFast ? fastBatch : Number.POSITIVE_INFINITY);
    const start = performance.now();
    const size = batch.length === 1 ? '1 entry' : `${batch.length} entries`;
    const written = this.#write(size, async () => {
      const entries = await Promise.all(batch.map(({ entry }) => this.#seal.encryptEntry(entry)));
      return { journal: Buffer.from(entries.map(journalLine).join('')) };
    });
    this.#gathering = this.#waiting.length > 0 ? this.#gather() : undefined;
    try {
      await written;
      this.#writeMs = Math.min(performance.now() - start, Math.max(1, 1.1 * this.#writeMs));
      for (const { entry, resolve } of batch) {
        const { event } = entry;
        if (event.type === 'creating' || event.type === 'updating') this.#inFlight.add(event.address);
        resolve();
      }
    } catch (error) {
      this.#unsaved.push(...batch.map(({ entry }) => entry));
      for (const { reject } of batch) reject(error);
    }
  }

  #readClocks(): ClockReading {
    return { monotonic: performance.now(), wall: this.#user.now().getTime() };
  }

  /** Milliseconds since the last renewal: the larger of two clocks, because one stops during sleep and the other may be set back. */
  get #age(): number {
    if (this.#renewed === undefined) return Number.POSITIVE_INFINITY;
    const { monotonic, wall } = this.#readClocks();
    return Math.max(monotonic - this.#renewed.monotonic, wall - this.#renewed.wall);
  }

  /** Renews the lock unless a write has just done so. A failure is ignored here, because the next write fails too. */
  #renewIdle(): void {
    if (this.#age < this.#store.timing.heartbeat / 2) return;
    this.#write('alive', () => ({})).catch(() => undefined);
  }

  /** Writes on top of the last write, and thereby renews the lock. After a failure, nothing more is written. */
  #write(summary: string, content: () => Content | Promise<Content>): Promise<void> {
    const done = this.#writes.then(async () => {
      if (this.#failure !== undefined) throw this.#failure.error;
      const parts = await content();
      const start = this.#readClocks();
      const lock = { ...this.#lock, heard: new Date(start.wall).toISOString() };
      const change: Change = {
        write: randomUUID(),
        summary: `${this.info.operation}: ${summary}`,
        ...(parts.lock === undefined && { lock }),
        ...parts,
      };
      try {
        this.#content = await writeChange({ store: this.#store, retries: this.#retries }, change, this.#content);
        if (change.state !== undefined) this.#known = { state: this.#content.state, serial: change.document?.serial };
        this.#lock = lock;
        this.#renewed = start;
      } catch (error) {
        // Nothing was stored, and this run still has the lock.
        if (error instanceof SecondState) throw error;
        const problem =
          error instanceof WriteConflict ? new LostLock(this.#store.location) : problemWith(this.#store, error);
        // A failed renewal of a local lock file is not fatal: `isRecent` becomes false if renewals keep failing.
        const isLocalRenewal = this.#store.local !== undefined && Object.keys(parts).length === 0;
        if (!isLocalRenewal || problem instanceof LostLock) this.#failure = { error: problem };
        throw problem;
      }
    });
    this.#writes = done.catch(() => undefined);
    return done;
  }

  async #contentOf(document: StateDocument, expectedSerial: number | undefined): Promise<Content> {
    const [content, { location }] = [this.#content, this.#store];
    const isKnown =
      content.state !== undefined && this.#known?.state === content.state && this.#known.serial !== undefined;
    const serial = isKnown ? this.#known?.serial : serialIn(content, location, document.lineage);
    if (serial !== expectedSerial) throw concurrentChangeError(location);
    const state = stateBytes(await this.#seal.encrypt(document));
    return { state, document, replaces: serial, journal: null };
  }

  async #raiseMark(document: StateDocument): Promise<void> {
    const { location, local } = this.#store;
    if (local === undefined) await this.#user.marks?.raise(document, location);
  }

  /** Writes the entries that could not be stored to a rescue file, because the ids in them exist nowhere else. */
  async #keepUnsaved(): Promise<void> {
    if (this.#unsaved.length === 0) return;
    const { location } = this.#store;
    const unsaved = { location, entries: this.#unsaved, run: this.info.id };
    const warning = await writeRescue(this.#user.root, unsaved, this.#seal);
    if (warning !== undefined) this.#request.warn(warning);
  }

  #assertOpen(): void {
    if (this.#released !== undefined) throw new Error('the state lock was already released');
  }
}

/** Converts an error of the store to the error for the user. */
export function problemWith(store: ObjectStore, error: unknown): unknown {
  // A local store already throws a `UserError` for every failure that a user can fix.
  return store.local === undefined ? unreachable(store, error) : error;
}

function unreachable({ location }: ObjectStore, error: unknown): UserError {
  if (error instanceof UserError) return error;
  return new UserError(`cannot reach the state ${location}: ${errorMessage(error)}`, { cause: error });
}

export function concurrentChangeError(location: string): UserError {
  return new UserError(`the state ${location} changed during this run`, {
    hint: 'Nothing was overwritten. Find out who wrote the state, then plan again.',
  });
}

/** A reading of both clocks, in milliseconds. */
interface ClockReading {
  readonly monotonic: number;
  readonly wall: number;
}
