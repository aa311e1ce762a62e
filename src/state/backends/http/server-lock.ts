import { randomUUID } from 'node:crypto';
import { UserError } from '../../../problems/user-error.ts';
import { isObject, tryParseJson } from '../../../values/json.ts';
import type { Secret } from '../../../values/value.ts';
import type { Gate, GateHolder, StoredLock } from '../object-store/object-store.ts';
import type { StateResponse, StateServer } from './state-server.ts';

/** The number of refused unlock requests that are tolerated for each lock. */
const MAX_REFUSALS = 3;

export class ServerLock implements Gate {
  readonly #server: StateServer;
  readonly #settings: HttpLocation;
  readonly #location: string;
  /** The bodies of locks that were sent or received, by lock id. */
  readonly #known = new Map<string, object>();
  readonly #refusals = new Map<string, number>();

  constructor(server: StateServer, settings: HttpLocation, location: string) {
    this.#server = server;
    this.#settings = settings;
    this.#location = location;
  }

  /** Requests the lock, and verifies that the server grants it only once. @throws UserError if the server grants two locks. */
  async enter(lock: StoredLock, signal: AbortSignal): Promise<GateHolder | undefined> {
    const info = infoOf(lock);
    this.#known.set(lock.id, info);
    const holder = await this.holderAfter(lock, signal);
    if (holder !== undefined) return holder;
    await this.#probe(info, signal);
    return undefined;
  }

  /** Requests the lock. @returns the holder if another run holds it. */
  async holderAfter(lock: StoredLock, signal: AbortSignal): Promise<GateHolder | undefined> {
    const holder = await this.#requestLock(infoOf(lock), signal);
    return holder?.id === lock.id ? undefined : holder;
  }

  async leave(id: string, signal: AbortSignal): Promise<void> {
    const { unlockAddress, unlockMethod } = this.#settings;
    const body = Buffer.from(JSON.stringify(this.#known.get(id) ?? { ...EMPTY_LOCK, ID: id }));
    // If the request contains no id, some servers remove the current lock regardless of its id.
    const address = id === UNKNOWN ? unlockAddress : withId(unlockAddress, id);
    const refusals = this.#refusals.get(id) ?? 0;
    const { status, reason } = await this.#server.request(unlockMethod, address, { body, signal });
    if (status < 300) return;
    this.#refusals.set(id, refusals + 1);
    // The lock may already be released, or another run may hold it. The next request for the lock detects both cases. Some servers respond
    // with 5xx to a second unlock request.
    const isWrongMethod = status === 405 || status === 501;
    if (!isWrongMethod && status < 500 && refusals < MAX_REFUSALS) return;
    const message = `cannot release the lock ${id} of the state ${this.#location}: ${reason}`;
    if (status >= 500 && !isWrongMethod && refusals < MAX_REFUSALS) throw new Error(message);
    throw new UserError(message, {
      hint: 'Check state.unlock_address and state.unlock_method (GitLab: DELETE).',
    });
  }

  /** Requests a second lock, to detect a server that grants every lock. */
  async #probe(info: LockBody, signal: AbortSignal): Promise<void> {
    const second = { ...info, ID: randomUUID() };
    if ((await this.#requestLock(second, signal)) !== undefined) return;
    this.#known.set(second.ID, second);
    for (const { ID } of [second, info]) await this.leave(ID, signal).catch(() => undefined);
    throw this.#lockError('the server granted two locks at the same time');
  }

  /** @returns the holder, which may be this run; undefined if the lock was granted. */
  async #requestLock(info: LockBody, signal: AbortSignal): Promise<GateHolder | undefined> {
    const { lockAddress, lockMethod } = this.#settings;
    const body = Buffer.from(JSON.stringify(info));
    const response = await this.#server.request(lockMethod, lockAddress, { body, signal });
    const { status, reason } = response;
    if (status < 300) return undefined;
    if (status === 409 || status === 423) return this.#holderIn(response);
    if (status === 404 || status === 405 || status === 501) {
      throw this.#lockError(`the response to ${lockMethod} was ${reason}`);
    }
    const message = `cannot lock the state ${this.#location}: ${reason}`;
    throw status >= 500 ? new Error(message) : new UserError(message);
  }

  #holderIn({ body }: StateResponse): GateHolder {
    const text = body.toString('utf8').trim();
    const value = tryParseJson(text);
    const info = isObject(value) ? value : {};
    const id = [info.ID, text].find((each) => typeof each === 'string' && /^[\w.:-]{1,255}$/.test(each));
    if (typeof id !== 'string') return { id: UNKNOWN };
    // The response may lack the fields of a lock. GitLab returns the operation and the info of this request.
    if (!this.#known.has(id)) this.#known.set(id, { ...EMPTY_LOCK, ...info, ID: id });
    return { id, ...(typeof info.Who === 'string' && info.Who !== '' && { who: info.Who }) };
  }

  #lockError(reason: string): UserError {
    return new UserError(`the server of the state ${this.#location} does not lock it: ${reason}`, {
      hint: 'Nothing was written. Check state.address, lock_address, lock_method and unlock_method; for GitLab: lock_method: POST, unlock_method: DELETE.',
    });
  }
}

/** A placeholder for the id of a lock if the server does not report the id. */
const UNKNOWN = 'unknown';

const EMPTY_LOCK = { ID: '', Operation: '', Info: '', Who: '', Version: '', Created: '', Path: '' };
type LockBody = typeof EMPTY_LOCK;

/** Converts a lock to Terraform's format. */
function infoOf({ id, operation, who, job, since, voxform_version }: StoredLock): LockBody {
  return {
    ID: id,
    Operation: operation,
    Info: job?.url ?? '',
    Who: who,
    Version: voxform_version,
    Created: since,
    Path: '',
  };
}

export function withId(address: string, id: string): string {
  const url = new URL(address);
  url.searchParams.set('ID', id);
  return url.href;
}

/** Addresses, methods and credentials of a state server, from the settings. */
export interface HttpLocation {
  readonly address: string;
  readonly updateMethod: string;
  readonly lockAddress: string;
  readonly lockMethod: string;
  readonly unlockAddress: string;
  readonly unlockMethod: string;
  readonly username: Secret | string | undefined;
  readonly password: Secret | undefined;
}
