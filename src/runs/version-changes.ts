import { sameValue } from '../engine/decide/compare.ts';
import { fieldsOf, isConfigObject, ruleOf, valueInRecord } from '../engine/decide/field-rules.ts';
import { baselineOf, recordedOf } from '../engine/decide/state-entry.ts';
import type { PlannedChange } from '../engine/plan/plan-document.ts';
import { kindNamed } from '../kinds/index.ts';
import type { RecordVersion, ShownRecord } from '../kinds/kind.ts';
import type { PlatformClient } from '../platform/client.ts';
import { isMasked } from '../state/fingerprint.ts';
import type { Json } from '../values/json.ts';
import { redactedChange } from './draft-diff.ts';
import type { VersionedRecord } from './versioned-record.ts';

/** A published version, and its differences from the previous version. */
export interface VersionChanges {
  readonly version: number;
  readonly publishedAt: string | undefined;
  /** Undefined for the oldest version that is read. */
  readonly changes: readonly PlannedChange[] | undefined;
}

interface VersionReads {
  readonly client: PlatformClient;
  /** All published versions of the record. */
  readonly listed: readonly RecordVersion[];
  /** The maximum number of versions. Each version requires a request. */
  readonly limit: number;
  /** If true, all values are left out. */
  readonly isSealed: boolean;
  redact(text: string): string;
}

/** Returns the latest published versions with their changes, newest first. */
export async function versionChanges(
  versioned: VersionedRecord,
  { client, listed, limit, isSealed, redact }: VersionReads,
): Promise<readonly VersionChanges[]> {
  const newest = listed.toSorted((a, b) => b.version - a.version).slice(0, limit);
  const records = await Promise.all(newest.map(({ version }) => versioned.versions.get(client, versioned.id, version)));
  return newest.map(({ version, published_at: at }, index) => {
    const [record, before] = [records[index], records[index + 1]];
    const changes = record && before && differences(versioned, before, record);
    return {
      version,
      publishedAt: at ?? undefined,
      changes: changes?.map((change) =>
        isSealed ? { ...change, before: undefined, after: undefined, sensitive: true } : redactedChange(change, redact),
      ),
    };
  });
}

/** Compares the manifest fields that both versions contain. */
function differences({ kind: name, entry }: VersionedRecord, older: ShownRecord, newer: ShownRecord): PlannedChange[] {
  const kind = kindNamed(name);
  const roots = Object.keys(kind.spec.shape).filter((root) => older[root] !== undefined && newer[root] !== undefined);
  const paths = roots.flatMap((root) => (isConfigObject(kind, root) ? fieldsOf(kind, root) : [root]));
  return paths.flatMap((path): PlannedChange[] => {
    const [before, after] = [older, newer].map((record) => valueInRecord(kind, record, path) as Json | undefined);
    if (sameValue(ruleOf(kind, path), before ?? null, after ?? null)) return [];
    const sensitive = isMasked(baselineOf(entry, path)) || isMasked(recordedOf(entry, path));
    const values = { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
    return [{ path, ...(!sensitive && values), cause: 'manifest', verified: true, sensitive }];
  });
}
