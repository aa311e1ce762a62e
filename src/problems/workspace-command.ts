import { shellWord } from './shell-word.ts';

/** How commands mean the workspace that a text is about: by its address in a fleet, by its name, or as the only one. */
export type Reach = { readonly member: string } | { readonly workspace: string } | undefined;

/** A command line that means one workspace, of a command that begins with `voxform`. */
export function commandFor(command: string, reach: Reach): string {
  if (reach === undefined) return command;
  if ('workspace' in reach) return `${command} -w ${reach.workspace}`;
  return command.replace('voxform', () => forMember(reach.member));
}

function forMember(address: string): string {
  return `voxform fleet exec ${shellWord(address)} --`;
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

const COMMANDS = new RegExp(`\\bvoxform (?=(?:${workspaceCommands.join('|')})\\b)`, 'g');

/** A text whose commands mean a workspace of a fleet; `-w` is left out. */
export function commandsIn(text: string, reach: Reach): string {
  return reach === undefined || 'workspace' in reach
    ? text
    : text.replaceAll(COMMANDS, () => `${forMember(reach.member)} `);
}
