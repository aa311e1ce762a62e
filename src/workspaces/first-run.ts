import path from 'node:path';
import { UserError } from '../problems/user-error.ts';
import type { Project, WorkspaceConfig } from '../project/project.ts';
import { defaultStatePath } from '../project/project-defaults.ts';
import { shellWord } from '../state/backends/files.ts';
import { stateElsewhere } from '../state/backends/local-elsewhere.ts';

export interface Beginning {
  readonly project: Project;
  readonly workspace: WorkspaceConfig;
  /** How messages call the state that is to be begun. */
  readonly location: string;
  /** Folder of the person who reads the message. */
  readonly cwd: string;
  /** Names the workspace in a command, with a space before it. */
  readonly workspaceFlag: string;
}

/**
 * Refuses to begin a state where one of the same workspace lies under another name, as after a rename in voxform.yaml: without it
 * everything would be created a second time.
 * @throws UserError with the command that takes it over.
 */
export async function refuseSecondState(beginning: Beginning): Promise<void> {
  const { project, workspace, location, cwd, workspaceFlag } = beginning;
  const byDefault = defaultStatePath(project.localRoot ?? project.root, workspace.name);
  const found = await stateElsewhere({
    path: workspace.state.path,
    others: Object.values(project.workspaces).map(({ state }) => state.path),
    folders: [path.dirname(workspace.state.path), path.dirname(byDefault)],
    workspaceId: workspace.workspaceId,
    name: path.basename(byDefault),
  });
  if (found === undefined) return;
  const relative = path.relative(cwd, found.path);
  const shown = shellWord(relative.startsWith('..') ? found.path : relative.replaceAll('\\', '/'));
  const voxform = commandFor(project);
  const holds =
    found.records === undefined
      ? 'which cannot be read,'
      : `with ${found.records} ${found.records === 1 ? 'record' : 'records'},`;
  throw new UserError(
    `no state at ${location} yet, but ${shown}, ${holds} belongs to the same workspace ${workspace.workspaceId}`,
    {
      hint:
        `Take it over: ${voxform} state move --from ${shown}${workspaceFlag}. ` +
        `To begin a second, empty state on purpose: ${voxform} state init${workspaceFlag}`,
    },
  );
}

/** Paths of a repository's project count from the operator's folder, so that its project file is needed there. */
function commandFor({ root, localRoot, file }: Project): string {
  if (localRoot === undefined || file === undefined) return 'voxform';
  return `cp ${shellWord(path.join(root, file))} ${shellWord(localRoot)} && cd ${shellWord(localRoot)} && voxform`;
}
