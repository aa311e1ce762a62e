import { mergePatch } from '../../manifests/layers.ts';
import { type LookupNames, NAME_SETTINGS } from '../../manifests/lookup-names.ts';
import type { Address } from '../../manifests/resource.ts';
import { CannotEdit } from '../../manifests/write-back/change.ts';
import type { TextEdit } from '../../manifests/write-back/edit-text.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILE, projectFileIn } from '../../project/find-project.ts';
import type { ProjectConfig, WorkspaceConfig } from '../../project/project.ts';
import { editedFile, type FileEdit } from '../../project/write-back/edit-plan.ts';
import { type Json, type JsonObject, jsonEqual } from '../../values/json.ts';

/** Settings that a migration adds to workspaces of the project file. */
interface AddedSettings {
  readonly to: WorkspaceConfig;
  readonly lookupNames: LookupNames;
  readonly patches: ReadonlyMap<Address, JsonObject>;
  readonly from: WorkspaceConfig;
  /** Records of the source workspace; none where the manifests keep theirs. */
  readonly ids: Readonly<Record<Address, string>>;
}

/** The project file with these settings added; undefined where it has them. Reads it, writes nothing. */
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
