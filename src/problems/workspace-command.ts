/**
 * A command line that means one workspace.
 * @param command that begins with `voxform`.
 * @param flag such as ` -w staging`, or words that stand before the command, such as `fleet exec ADDRESS --`.
 */
export function commandFor(command: string, flag: string): string {
  return flag === '' || flag.startsWith(' ')
    ? command + flag
    : command.replace('voxform', () => `voxform ${flag}`);
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

/** A text whose commands have the words before them that they need; a flag is left out. */
export function commandsIn(text: string, flag: string): string {
  return flag === '' || flag.startsWith(' ') ? text : text.replaceAll(COMMANDS, () => `voxform ${flag} `);
}
