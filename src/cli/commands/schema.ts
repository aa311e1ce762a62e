import type { Command } from 'commander';
import type { Start } from '../context.ts';

export function defineSchema(program: Command, start: Start): void {
  program
    .command('schema')
    .summary('Print a JSON Schema')
    .description(
      'Print the JSON Schema of manifests, of one kind, of the project file, of the state, or of the JSON output of commands and of their errors.',
    )
    .argument(
      '[name]',
      'Schema: manifest, project, state, plan, plans, apply, drift, diff, history, error, or a kind such as Agent',
      'manifest',
    )
    .action((name: string) =>
      start(async (context) => (await import('../actions/schema.ts')).schema(context, name), {
        withoutProject: true,
      }),
    );
}
