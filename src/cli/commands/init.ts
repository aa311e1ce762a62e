import type { Command } from 'commander';
import type { Start } from '../context.ts';

export function defineInit(program: Command, start: Start): void {
  program
    .command('init')
    .summary('Create a new project')
    .description(
      'Create a new project: voxform.yaml, a manifest of each kind, JSON Schemas, and settings for the editor, Git and CI. Existing files are kept. In a repository with a remote origin, the state will be in a ref there, else in a file.',
    )
    .argument('[dir]', 'Folder', '.')
    .action((folder: string) =>
      start(async (context) => (await import('../actions/init.ts')).init(context, folder), {
        withoutProject: true,
      }),
    );
}
