import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import { type JournalEntry, journalLine } from '../../journal-lines.ts';
import { LockAge } from '../../lock-age.ts';
import type { LockInfo } from '../../lock-info.ts';
import { writeQuarantine, writeRescue } from '../../rescue.ts';
import { type DeadRun, endingLine } from '../../run-history.ts';
import type { StateDocument } from '../../state-document.ts';
import { LostLock, type MovedMark } from '../../state-errors.ts';
import type { Ending, LockRequest, StateLease, StoredState } from '../../store.ts';
import type { StoreUser } from '../backend.ts';
import type { Reaching } from './reaching.ts';
import { serialIn, storedIn, textOfDocument, textOfMark, withNewer } from './remote-content.ts';
import { type Locked, type Locking, millisecondsUntilTakeover } from './remote-lock.ts';
import {
  Overtaken,
  type RemoteChange,
  type RemoteContent,
  type RemoteLock,
  type RemotePlace,
  SecondState,
} from './remote-place.ts';
import { writeSurely } from './write-surely.ts';

/** Of gathering, each with something new. */
const MOST_PAUSES = 5;

/** All but what every change has. */
type Content = Omit<RemoteChange, 'write' | 'summary'>;

/** The right to write, held by a lock that is in the place itself: every write stands on the one before, so that a holder whose lock is gone can write nothing. */
export class RemoteLease implements StateLease {
  readonly info: LockInfo;
  readonly #place: RemotePlace;
  readonly #user: StoreUser;
  readonly #reaching: Reaching;
  readonly #request: LockRequest;
  #lock: RemoteLock;
  #held: RemoteContent;
  #waiting: { readonly entry: JournalEntry; resolve(): void; reject(error: unknown): void }[] = [];
  #gathering: Promise<void> | undefined;
  /** One write after the other; never rejects. */
  #writes: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  /** Handed in and not stored. */
  readonly #unsaved: JournalEntry[] = [];
  #released: Promise<void> | undefined;
  readonly #heart: NodeJS.Timeout;
  readonly #age: LockAge;

  constructor({ place, user, reaching }: Locking, request: LockRequest, { lock, held }: Locked) {
    const { heard: _, ...info } = lock;
    this.info = info;
    this.#lock = lock;
    this.#place = place;
    this.#user = user;
    this.#reaching = reaching;
    this.#request = request;
    this.#held = held;
    this.#age = new LockAge(() => user.now(), millisecondsUntilTakeover(info, place.timing));
    this.#heart = setInterval(() => this.#beat(), place.timing.beat);
    this.#heart.unref();
  }

  get isRecent(): boolean {
    return this.#age.isRecent;
  }

  renew(): Promise<void> {
    this.#assertOpen();
    return this.#write('alive', () => ({}));
  }

  async read(): Promise<StoredState> {
    this.#assertOpen();
    await this.#writes;
    return withNewer(storedIn(this.#held, this.#place), this.#user.marks);
  }

  append(entry: JournalEntry): Promise<void> {
    this.#assertOpen();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ entry, resolve, reject });
    this.#gathering ??= this.#gather();
    return promise;
  }

  async commit(document: StateDocument, expectedSerial: number | undefined, died?: DeadRun): Promise<void> {
    this.#assertOpen();
    await this.#write('state', () => ({
      ...this.#contentOf(document, expectedSerial),
      ...(died && { history: endingLine(died, died.ended, { ...died, redact: this.#user.redact }) }),
    }));
    await this.#user.marks?.raise(document, this.#place.location);
  }

  async quarantine(): Promise<string | undefined> {
    this.#assertOpen();
    const { state, journal } = this.#held;
    if (state === undefined && journal.length === 0) return undefined;
    const aside = await writeQuarantine(this.#user.root, { state, journal, run: this.info.id });
    await this.#write('quarantine', () => ({ state: null, journal: null }));
    return aside;
  }

  async leaveMark(mark: MovedMark): Promise<void> {
    this.#assertOpen();
    await this.#write('moved', () => {
      const { document, journal } = storedIn(this.#held, this.#place);
      if (document?.serial !== mark.serial || journal.length > 0) throw movedOn(this.#place.location);
      return { state: textOfMark(mark), journal: null };
    });
  }

  release(ending: Ending = {}): Promise<void> {
    this.#released ??= this.#release(ending);
    return this.#released;
  }

  async #release({ commit, outcome = { result: 'done' } }: Ending): Promise<void> {
    clearInterval(this.#heart);
    try {
      await this.#gathering;
      await this.#write('end', () => ({
        ...(commit !== undefined && this.#contentOf(commit.document, commit.expectedSerial)),
        lock: null,
        ...(!this.#request.isStep && {
          history: endingLine(this.info, this.#user.now(), { outcome, redact: this.#user.redact }),
        }),
      }));
      if (commit !== undefined) await this.#user.marks?.raise(commit.document, this.#place.location);
    } catch (error) {
      // Whoever took the lock has the right to it; without a document nothing is lost by that.
      if (!(error instanceof LostLock) || commit !== undefined) throw error;
    } finally {
      await this.#keepUnsaved();
      const { gate } = this.#place;
      await this.#reaching
        .write(async (signal) => gate?.leave(this.info.id, signal))
        .catch((error) => {
          const { message, hint } = problemWith(this.#place, error);
          const help = hint === undefined ? '' : `. ${hint}`;
          // A store that failed before has been reported.
          const why = this.#failure === undefined ? `: ${message}${help}` : '';
          this.#request.warn(`the lock was not released, so that the next run may have to wait${why}`);
        });
    }
  }

  /**
   * What comes while a write is under way, and after it until nothing comes for a while, goes together in the next one: the outcomes of
   * that write's intents too.
   */
  async #gather(): Promise<void> {
    const { gather } = this.#place.timing;
    await this.#writes;
    let seen = -1;
    for (let pauses = 0; gather > 0 && pauses < MOST_PAUSES && seen < this.#waiting.length; pauses++) {
      seen = this.#waiting.length;
      await delay(gather);
    }
    this.#gathering = undefined;
    const batch = this.#waiting.splice(0);
    try {
      const lines = batch.map(({ entry }) => journalLine(entry)).join('');
      const count = batch.length === 1 ? '1 entry' : `${batch.length} entries`;
      await this.#write(count, () => ({ journal: Buffer.from(lines) }));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      this.#unsaved.push(...batch.map(({ entry }) => entry));
      for (const { reject } of batch) reject(error);
    }
  }

  /** A sign of life; where one fails, the next write says so. */
  #beat(): void {
    const since = Date.parse(this.#lock.heard);
    if (this.#user.now().getTime() - since < this.#place.timing.beat / 2) return;
    this.#write('alive', () => ({})).catch(() => undefined);
  }

  /** One write on top of the last one, with a sign of life in it. After one that failed there is no other. */
  #write(what: string, content: () => Content): Promise<void> {
    const done = this.#writes.then(async () => {
      if (this.#failure !== undefined) throw this.#failure.error;
      const given = content();
      const began = this.#age.moment();
      const lock = { ...this.#lock, heard: new Date(began.wall).toISOString() };
      const change: RemoteChange = {
        write: randomUUID(),
        summary: `${this.info.operation}: ${what}`,
        ...(given.lock === undefined && { lock }),
        ...given,
      };
      try {
        this.#held = await writeSurely({ place: this.#place, reaching: this.#reaching }, change, this.#held);
        this.#lock = lock;
        this.#age.renewedAt(began);
      } catch (error) {
        // Nothing was stored, and the lock is still ours to release.
        if (error instanceof SecondState) throw error;
        const lost =
          error instanceof Overtaken ? new LostLock(this.#place.location) : problemWith(this.#place, error);
        this.#failure = { error: lost };
        throw lost;
      }
    });
    this.#writes = done.catch(() => undefined);
    return done;
  }

  #contentOf(document: StateDocument, expectedSerial: number | undefined): Content {
    const serial = serialIn(this.#held, this.#place, document.lineage);
    if (serial !== expectedSerial) throw movedOn(this.#place.location);
    return { state: textOfDocument(document), journal: null };
  }

  /** The ids that could not be stored are the only copy there is. */
  async #keepUnsaved(): Promise<void> {
    if (this.#unsaved.length === 0) return;
    const { location } = this.#place;
    const unsaved = { location, entries: this.#unsaved, run: this.info.id };
    const warning = await writeRescue(this.#user.root, unsaved);
    if (warning !== undefined) this.#request.warn(warning);
  }

  #assertOpen(): void {
    if (this.#released !== undefined) throw new Error('the state lock was already released');
  }
}

/** What a person reads where the place did not answer. */
export function problemWith({ location }: RemotePlace, error: unknown): UserError {
  if (error instanceof UserError) return error;
  const why = errorMessage(error);
  return new UserError(`cannot reach the state ${location}: ${why}`, { cause: error });
}

function movedOn(location: string): UserError {
  return new UserError(`the state ${location} changed during this run`, {
    hint: 'Nothing was overwritten. Find out who wrote the state, then plan again.',
  });
}
