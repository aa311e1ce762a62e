import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Address } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { UserError, type UserErrorOptions } from '../../problems/user-error.ts';
import type { Fingerprints } from '../../state/fingerprint.ts';
import type { StateSession } from '../../state/session.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { references, type Secret, type Value } from '../../values/value.ts';
import type { Observation } from '../decide/observed.ts';
import type { PlannedResource, Remark } from '../plan/plan-document.ts';

export interface WriteTools {
  /** Open, and with the state that the plan was made from. */
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
  /** Recorded if nothing needs to be written. */
  readonly settled: ResourceEntry | undefined;
  /** The addresses of all managed records. Created records are added. */
  readonly holders: Map<string, Address>;
  /** Reads the record again; undefined while the read of the plan is recent enough. */
  readonly recheck: (() => Promise<Observation>) | undefined;
  /** Whether a record with this natural key has appeared since the plan; undefined if the plan was made just before. */
  readonly isTaken: ((naturalKey: string) => Promise<boolean>) | undefined;
  /** True if a list showed the record before the first create. */
  existedBefore(id: string): boolean;
  findByKey(naturalKey: string): Promise<readonly ShownRecord[]>;
  /** Called once the outcome is in the session and nothing more is sent: the next write may share its write to the store. */
  handedOver(): void;
  warn(remark: Remark): void;
  /** Called with the fields that kept the platform's own value. */
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

/** The platform has a record whose id could not be saved in the state. The user must write it down. */
export class UnsavedRecord extends UserError {
  override readonly name = 'UnsavedRecord';

  constructor(address: Address, id: string, { cause }: { readonly cause: unknown }) {
    super(`${address} exists as ${id}, but the state could not be written`, {
      next: [{ action: 'import', address, id, reason: 'unsaved' }],
      cause,
    });
  }
}

/** The state cannot be written. No request was sent. */
export class UnrecordedIntent extends Error {
  override readonly name = 'UnrecordedIntent';
}

/** The answer to a write names a record that cannot be the one written, so the answer is not used. */
export class UnexpectedAnswer extends UserError {
  override readonly name = 'UnexpectedAnswer';

  constructor(address: Address, problem: string, help: Pick<UserErrorOptions, 'hint' | 'next'>) {
    super(`invalid response for ${address}: ${problem}`, help);
  }
}
