import { mergePatch } from '../../manifests/layers.ts';
import type { Address } from '../../manifests/resource.ts';
import { CannotEdit } from '../../manifests/write-back/change.ts';
import { UserError } from '../../problems/user-error.ts';
import { PROJECT_FILE, projectFileIn } from '../../project/find-project.ts';
import type { WorkspaceConfig } from '../../project/project.ts';
import type { FileEdit } from '../../project/write-back/edit-plan.ts';
import { editedFile } from '../../project/write-back/editable-file.ts';
import type { JsonObject } from '../../values/json.ts';

/** The project file with these patches added to those of the workspace. Reads it, writes nothing. */
export function withPatches(
  root: string,
  { name, patches }: Pick<WorkspaceConfig, 'name' | 'patches'>,
  added: ReadonlyMap<Address, JsonObject>,
): FileEdit {
  const all: Record<Address, JsonObject> = { ...patches };
  for (const [address, patch] of added) {
    all[address] = mergePatch(patches[address] ?? {}, patch) as JsonObject;
  }
  const file = projectFileIn(root) ?? PROJECT_FILE;
  try {
    return editedFile(root, file, [{ document: 0, path: ['workspaces', name, 'patches'], value: all }]);
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error;
    throw new UserError(`cannot write the patches of the workspace ${name}: ${error.message}`, {
      hint: `--map writes patches of that workspace into ${file}. Add them yourself, and run without --map.`,
      cause: error,
    });
  }
}
