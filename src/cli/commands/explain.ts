import type { Command } from 'commander';
import type { ExplainOptions } from '../actions/explain.ts';
import type { Start } from '../context.ts';
import { outputOption } from '../flags.ts';

export function defineExplain(program: Command, start: Start): void {
  program
    .command('explain')
    .summary('Describe a kind, a field or a setting')
    .description(
      'Describe a kind, a field, a value form or a setting of the project file: its type, its meaning, how voxform treats it, and an example. Without an argument, list all topics. Needs no project and no network.',
    )
    .argument(
      '[topic]',
      'Topic, e.g. Agent.llm_config.temperature, metadata.labels, secret or project.guards',
    )
    .addOption(outputOption(['text', 'json']))
    .action((topic: string | undefined, options: ExplainOptions) =>
      start(
        async (context) => (await import('../actions/explain.ts')).explainTopic(context, topic, options),
        {
          withoutProject: true,
        },
      ),
    );
}
