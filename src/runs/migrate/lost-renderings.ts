import { ruleOf } from '../../engine/decide/field-rules.ts';
import { readList } from '../../engine/observe/read-records.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { kindNamed } from '../../kinds/index.ts';
import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Resource } from '../../manifests/resource.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import type { LeafPath } from '../../values/path.ts';
import type { OpenWorkspace } from '../open-workspace.ts';
import type { PlatformOptions } from '../run-context.ts';
import type { Checklist } from './checklist.ts';
import type { MigrationWorkspaces } from './migration-workspaces.ts';

interface CheckedCreates {
  /** What is migrated, as the workspace that is filled will have it. */
  readonly resources: readonly Resource[];
  readonly ends: MigrationWorkspaces;
  readonly options: PlatformOptions;
}

/**
 * Asks for texts that are about to be created and that may be all that a JSON number left of them: nothing takes back a phone number
 * that was registered without its plus. A text is confirmed where a person wrote more than digits, or a patch of the workspace that is
 * filled. The workspace that is left is read only where there are others.
 */
export async function checkRenderings(
  list: Checklist,
  { resources: planned }: PlanDocument,
  { resources, ends: { from, to }, options }: CheckedCreates,
): Promise<void> {
  const created = new Set(planned.filter(({ action }) => action === 'create').map(({ address }) => address));
  const listed = new Map<Kind, Promise<readonly ShownRecord[] | undefined>>();
  for (const { address, kind: name, spec } of resources) {
    if (!created.has(address)) continue;
    const kind = kindNamed(name);
    for (const path of Object.keys(spec).filter((each) => ruleOf(kind, each).shownAsNumber)) {
      const text = spec[path];
      if (typeof text !== 'string' || String(Number(text)) !== text) continue;
      if (Object.hasOwn(to.workspace.patches[address] ?? {}, path)) continue;
      if (!listed.has(kind)) listed.set(kind, recordsIn(from, kind, options));
      const because = lossIn(await listed.get(kind), { kind, path, key: kind.naturalKey?.(spec)?.key });
      if (because === undefined) continue;
      const way = `Write ${path} in full in the manifest, or confirm its text with a patch of ${to.workspace.name}`;
      list.add(
        'must',
        `${way}: a plus or leading zeros may be missing, because ${from.workspace.name} ${because}.`,
        address,
      );
    }
  }
}

/** How the record of a natural key has lost part of the text, a clause; undefined where the text is as it is shown, or is not there. */
function lossIn(
  records: readonly ShownRecord[] | undefined,
  { kind, path, key }: { readonly kind: Kind; readonly path: LeafPath; readonly key: string | undefined },
): string | undefined {
  if (records === undefined) return 'cannot be read to see how it shows it';
  const record = records.find((each) => kind.naturalKeyOf?.(each) === key);
  return typeof record?.[path] === 'number' ? 'shows it as a JSON number' : undefined;
}

/** Undefined where they cannot be read, such as without a key. */
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
    if (error instanceof UserError || (error instanceof PlatformError && error.reason !== 'aborted'))
      return undefined;
    throw error;
  }
}
