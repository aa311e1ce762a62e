import { looksLikeMarkup } from '../../../platform/plain-text.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import {
  type Change,
  type LockTiming,
  type ObjectStore,
  type StoredContent,
  type StoredLock,
  WriteConflict,
} from '../object-store/object-store.ts';
import { type HttpPlace, ServerLock, withId } from './server-lock.ts';
import { bodyOf, nextVersion, noVersion, parseVersion, type StateVersion } from './state-envelope.ts';
import { StateServer } from './state-server.ts';

/** Milliseconds. */
const TIMING: LockTiming = { heartbeat: 150_000, takeoverAfter: () => 720_000, gather: 90, poll: 2_000 };

/** For how long it is believed that nobody else wrote, in milliseconds: where a server keeps locks, and looks at them alone. */
const FRESH = 30_000;

interface HttpPlaceOptions {
  readonly place: HttpPlace;
  readonly location: string;
  readonly user: StoreUser;
  readonly timing?: LockTiming;
  readonly timeoutMilliseconds?: number;
}

/**
 * A state on a server of Terraform's http protocol. GitLab takes each serial once, so that one of several writes on the same version wins. Other
 * servers take whatever comes with the id of the lock: there a version is looked at again before it is written upon, unless that was done
 * under the same lock a moment ago.
 */
export function httpPlace(options: HttpPlaceOptions): ObjectStore {
  const { place, location, user } = options;
  const server = new StateServer({ ...place, ...options });
  const lock = new ServerLock(server, place, location);
  let known: StateVersion | undefined;
  let knownAt = 0;
  const keep = (version: StateVersion): void => {
    known = version;
    knownAt = user.now().getTime();
  };

  const read = async (signal: AbortSignal): Promise<StateVersion> => {
    const { status, body, said } = await server.ask('GET', place.address, { signal });
    // A gateway has pages for what is being restarted behind it: taken for an empty state, they would end in a second one.
    const isGateways = status === 404 && looksLikeMarkup(body.toString('utf8', 0, 200));
    if (status >= 500 || isGateways) throw new Error(`its server answered ${said}`);
    if (status > 204 && status !== 404) {
      throw new UserError(`cannot read the state ${location}: ${said}`, { hint: 'Check state.address.' });
    }
    const isNone = status === 404 || status === 204 || body.length === 0;
    const version = isNone ? noVersion() : parseVersion(body, location, user.now());
    keep(version);
    return version;
  };

  /** Writes whose answer was lost: where a server looks at no serial, they may still arrive and undo what came after them. */
  const late = new Set<string>();

  /** The version that is held, as far as that is known, or as it stands there. */
  const versionOf = async (held: StoredContent, signal: AbortSignal): Promise<StateVersion> => {
    const isFresh = late.size === 0 && Math.abs(user.now().getTime() - knownAt) < FRESH;
    const last = known?.held.revision === held.revision ? known : undefined;
    if (isFresh && last !== undefined) return last;
    const version = await read(signal);
    if (version.held.revision === held.revision) return version;
    if (last !== undefined && late.has(version.held.write ?? '')) return last;
    throw new WriteConflict();
  };

  /** What it means that a write was refused, whose error would be the one that is given. */
  const refusal = async (
    error: Error,
    { held, holder, signal }: { held: StoredContent; holder: StoredLock | undefined; signal: AbortSignal },
  ): Promise<Error> => {
    if ((await read(signal)).held.revision !== held.revision) return new WriteConflict();
    // Its own lock may be gone, after a restart of the server or a forced unlock: it is asked for again.
    const other = holder && (await lock.holderAfter(holder, signal));
    return other === undefined ? error : new WriteConflict();
  };

  return {
    location,
    setting: 'state.address',
    timing: options.timing ?? TIMING,
    read: async (signal) => (await read(signal)).held,
    async write(change: Change, held, signal) {
      const version = nextVersion(await versionOf(held, signal), change);
      const holder = change.lock ?? held.lock;
      const address = holder === undefined ? place.address : withId(place.address, holder.id);
      const body = bodyOf(version, user.version);
      known = undefined;
      const isRepeated = late.has(change.write);
      late.add(change.write);
      const { status, said } = await server.ask(place.updateMethod, address, { body, signal });
      if (status < 500 && !isRepeated) late.delete(change.write);
      if (status >= 300) {
        const message = `the server of the state ${location} refused a write: ${said}`;
        // GitLab answers 500 to whoever has not got the lock.
        const error = mayPass(status) ? new Error(message) : new UserError(message);
        throw await refusal(error, { held, holder, signal });
      }
      keep(version);
      return version.held;
    },
    gate: {
      async enter(asked, signal) {
        const holder = await lock.enter(asked, signal);
        // What was read before may have been written upon by whoever had the lock.
        known = undefined;
        return holder;
      },
      leave: (id, signal) => lock.leave(id, signal),
    },
    history: async (signal) => (await read(signal)).history,
    // The server keeps versions, which only its own interface shows.
    earlier: async () => [],
  };
}

/** Somebody else was first, or is at work; where that is not so, the server may find out. */
function mayPass(status: number): boolean {
  return [409, 412, 423, 428].includes(status) || status >= 500;
}
