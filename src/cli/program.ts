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
import { defineHistory } from './commands/history.ts';
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
import { defineWorkspace } from './commands/workspace.ts';
import type { Start } from './context.ts';
import { collectItems } from './flags.ts';
import { helpLayout } from './help.ts';
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
  'Main commands:': [
    defineInit,
    defineValidate,
    definePlan,
    defineApply,
    defineDrift,
    defineStatus,
    defineWatch,
  ],
  'Compare and restore:': [defineDiff, defineAccept, defineVersions, defineRollback],
  'Adopt and move:': [defineImport, defineExport, defineMigrate],
  'State:': [defineState, defineHistory, defineOrphans, defineRecover],
  'Inspect:': [defineWorkspace, defineGet, defineGraph, defineExplain, defineSchema],
  'Tools:': [defineFmt, defineEmulator, defineCompletion],
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
  for (const [heading, commands] of Object.entries(groups)) {
    program.commandsGroup(heading);
    for (const define of commands) define(program, start);
  }
  program.helpCommand('help [command...]', 'Print help for a command');
  suggestChoices(program);
  return program;
}
