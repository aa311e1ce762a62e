import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Address } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import type { Fingerprints } from '../../state/fingerprint.ts';
import type { StateSession } from '../../state/session.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import type { Secret } from '../../values/value.ts';
import type { Observation } from '../decide/observation.ts';
import type { PlannedResource, Remark } from '../plan/plan-document.ts';

/** One planned resource, and all that is needed to carry it out. */
export interface ResourceWrite {
  readonly client: PlatformClient;
  readonly session: StateSession;
  readonly fingerprints: Fingerprints;
  readonly workspaceId: string;
  readonly kind: Kind;
  readonly planned: PlannedResource;
  readonly observation: Observation | undefined;
  /** Put down when nothing needs to be written. */
  readonly settled: ResourceEntry | undefined;
  /** The addresses of all managed records; a record that is created is added. */
  readonly holders: Map<string, Address>;
  secret(name: string): Secret;
  /** Looks at the record again; undefined while what the plan saw is recent enough to be trusted. */
  readonly recheck: (() => Promise<Observation>) | undefined;
  /** Whether a record of that natural key has come since; undefined where the plan was made just before. */
  readonly isTaken: ((naturalKey: string) => Promise<boolean>) | undefined;
  /** Whether a list showed the record before anything was created. */
  stoodBefore(id: string): boolean;
  /** The records with that natural key, read now. */
  findByKey(naturalKey: string): Promise<readonly ShownRecord[]>;
  now(): Date;
  /** To be called once the outcome is handed to the session and nothing more is sent: what is next may share its write to the store. */
  handedOver(): void;
  warn(remark: Remark): void;
  /** Told of the fields of which the platform kept its own value. */
  ignored(paths: ReadonlySet<string>): void;
}
