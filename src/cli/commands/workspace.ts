import type { Command } from 'commander';
import type { WorkspaceListOptions } from '../actions/workspace.ts';
import type { Start } from '../context.ts';
import { outputOption } from '../flags.ts';

export function defineWorkspace(program: Command, start: Start): void {
  program
    .command('workspace')
    .summary('the workspaces of the project')
    .description('The workspaces that the project file names.')
    .command('list')
    .summary('the workspaces and where they are')
    .description(
      'Lists the workspaces of the project, and marks the one that commands use. Needs no API key.',
    )
    .addOption(outputOption(['text', 'json']))
    .action((options: WorkspaceListOptions) =>
      start(async (context) => (await import('../actions/workspace.ts')).listWorkspaces(context, options)),
    );
}
