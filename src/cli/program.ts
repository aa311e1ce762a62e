import { Command, Option, type OutputConfiguration } from 'commander';
import { VERSION } from '../version.ts';
import { adoptCommands } from './commands/adopt-commands.ts';
import { fleetCommands } from './commands/fleet-commands.ts';
import { inspectCommands } from './commands/inspect-commands.ts';
import { mainCommands } from './commands/main-commands.ts';
import { restoreCommands } from './commands/restore-commands.ts';
import { stateCommands } from './commands/state-commands.ts';
import { toolCommands } from './commands/tool-commands.ts';
import { type CommandTable, createPerform, type Start } from './context.ts';
import { collectItems } from './flags.ts';
import { helpLayout } from './help.ts';
import { suggestChoices } from './usage-errors.ts';

/** The global flags, which users may type before or after the name of a command. */
export interface GlobalFlags {
  readonly chdir?: string;
  readonly workspace?: readonly string[];
  readonly color: boolean;
  readonly cache?: boolean;
  readonly envFile?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** If absent, the command chooses the format. */
  readonly logFormat?: 'text' | 'json';
}

const TOOLS = 'Tools:';

/** The groups of commands by heading, in the order in which help lists them. */
const groups: Readonly<Record<string, CommandTable>> = {
  'Main commands:': mainCommands,
  'Compare and restore:': restoreCommands,
  'Adopt and move:': adoptCommands,
  'State:': stateCommands,
  'Fleet:': fleetCommands,
  'Inspect:': inspectCommands,
  [TOOLS]: toolCommands,
};

interface ProgramOptions {
  /** The words of a command line. Commands whose names are not among them get only a name and a summary, which is faster. */
  readonly words?: readonly string[];
  readonly output?: OutputConfiguration;
}

export async function createProgram(start: Start, { words, output = {} }: ProgramOptions = {}): Promise<Command> {
  // During completion, words start with = and may contain shell quotes.
  const usedNames = words && new Set(words.map((word) => word.replaceAll(/[^a-z]/g, '')));
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
    .option('--no-color', 'Disable colors, as NO_COLOR does')
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
    .configureOutput(output)
    .commandsGroup(TOOLS)
    .helpCommand('help [command...]', 'Print help for a command')
    .exitOverride();
  for (const [heading, table] of Object.entries(groups)) {
    program.commandsGroup(heading);
    for (const [name, { summary, traits, define }] of Object.entries(table)) {
      const command = program.command(name).summary(summary);
      if (usedNames?.has(name) !== false) await define(command, createPerform(start, traits));
    }
  }
  suggestChoices(program);
  return program;
}
