import type { LookupName } from '../../manifests/kind-schema.ts';
import type { Address } from '../../manifests/resource.ts';
import type { Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import type { LoadDesiredOptions } from '../load-desired.ts';

/** What a leaf of a resource is to be in the manifests. */
export interface WantedValue {
  readonly address: Address;
  readonly path: LeafPath;
  /** As the platform holds it, ids for references; undefined takes the field out of the manifests. */
  readonly value: Json | undefined;
}

export interface PlanEditsOptions extends Omit<LoadDesiredOptions, 'mode'> {
  readonly lookups: ReadonlyMap<string, LookupName>;
  readonly wanted: readonly WantedValue[];
  /** Ids of the records that `$ref` can name, by address; without those whose name does not tell them apart. */
  readonly records: ReadonlyMap<Address, string>;
}

/** A file as it is and as it is to be, byte order mark included. */
export interface FileEdit {
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

export interface RefusedEdit {
  readonly address: Address;
  readonly path: LeafPath;
  /** A clause for a person. */
  readonly why: string;
}

export interface EditPlan {
  /** In the order of their names; only those that change. */
  readonly files: readonly FileEdit[];
  readonly refused: readonly RefusedEdit[];
}
