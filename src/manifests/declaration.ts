import type { Value } from '../values/value.ts';
import type { FoundPlaceholder } from './check-placeholders.ts';
import type { PlacedReference } from './check-spec.ts';
import type { Metadata } from './envelope.ts';
import { type DocumentPath, type Finding, findingOf, type Problem } from './finding.ts';
import type { KindSchema } from './kind-schema.ts';
import { findingIn, type Layer, type SpecSources } from './layers.ts';
import type { Address, Source } from './resource.ts';

/** A document whose envelope says who it is. */
export interface Declaration {
  readonly address: Address;
  readonly kind: KindSchema;
  readonly metadata: Metadata;
  readonly source: Source;
  /** The manifest's own spec. */
  readonly home: Layer;
}

/** A declaration of which this workspace makes a resource. */
export interface Checked extends Declaration, SpecSources {
  /** Its values, value forms worked in. */
  readonly spec: { readonly [key: string]: Value };
  readonly references: readonly PlacedReference[];
  readonly placeholders: readonly FoundPlaceholder[];
  /** Absent where the kind has none, or where what it is made of is wrong. */
  readonly naturalKey: { readonly path: DocumentPath; readonly key: string } | undefined;
}

export function findingAt(
  { home }: Declaration,
  path: DocumentPath,
  problem: Pick<Problem, 'code' | 'message' | 'fix'>,
): Finding {
  return findingOf({ ...problem, path, at: 'value' }, home.file, home.document);
}

/** A finding at a path of the spec, in the text where that value was written. */
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
