import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Address } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError, recordedMessage } from '../../platform/platform-error.ts';
import { ForeignRecord } from '../../platform/workspace-check.ts';
import { errorMessage } from '../../problems/error-code.ts';
import { UserError, type UserErrorOptions } from '../../problems/user-error.ts';
import type { Fingerprints } from '../../state/fingerprint.ts';
import type { StateSession } from '../../state/session.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { LostLock } from '../../state/state-errors.ts';
import { references, type Secret, type Value } from '../../values/value.ts';
import type { Observation } from '../decide/observed.ts';
import type { Action } from '../plan/plan-actions.ts';
import type { PlannedResource, Remark } from '../plan/plan-document.ts';
import type { Failure } from './apply-report.ts';

export interface WriteTools {
  /** The open session, with the state that the plan was made from. */
  readonly session: StateSession;
  readonly fingerprints: Fingerprints;
  secret(name: string): Secret;
  now(): Date;
}

export interface ResourceWrite extends WriteTools {
  readonly client: PlatformClient;
  readonly workspaceId: string;
  readonly kind: Kind;
  readonly planned: PlannedResource;
  readonly observation: Observation | undefined;
  /** The entry to record if no request is needed. */
  readonly settled: ResourceEntry | undefined;
  /** The addresses of all managed records. Created records are added. */
  readonly holders: Map<string, Address>;
  /** Reads the record again; undefined while the read of the plan is recent enough. */
  readonly recheck: (() => Promise<Observation>) | undefined;
  /** Checks whether a list that is read again has a record with this natural key; undefined if the plan was just made from one page. */
  readonly isTaken: ((naturalKey: string) => Promise<boolean>) | undefined;
  /** Returns true if a list contained the record before the first create. */
  existedBefore(id: string): boolean;
  findByKey(naturalKey: string): Promise<readonly ShownRecord[]>;
  /** Called after the last request, when the session has the outcome. The next write then starts, and may share one save of the state. */
  onRecorded(): void;
  warn(remark: Remark): void;
  /** Called with the fields for which the platform kept its own value. */
  ignored(paths: ReadonlySet<string>): void;
}

export class MissingReference extends Error {
  override readonly name = 'MissingReference';
  readonly address: Address;

  constructor(value: Value) {
    const address = references(value)[0]?.address ?? '';
    super(`${address} has no record`);
    this.address = address;
  }
}

/** Thrown if the platform has a record whose id could not be saved in the state. The user must note the id. */
export class UnsavedRecord extends UserError {
  override readonly name = 'UnsavedRecord';

  constructor(address: Address, id: string, { cause }: { readonly cause: unknown }) {
    super(`${address} exists as ${id}, but the state could not be written`, {
      next: [{ action: 'import', address, id, reason: 'unsaved' }],
      cause,
    });
  }
}

/** Thrown before a request if the state cannot be written. */
export class UnrecordedIntent extends Error {
  override readonly name = 'UnrecordedIntent';
}

/** Thrown if the id in the response to a write cannot be the id of the written record. The response is not used. */
export class UnexpectedResponse extends UserError {
  override readonly name = 'UnexpectedResponse';

  constructor(address: Address, problem: string, help: Pick<UserErrorOptions, 'hint' | 'next'>) {
    super(`invalid response for ${address}: ${problem}`, help);
  }
}

export const creates: ReadonlySet<Action> = new Set(['create', 'replace']);

/** After this many lost responses in a row, further responses are likely to be lost, and a person would have to resolve each create. */
const MAX_LOST_CREATES = 3;

/** Counts unknown creates in a row, of any kind, across all parts of a plan. */
export class UnknownCreateCounter {
  #consecutive = 0;

  /** Counts a failed create. Ignores a create that was not sent. */
  count(error: unknown, isUnknown: boolean): void {
    if (isUnknown) this.#consecutive += 1;
    else if (error instanceof PlatformError && error.reason === 'status') this.reset();
  }

  reset(): void {
    this.#consecutive = 0;
  }

  /** The reason why no further create is sent, as a clause. */
  get haltReason(): string | undefined {
    return this.#consecutive < MAX_LOST_CREATES ? undefined : `${this.#consecutive} creates in a row are unknown`;
  }
}

/** Returns the reason, as a clause, why no further write is started after this failure, if any. */
export function haltReason(
  error: unknown,
  { onError, session }: { readonly onError: 'continue' | 'stop'; readonly session: StateSession },
): string | undefined {
  const isUnsaved = error instanceof UnrecordedIntent || error instanceof UnsavedRecord;
  const cause = isUnsaved ? error.cause : error;
  if (cause instanceof LostLock) return 'another run or a forced unlock took the state lock';
  if (isUnsaved || session.broken) return 'the state could not be written';
  if (error instanceof ForeignRecord) return 'the API key belongs to another workspace';
  if (error instanceof PlatformError && (error.status === 401 || error.isForbidden)) {
    return 'the platform refuses the API key';
  }
  if (error instanceof PlatformError && error.reason === 'aborted') return 'the run was interrupted';
  return onError === 'stop' ? 'another resource failed' : undefined;
}

export function failureOf(error: unknown, { action, address }: PlannedResource): Omit<Failure, 'status'> {
  const message = errorMessage(error);
  if (error instanceof UserError)
    return {
      error: message,
      ...(error.hint !== undefined && { hint: error.hint, advice: error.advice }),
      ...(error.next.length > 0 && { next: error.next }),
    };
  const recorded = recordedMessage(error);
  const failure = { error: message, ...(recorded !== message && { recorded }) };
  if (error instanceof PlatformError && error.outcome === 'lost' && creates.has(action)) {
    return {
      ...failure,
      hint: `${address} may or may not have been created. It stays unknown and is never resent automatically. Run plan to resolve it.`,
    };
  }
  return failure;
}
