import { looksLikeMarkup } from '../../../platform/plain-text.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import {
  type Change,
  clocklessTiming,
  type LockTiming,
  type ObjectStore,
  type StoredContent,
  type StoredLock,
  WriteConflict,
} from '../object-store/object-store.ts';
import { type HttpLocation, ServerLock, withId } from './server-lock.ts';
import { bodyOf, nextVersion, noVersion, parseVersion, type StateVersion } from './state-envelope.ts';
import { StateServer } from './state-server.ts';

/** On servers that check only locks, a version that was read under the lock counts as current for this time. */
const MAX_AGE_MS = 30_000;

interface HttpStoreOptions {
  readonly settings: HttpLocation;
  readonly location: string;
  readonly user: StoreUser;
  readonly timing?: LockTiming;
  readonly timeoutMilliseconds?: number;
}

/**
 * A state on a server with Terraform's http protocol. GitLab accepts each serial only once, so that only one of several concurrent writes
 * succeeds. Other servers accept any write with the id of the lock. On these servers, the version is read again before it is replaced,
 * unless it was just read under the same lock.
 */
export function httpStore(options: HttpStoreOptions): ObjectStore {
  const { settings, location, user } = options;
  const server = new StateServer({ ...settings, ...options });
  const lock = new ServerLock(server, settings, location);
  let known: StateVersion | undefined;
  let knownAt = 0;
  const keep = (version: StateVersion): void => {
    known = version;
    knownAt = user.now().getTime();
  };

  const read = async (signal: AbortSignal): Promise<StateVersion> => {
    const { status, body, reason } = await server.request('GET', settings.address, { signal });
    // The error page of a restarting gateway must not be mistaken for a missing state, because a second state would be created.
    const isGatewayError = status === 404 && looksLikeMarkup(body.toString('utf8', 0, 200));
    if (status >= 500 || isGatewayError) throw new Error(`its server responded with ${reason}`);
    if (status > 204 && status !== 404) {
      throw new UserError(`cannot read the state ${location}: ${reason}`, { hint: 'Check state.address.' });
    }
    const isMissing = status === 404 || status === 204 || body.length === 0;
    const version = isMissing ? noVersion() : parseVersion(body, location, user.now());
    keep(version);
    return version;
  };

  /** Ids of writes without a response. If the server does not check serials, these writes may still arrive and undo later writes. */
  const unconfirmed = new Set<string>();

  /** Returns the version of this content, from the cache or the server. */
  const versionOf = async (base: StoredContent, signal: AbortSignal): Promise<StateVersion> => {
    const isFresh = unconfirmed.size === 0 && Math.abs(user.now().getTime() - knownAt) < MAX_AGE_MS;
    const last = known?.stored.revision === base.revision ? known : undefined;
    if (isFresh && last !== undefined) return last;
    const version = await read(signal);
    if (version.stored.revision === base.revision) return version;
    if (last !== undefined && unconfirmed.has(version.stored.write ?? '')) return last;
    throw new WriteConflict();
  };

  /** Returns the error for a refused write: a write conflict if another run wrote or locked the state, otherwise `error`. */
  const refusal = async (
    error: Error,
    { base, holder, signal }: { base: StoredContent; holder: StoredLock | undefined; signal: AbortSignal },
  ): Promise<Error> => {
    if ((await read(signal)).stored.revision !== base.revision) return new WriteConflict();
    // A restart of the server or a forced unlock may have removed our lock, so request it again.
    const other = holder && (await lock.holderAfter(holder, signal));
    return other === undefined ? error : new WriteConflict();
  };

  return {
    location,
    setting: 'state.address',
    timing: options.timing ?? clocklessTiming,
    read: async (signal) => (await read(signal)).stored,
    async write(change: Change, base, signal) {
      const version = nextVersion(await versionOf(base, signal), change);
      const holder = change.lock ?? base.lock;
      const address = holder === undefined ? settings.address : withId(settings.address, holder.id);
      const body = bodyOf(version, user.version);
      known = undefined;
      const isRepeated = unconfirmed.has(change.write);
      unconfirmed.add(change.write);
      const { status, reason } = await server.request(settings.updateMethod, address, { body, signal });
      if (status < 500 && !isRepeated) unconfirmed.delete(change.write);
      if (status >= 300) {
        const message = `the server of the state ${location} refused a write: ${reason}`;
        // GitLab responds with 500 if this run does not hold the lock.
        const error = isTemporary(status) ? new Error(message) : new UserError(message);
        throw await refusal(error, { base, holder, signal });
      }
      keep(version);
      return version.stored;
    },
    gate: {
      async enter(requested, signal) {
        const holder = await lock.enter(requested, signal);
        // The previous holder may have written since the last read.
        known = undefined;
        return holder;
      },
      leave: (id, signal) => lock.leave(id, signal),
    },
    history: async (signal) => (await read(signal)).history,
  };
}

/** True for the statuses of write conflicts and temporary failures. */
function isTemporary(status: number): boolean {
  return [409, 412, 423, 428].includes(status) || status >= 500;
}
