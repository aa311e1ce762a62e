import { shellWord } from './shell-word.ts';

/** How commands select the workspace: by its address in a fleet, by its name, or not at all if it is the only one. */
export type WorkspaceSelection = { readonly member: string } | { readonly workspace: string } | undefined;

/** The command line of a command that begins with `voxform`, for one workspace. */
export function commandFor(command: string, selection: WorkspaceSelection): string {
  if (selection === undefined) return command;
  if ('workspace' in selection) return `${command} -w ${selection.workspace}`;
  return command.replace('voxform', () => `voxform fleet exec ${shellWord(selection.member)} --`);
}

/** Commands of one workspace that write no manifest. */
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
