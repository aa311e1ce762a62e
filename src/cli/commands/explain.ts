import type { Command } from 'commander';
import type { ExplainOptions } from '../actions/explain.ts';
import type { Start } from '../context.ts';
import { outputOption } from '../flags.ts';

export function defineExplain(program: Command, start: Start): void {
  program
    .command('explain')
    .summary('say what a field takes and how it is treated')
    .description(
      'Says of a kind, a field, a value form or a setting of the project file what it takes, what it means and how it is treated, with an example. Without one, lists what there is to ask. Needs no project and no network.',
    )
    .argument('[topic]', 'e.g. Agent.llm_config.temperature, metadata.labels, secret or project.guards')
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
