import type { Command } from 'commander';
import type { Start } from '../context.ts';

export function defineSchema(program: Command, start: Start): void {
  program
    .command('schema')
    .summary('print a JSON Schema')
    .description(
      'Prints the JSON Schema of manifests, of one kind, of the project file, of a plan or of a state.',
    )
    .argument('[name]', 'manifest, project, plan, state, or a kind such as Agent', 'manifest')
    .action((name: string) =>
      start(async (context) => (await import('../actions/schema.ts')).schema(context, name)),
    );
}
