import { kinds, lookups } from '../../kinds/index.ts';
import { UserError, usageError } from '../../problems/user-error.ts';
import { declarationsOnce, type ReadDeclarations } from '../../project/read-declarations.ts';
import { readCredentials, refuseOverrides, selectWorkspace } from '../../project/select-workspace.ts';
import { backendOf, isSameState } from '../../state/state-location.ts';
import { OpenWorkspace, openProject } from '../open-workspace.ts';
import type { RunContext } from '../run-context.ts';

export interface MigrationWorkspaces {
  /** The source. Its API key is needed only for a live export, and to check whether the API returns numbers without a plus sign. */
  readonly from: OpenWorkspace;
  readonly to: OpenWorkspace;
  /** Returns the declarations in the project's files, which are read once. */
  declarations(): Promise<ReadDeclarations>;
}

/**
 * Opens both workspaces of a migration.
 * @throws UserError if both have the same name, platform workspace or state.
 */
export async function openMigrationWorkspaces(
  context: RunContext,
  { from: fromName, to: toName }: { readonly from: string; readonly to: string },
): Promise<MigrationWorkspaces> {
  if (fromName === toName) throw usageError(`--from and --to name the same workspace, ${fromName}`);
  const { env } = context;
  const project = await openProject(context);
  refuseOverrides(env);
  const from = selectWorkspace(project, { name: fromName, env });
  const to = selectWorkspace(project, { name: toName, env });
  await readCredentials([to]);
  await from.secrets.read();
  if (from.workspaceId === to.workspaceId && from.baseUrl === to.baseUrl) {
    throw new UserError(`${fromName} and ${toName} are the same workspace: ${to.workspaceId} at ${to.baseUrl}`);
  }
  if (isSameState(from.state, to.state)) {
    const { describe, locationSetting } = backendOf(to.state);
    throw new UserError(`${fromName} and ${toName} have the same state, ${describe(to.state, project.root)}`, {
      hint: `Set a different state.${locationSetting} for each workspace.`,
    });
  }
  const declarations = declarationsOnce(project, { kinds, lookups });
  return {
    from: new OpenWorkspace(context, { project, workspace: from, declarations }),
    to: new OpenWorkspace(context, { project, workspace: to, declarations }),
    declarations,
  };
}
