import { openWorkspace } from '../runs/open-workspace.ts';
import { contextOf, remember } from './calls.ts';
import type { LoadOptions, Project } from './options.ts';

/**
 * The project in a folder. No API key is needed until something is planned.
 * @throws UserError, InvalidProject
 */
export function loadProject(options: LoadOptions): Promise<Project> {
  const { context, shielded } = contextOf(options, undefined);
  return shielded(async () => {
    const { project, workspace } = await openWorkspace(context, { requireKey: false });
    const { name, workspaceId: id, baseUrl } = workspace;
    return remember({ root: project.root, workspace: { name, id, baseUrl } }, options);
  });
}
