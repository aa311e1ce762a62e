import type { Address } from '../../manifests/resource.ts';
import { PlatformError, recordedMessage } from '../../platform/platform-error.ts';
import { ForeignRecord } from '../../platform/workspace-check.ts';
import { errorMessage } from '../../problems/error-code.ts';
import { UserError } from '../../problems/user-error.ts';
import type { StateSession } from '../../state/session.ts';
import { LostLock } from '../../state/state-errors.ts';
import type { Action } from '../plan/plan-actions.ts';
import type { PlannedResource } from '../plan/plan-document.ts';
import type { Failure } from './apply-report.ts';
import { UnrecordedIntent, UnsavedRecord } from './writing.ts';

export const creates: ReadonlySet<Action> = new Set(['create', 'replace']);

/** After this many lost answers in a row the next ones are likely to be lost too, and a person must resolve each of them. */
const MOST_LOST_CREATES = 3;

/** Counts unknown creates in a row, of any kind, across all parts of a plan. */
export class LostCreates {
  #inARow = 0;

  /** A create that was never sent says nothing about the platform. */
  count(error: unknown, isUnknown: boolean): void {
    if (isUnknown) this.#inARow += 1;
    else if (error instanceof PlatformError && error.reason === 'status') this.reset();
  }

  reset(): void {
    this.#inARow = 0;
  }

  /** Why no further create is sent, as a clause. */
  get outage(): string | undefined {
    return this.#inARow < MOST_LOST_CREATES ? undefined : `${this.#inARow} creates in a row are unknown`;
  }
}

export function missingReason(address: Address, planned: PlannedResource | undefined): string {
  if (planned === undefined) return `${address} has no record`;
  return `${address} has no record yet (${planned.action})`;
}

/** Why nothing new is started after this failure, as a clause. */
export function haltReason(
  error: unknown,
  { onError, session }: { readonly onError: 'continue' | 'stop'; readonly session: StateSession },
): string | undefined {
  const isUnstored = error instanceof UnrecordedIntent || error instanceof UnsavedRecord;
  const cause = isUnstored ? error.cause : error;
  if (cause instanceof LostLock) return 'another run or a forced unlock took the state lock';
  if (isUnstored || session.broken) return 'the state could not be written';
  if (error instanceof ForeignRecord) return 'the API key belongs to another workspace';
  if (error instanceof PlatformError && (error.status === 401 || error.saysForbidden)) {
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
