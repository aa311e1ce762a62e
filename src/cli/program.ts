import { Command, Option } from 'commander';
import { VERSION } from '../version.ts';
import { defineAccept } from './commands/accept.ts';
import { defineApply } from './commands/apply.ts';
import { defineCompletion } from './commands/completion.ts';
import { defineDiff } from './commands/diff.ts';
import { defineDrift } from './commands/drift.ts';
import { defineEmulator } from './commands/emulator.ts';
import { defineExplain } from './commands/explain.ts';
import { defineExport } from './commands/export.ts';
import { defineFmt } from './commands/fmt.ts';
import { defineGet } from './commands/get.ts';
import { defineGraph } from './commands/graph.ts';
import { defineImport } from './commands/import.ts';
import { defineInit } from './commands/init.ts';
import { defineMigrate } from './commands/migrate.ts';
import { defineOrphans } from './commands/orphans.ts';
import { definePlan } from './commands/plan.ts';
import { defineRecover } from './commands/recover.ts';
import { defineSchema } from './commands/schema.ts';
import { defineState } from './commands/state.ts';
import { defineStatus } from './commands/status.ts';
import { defineValidate } from './commands/validate.ts';
import { defineRollback, defineVersions } from './commands/versions.ts';
import { defineWatch } from './commands/watch.ts';
import type { Start } from './context.ts';
import { collectText } from './flags.ts';
import { suggestChoices } from './usage-errors.ts';

/** The flags that every command takes, before its name or after it. */
export interface GlobalFlags {
  readonly chdir?: string;
  /** Several where the command takes them. */
  readonly workspace?: readonly string[];
  readonly color: boolean;
  readonly cache?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** Absent where the command may choose. */
  readonly logFormat?: 'text' | 'json';
}

/** In the order in which help lists them: the way of a manifest, then what is needed now and then. */
const commands = [
  defineInit,
  defineValidate,
  definePlan,
  defineApply,
  defineDrift,
  defineStatus,
  defineWatch,
  defineDiff,
  defineAccept,
  defineVersions,
  defineRollback,
  defineImport,
  defineExport,
  defineMigrate,
  defineRecover,
  defineGet,
  defineState,
  defineOrphans,
  defineFmt,
  defineGraph,
  defineExplain,
  defineSchema,
  defineCompletion,
  defineEmulator,
];

export function createProgram(start: Start): Command {
  const program = new Command('voxform')
    .description('Keeps voice-agent workspaces as Git says.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .option('-C, --chdir <dir>', 'work in this folder')
    .option(
      '-w, --workspace <name>',
      'the workspace (default: VOXFORM_WORKSPACE, default_workspace); several for commands that take several',
      collectText,
    )
    .option('--no-color', 'no colours; NO_COLOR does the same')
    .option('--no-cache', 'parse every manifest, also those that are unchanged')
    .option('-q, --quiet', 'no progress and no remarks')
    .option('-v, --verbose', 'also what is unchanged, and every request')
    .addOption(
      new Option(
        '--log-format <format>',
        'form of what is written to stderr (default: text; for watch json where that is no terminal)',
      ).choices(['text', 'json']),
    )
    .configureHelp({
      showGlobalOptions: true,
      minWidthToWrap: 24,
      // What a command takes is in its own help: here it would leave no room for what it does.
      subcommandTerm: (command) => command.name(),
    })
    .helpCommand('help [command]', 'print help for a command')
    .exitOverride();
  for (const define of commands) define(program, start);
  suggestChoices(program);
  return program;
}
