import type { Command } from 'commander';
import type { Start } from '../context.ts';

export function defineInit(program: Command, start: Start): void {
  program
    .command('init')
    .summary('write a new project')
    .description(
      'Writes a new project: voxform.yaml, a manifest of each kind, the schemas, and settings for editor, Git and CI. Leaves files that exist as they are.',
    )
    .argument('[dir]', 'the folder', '.')
    .action((folder: string) =>
      start(async (context) => (await import('../actions/init.ts')).init(context, folder), {
        withoutProject: true,
      }),
    );
}
