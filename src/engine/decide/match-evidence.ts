import type { KindSchema } from '../../manifests/kind-schema.ts';
import type { LeafPath } from '../../values/path.ts';
import { sameValue } from './compare.ts';
import { ruleOf } from './field-rules.ts';

/** How well a record fits what it is held against. */
export interface Evidence {
  /** Fields that are shown as they should be. */
  readonly agrees: readonly LeafPath[];
  /** Fields that are shown otherwise. */
  readonly differs: readonly LeafPath[];
}

/** Candidates that are offered for one resource. */
export const MOST_OFFERED = 3;

/** Holds what is shown against what is expected; what is not shown says nothing. */
export function evidenceOf(
  kind: KindSchema,
  expected: Iterable<readonly [LeafPath, unknown]>,
  shownAt: (path: LeafPath) => unknown,
): Evidence {
  const agrees: LeafPath[] = [];
  const differs: LeafPath[] = [];
  for (const [path, value] of expected) {
    const shown = shownAt(path);
    if (shown !== undefined) (sameValue(ruleOf(kind, path), value, shown) ? agrees : differs).push(path);
  }
  return { agrees: agrees.sort(), differs: differs.sort() };
}

/** By how many fields more speaks for it than against it: above zero where it is likely. */
export function likelihood({ agrees, differs }: Evidence): number {
  return agrees.length - differs.length;
}
