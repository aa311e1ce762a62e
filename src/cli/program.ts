import { Command, Option } from 'commander';
import { VERSION } from '../version.ts';
import { defineAdopt } from './commands/adopt.ts';
import { defineInspect } from './commands/inspect.ts';
import { defineMain } from './commands/main.ts';
import { defineRestore } from './commands/restore.ts';
import { defineStateCommands } from './commands/state.ts';
import { defineTools } from './commands/tools.ts';
import type { Start } from './context.ts';
import { collectItems } from './flags.ts';
import { helpLayout } from './help.ts';
import { performing } from './perform.ts';
import { suggestChoices } from './usage-errors.ts';

/** The flags that every command takes, before its name or after it. */
export interface GlobalFlags {
  readonly chdir?: string;
  /** Several where the command takes them. */
  readonly workspace?: readonly string[];
  readonly color: boolean;
  readonly cache?: boolean;
  readonly envFile?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** Absent where the command may choose. */
  readonly logFormat?: 'text' | 'json';
}

/** As help lists them: the way of a manifest, then what is needed now and then. */
const groups = {
  'Main commands:': defineMain,
  'Compare and restore:': defineRestore,
  'Adopt and move:': defineAdopt,
  'State:': defineStateCommands,
  'Inspect:': defineInspect,
  'Tools:': defineTools,
};

export function createProgram(start: Start): Command {
  const program = new Command('voxform')
    .description('Manage voice-agent workspaces from YAML in Git.')
    .version(VERSION, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Print help')
    .option('-C, --chdir <dir>', 'Run in this folder (default: nearest parent with voxform.yaml)')
    .option(
      '-w, --workspace <name>',
      'Workspace; repeatable where a command takes several (default: VOXFORM_WORKSPACE, then default_workspace)',
      collectItems,
    )
    .option('--no-color', 'Disable colours, as NO_COLOR does')
    .option('--no-cache', 'Parse every manifest, even if unchanged')
    .option('--no-env-file', 'Do not read .env beside voxform.yaml')
    .option('-q, --quiet', 'Print no progress and no notes')
    .option('-v, --verbose', 'Also print unchanged resources and every request')
    .addOption(
      new Option('--log-format <format>', 'Format of stderr')
        .choices(['text', 'json'])
        .default(undefined, 'text, or json for watch without a terminal'),
    )
    .configureHelp(helpLayout)
    .exitOverride();
  const perform = performing(start);
  for (const [heading, define] of Object.entries(groups)) {
    program.commandsGroup(heading);
    define(program, perform);
  }
  program.helpCommand('help [command...]', 'Print help for a command');
  suggestChoices(program);
  return program;
}
