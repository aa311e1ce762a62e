import { kinds } from '../../src/kinds/index.ts';
import type { Discovery } from '../../src/runs/discover.ts';
import { Drafter, type ManifestDrafts } from '../../src/runs/export/drafts.ts';
import type { Secret } from '../../src/values/value.ts';

interface Given {
  readonly secrets?: readonly Secret[];
}

/** Returns manifests of these records, for a project that knows no names. */
export function draftsOf(
  { records, lookups }: Pick<Discovery, 'records' | 'lookups'>,
  { secrets = [] }: Given = {},
): ManifestDrafts {
  const drafter = new Drafter(secrets);
  for (const kind of kinds.values()) for (const found of records.get(kind.name) ?? []) drafter.take(kind, found);
  return drafter.drafts({ knownNames: [], lookups });
}
