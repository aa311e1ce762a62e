import { shellWord } from './shell-word.ts';

/** How commands mean the workspace that a text is about: by its address in a fleet, by its name, or as the only one. */
export type Reach = { readonly member: string } | { readonly workspace: string } | undefined;

/** A command line that means one workspace, of a command that begins with `voxform`. */
export function commandFor(command: string, reach: Reach): string {
  if (reach === undefined) return command;
  if ('workspace' in reach) return `${command} -w ${reach.workspace}`;
  return command.replace('voxform', () => `voxform fleet exec ${shellWord(reach.member)} --`);
}

/** They mean one workspace, and write to no manifest. */
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
