import { leavesOf, ruleOf } from '../../engine/decide/field-rules.ts';
import { readList } from '../../engine/observe/read-records.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { kindNamed, lookups } from '../../kinds/index.ts';
import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Resource } from '../../manifests/resource.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import type { LeafPath } from '../../values/path.ts';
import { Reference, Secret, symbolicLeaves, Unset, type Value } from '../../values/value.ts';
import type { OpenWorkspace } from '../open-workspace.ts';
import type { PlatformOptions } from '../run-context.ts';
import type { Checklist } from './checklist.ts';
import type { LookupIndex } from './knowledge-map.ts';
import type { MigrationWorkspaces } from './migration-workspaces.ts';

interface BlockerFacts {
  /** The records of the target workspace, by lookup. */
  readonly indexes: ReadonlyMap<string, LookupIndex>;
  /** The name of the target workspace. */
  readonly to: string;
}

/** Adds the tasks that must be done before any write, because otherwise a plan is impossible or two records would be confused. */
export function checkBlockers(list: Checklist, resources: readonly Resource[], { indexes, to }: BlockerFacts): void {
  for (const resource of resources) {
    const { address, spec } = resource;
    for (const leaf of symbolicLeaves(spec)) {
      if (leaf instanceof Secret && !leaf.isSet) list.add('must', `Set the secret ${leaf.name}.`, address);
      else if (leaf instanceof Unset) list.add('must', `Set the environment variable ${leaf.name}.`, address);
      else if (leaf instanceof Reference) {
        const ids = indexes.get(leaf.kind)?.byName.get(leaf.target) ?? [];
        const ambiguous = `${to} has ${ids.length} records named ${leaf.address}: ${ids.join(', ')}. Rename one in the dashboard, or choose one with --map.`;
        if (ids.length > 1) list.add('must', ambiguous, address);
      }
    }
    const kind = kindNamed(resource.kind);
    for (const [path, value] of leavesOf(kind, spec)) {
      const { refersTo } = ruleOf(kind, path);
      if (refersTo === undefined) continue;
      for (const id of stringsIn(value)) {
        if (indexes.get(refersTo)?.ids.has(id)) continue;
        const way = lookups.has(refersTo)
          ? `map it to a ${refersTo} of ${to} with --map`
          : `replace it with { $ref: ${refersTo}/<name> }, or remove it with a patch for ${to}`;
        const foreign = `${path} contains the ${refersTo} id ${id}, which is valid only in its own workspace: ${way}.`;
        list.add('must', foreign, address);
      }
    }
  }
}

function stringsIn(value: Value): string[] {
  const items: readonly Value[] = Array.isArray(value) ? value : [value];
  return items.filter((item) => typeof item === 'string');
}

interface CheckedCreates {
  /** The migrated resources of the target workspace. */
  readonly resources: readonly Resource[];
  readonly workspaces: MigrationWorkspaces;
  readonly options: PlatformOptions;
}

/**
 * Blocks creates with a string that may have lost a plus sign or leading zeros, because the platform returned it as a JSON number. A phone
 * number that was registered without the plus sign cannot be corrected. A string is accepted if it contains characters other than digits,
 * or if a patch of the target workspace sets it. The source workspace is read only if there are other strings.
 */
export async function checkNumberLoss(
  list: Checklist,
  { resources: planned }: PlanDocument,
  { resources, workspaces: { from, to }, options }: CheckedCreates,
): Promise<void> {
  const created = new Set(planned.filter(({ action }) => action === 'create').map(({ address }) => address));
  const listed = new Map<Kind, Promise<readonly ShownRecord[] | undefined>>();
  for (const { address, kind: name, spec } of resources) {
    if (!created.has(address)) continue;
    const kind = kindNamed(name);
    for (const path of Object.keys(spec).filter((each) => ruleOf(kind, each).returnedAsNumber)) {
      const value = spec[path];
      if (typeof value !== 'string' || String(Number(value)) !== value) continue;
      if (Object.hasOwn(to.workspace.patches[address] ?? {}, path)) continue;
      if (!listed.has(kind)) listed.set(kind, recordsIn(from, kind, options));
      const because = lossReason(await listed.get(kind), { kind, path, key: kind.naturalKey?.(spec)?.key });
      if (because === undefined) continue;
      const way = `Write ${path} in full in the manifest, or confirm it with a patch for ${to.workspace.name}`;
      list.add(
        'must',
        `${way}: a plus sign or leading zeros may be missing, because ${from.workspace.name} ${because}.`,
        address,
      );
    }
  }
}

/** Returns the reason why part of the string may be lost, as a clause; undefined if the record has a string or does not exist. */
function lossReason(
  records: readonly ShownRecord[] | undefined,
  { kind, path, key }: { readonly kind: Kind; readonly path: LeafPath; readonly key: string | undefined },
): string | undefined {
  if (records === undefined) return 'cannot be read to check this';
  const record = records.find((each) => kind.naturalKeyOf?.(each) === key);
  return typeof record?.[path] === 'number' ? 'returns it as a JSON number' : undefined;
}

/** Lists the records of a kind. Returns undefined if they cannot be read, for example without an API key. */
async function recordsIn(
  opened: OpenWorkspace,
  kind: Kind,
  options: PlatformOptions,
): Promise<readonly ShownRecord[] | undefined> {
  const { workspaceId, apiKey } = opened.workspace;
  if (!apiKey.isSet) return undefined;
  try {
    return await opened.withClient(options, (client) => readList(kind, { client, workspaceId }));
  } catch (error) {
    if (error instanceof UserError || (error instanceof PlatformError && error.reason !== 'aborted')) return undefined;
    throw error;
  }
}
