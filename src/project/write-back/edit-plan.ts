import type { LookupName } from '../../manifests/kind-schema.ts';
import type { Address } from '../../manifests/resource.ts';
import type { Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import type { LoadDesiredOptions } from '../load-desired.ts';

/** The wanted value of a leaf in the manifests. */
export interface WantedValue {
  readonly address: Address;
  readonly path: LeafPath;
  /** As the platform stores it, with ids for references; undefined removes the field. */
  readonly value: Json | undefined;
}

export interface PlanEditsOptions extends Omit<LoadDesiredOptions, 'mode'> {
  readonly lookups: ReadonlyMap<string, LookupName>;
  readonly wanted: readonly WantedValue[];
  /** Ids of possible `$ref` targets by address, without ambiguous names. */
  readonly records: ReadonlyMap<Address, string>;
}

/** The current and the new text of a file, with byte order marks. */
export interface FileEdit {
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

export interface RefusedEdit {
  readonly address: Address;
  readonly path: LeafPath;
  /** A clause. */
  readonly why: string;
}

export interface EditPlan {
  /** Changed files, by name. */
  readonly files: readonly FileEdit[];
  readonly refused: readonly RefusedEdit[];
}
