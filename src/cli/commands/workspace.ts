import type { Command } from 'commander';
import type { WorkspaceListOptions } from '../actions/workspace.ts';
import type { Start } from '../context.ts';
import { outputOption } from '../flags.ts';

export function defineWorkspace(program: Command, start: Start): void {
  program
    .command('workspace')
    .summary('List workspaces')
    .description('List the workspaces of the project.')
    .command('list')
    .summary('List workspaces')
    .description('List the workspaces of the project and mark the selected one. Needs no API key.')
    .addOption(outputOption(['text', 'json']))
    .action((options: WorkspaceListOptions) =>
      start(async (context) => (await import('../actions/workspace.ts')).listWorkspaces(context, options)),
    );
}
