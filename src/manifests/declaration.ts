import type { Value } from '../values/value.ts';
import type { FoundPlaceholder } from './check-placeholders.ts';
import type { PlacedReference } from './check-spec.ts';
import type { Metadata } from './envelope.ts';
import { type DocumentPath, type Finding, findingOf, type Problem } from './finding.ts';
import type { KindSchema } from './kind-schema.ts';
import { findingIn, type Layer, type SpecSources } from './layers.ts';
import type { Address, Source } from './resource.ts';

/** A document with a valid kind and name. */
export interface Declaration {
  readonly address: Address;
  readonly kind: KindSchema;
  readonly metadata: Metadata;
  readonly source: Source;
  readonly home: Layer;
}

/** A declaration that this workspace uses. */
export interface Checked extends Declaration, SpecSources {
  /** The spec with evaluated value forms. */
  readonly spec: { readonly [key: string]: Value };
  readonly references: readonly PlacedReference[];
  readonly placeholders: readonly FoundPlaceholder[];
  /** Absent if the kind has none, or if its field is invalid. */
  readonly naturalKey: { readonly path: DocumentPath; readonly key: string } | undefined;
}

export function findingAt(
  { home }: Declaration,
  path: DocumentPath,
  problem: Pick<Problem, 'code' | 'message' | 'fix'>,
): Finding {
  return findingOf({ ...problem, path, at: 'value' }, home.file, home.document);
}

/** A finding at a path of the spec, in the text that has this value. */
export function findingInSpec(
  sources: SpecSources,
  path: DocumentPath,
  problem: Pick<Problem, 'code' | 'message' | 'fix'>,
): Finding {
  return findingIn(sources, { ...problem, path, at: 'value' });
}

/** `manifests/agents.yaml:3` */
export function sourceText({ file, line }: Source): string {
  return `${file}:${line}`;
}
