/**
 * A command line that means one workspace.
 * @param command that begins with `voxform`.
 * @param flag such as ` -w staging`, or words that stand before the command, such as `fleet exec ADDRESS --`.
 */
export function commandFor(command: string, flag: string): string {
  return flag === '' || flag.startsWith(' ') ? command + flag : command.replace('voxform', `voxform ${flag}`);
}
