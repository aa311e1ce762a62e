import { shellWord } from './shell-word.ts';

/** How a command selects its workspace: by its address in a fleet, by its name, or not at all if there is only one. */
export type WorkspaceSelection = { readonly member: string } | { readonly workspace: string } | undefined;

/** Adds the selection of a workspace to a command line that begins with `voxform`. */
export function commandFor(command: string, selection: WorkspaceSelection): string {
  if (selection === undefined) return command;
  if ('workspace' in selection) return `${command} -w ${selection.workspace}`;
  return command.replace('voxform', () => `voxform fleet exec ${shellWord(selection.member)} --`);
}

/** The commands that work on one workspace and write no manifests. */
export const workspaceCommands = [
  'plan',
  'apply',
  'drift',
  'status',
  'import',
  'recover',
  'state',
  'orphans',
  'history',
  'get',
  'versions',
  'impact',
] as const;
