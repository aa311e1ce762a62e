import { mergePatch } from '../../manifests/layers.ts';
import { type LookupNames, NAME_SETTINGS } from '../../manifests/lookup-names.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import { CannotEdit } from '../../manifests/write-back/change.ts';
import type { TextEdit } from '../../manifests/write-back/edit-text.ts';
import { advice, command, UserError } from '../../problems/user-error.ts';
import { PROJECT_FILE, projectFileIn } from '../../project/find-project.ts';
import type { ProjectConfig, WorkspaceConfig } from '../../project/project.ts';
import type { ReadDeclarations } from '../../project/read-declarations.ts';
import { editedFile, type FileEdit } from '../../project/write-back/edit-plan.ts';
import type { State } from '../../state/state.ts';
import { type Json, type JsonObject, jsonEqual } from '../../values/json.ts';

type NamedState = Pick<State, 'resources'> & { readonly name: string };

/**
 * The addresses with `metadata.id` of a record in the source workspace. The target workspace does not have this record.
 * @throws UserError if neither state has the id of a manifest.
 */
export function foreignIds(
  resources: readonly Resource[],
  { from, to }: { readonly from: NamedState; readonly to: NamedState },
): ReadonlySet<Address> {
  const named = resources.filter(({ id }) => id !== undefined);
  const isOf = ({ resources: known }: NamedState, { address, id }: Resource): boolean =>
    known.get(address)?.id === id;
  const elsewhere = new Set([...from.resources].map(([address, { id }]) => idKey(kindOf(address), id)));
  const foreign = named.filter((each) => !isOf(to, each) && elsewhere.has(idKey(each.kind, each.id ?? '')));
  const strange = named.filter((each) => !isOf(to, each) && !foreign.includes(each));
  const [first] = strange;
  if (first !== undefined) {
    const more = strange.length === 1 ? '' : `, and ${strange.length - 1} more manifests name such records`;
    throw new UserError(
      `${first.source.file}:${first.source.line}  ${first.address} names the record ${first.id}, which neither the state of ${from.name} nor of ${to.name} has${more}`,
      {
        hint: advice`Adopt the existing records first: ${command(`apply -w ${from.name}`)}. Then remove metadata.id from the manifests.`,
      },
    );
  }
  return new Set(foreign.map(({ address }) => address));
}

/** The manifest files without `metadata.id` of these resources. Does not write them. */
export function withoutIds(
  root: string,
  { declarations }: Pick<ReadDeclarations, 'declarations'>,
  addresses: ReadonlySet<Address>,
): FileEdit[] {
  const concerned = declarations.filter(({ address }) => addresses.has(address));
  return [...Map.groupBy(concerned, ({ home }) => home.file)].map(([file, members]) => {
    try {
      const edits = members.map(({ home }) => ({
        document: home.document,
        path: ['metadata', 'id'],
        value: undefined,
      }));
      return editedFile(root, file, edits);
    } catch (error) {
      if (!(error instanceof CannotEdit)) throw error;
      throw new UserError(`cannot remove metadata.id from ${file}: ${error.message}`, {
        hint: 'Edit the file to remove it. The state already has the record.',
        cause: error,
      });
    }
  });
}

/** Settings that a migration adds to the project file. */
interface AddedSettings {
  readonly to: WorkspaceConfig;
  readonly lookupNames: LookupNames;
  readonly patches: ReadonlyMap<Address, JsonObject>;
  readonly from: WorkspaceConfig;
  /** Ids in the source workspace; empty if the manifests keep theirs. */
  readonly ids: Readonly<Record<Address, string>>;
}

/** The project file with these settings; undefined if it has them already. Does not write it. */
export function withSettings(
  { root }: Pick<ProjectConfig, 'root'>,
  { to, lookupNames, patches, from, ids }: AddedSettings,
): FileEdit | undefined {
  const edits: TextEdit[] = [];
  const set = (workspace: string, setting: string, [before, after]: readonly [Json, Json]): void => {
    if (jsonEqual(before, after)) return;
    edits.push({ document: 0, path: ['workspaces', workspace, setting], value: after });
  };
  for (const [kind, setting] of Object.entries(NAME_SETTINGS))
    set(to.name, setting, [to.lookupNames?.[kind] ?? {}, lookupNames[kind] ?? {}]);
  const all: Record<Address, JsonObject> = { ...to.patches };
  for (const [address, patch] of patches) all[address] = mergePatch(all[address] ?? {}, patch) as JsonObject;
  set(to.name, 'patches', [to.patches, all]);
  set(from.name, 'ids', [from.ids ?? {}, { ...from.ids, ...ids }]);
  if (edits.length === 0) return undefined;
  const file = projectFileIn(root) ?? PROJECT_FILE;
  try {
    return editedFile(root, file, edits);
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error;
    const settings = edits.map(({ path: [, workspace, setting] }) => `${setting} of ${workspace}`);
    throw new UserError(`cannot write ${settings.join(' and ')}: ${error.message}`, {
      hint: `Add these settings to ${file} yourself, and run again.`,
      cause: error,
    });
  }
}
