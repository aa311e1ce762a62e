import type { KindSchema } from '../../manifests/kind-schema.ts';
import type { LeafPath } from '../../values/path.ts';
import { sameValue } from './compare.ts';
import { ruleOf } from './field-rules.ts';

/** How well a record matches expected values. */
export interface Evidence {
  readonly agrees: readonly LeafPath[];
  readonly differs: readonly LeafPath[];
}

/** The number of candidates offered for one resource. */
export const MAX_OFFERED = 3;

/** Compares shown values with expected ones. Hidden fields count neither way. */
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

/** Matching fields minus differing ones; likely if above zero. */
export function likelihood({ agrees, differs }: Evidence): number {
  return agrees.length - differs.length;
}
