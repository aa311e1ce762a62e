import { type Command, Option } from 'commander';
import type { GraphOptions } from '../actions/graph.ts';
import type { Start } from '../context.ts';

export function defineGraph(program: Command, start: Start): void {
  program
    .command('graph')
    .summary('draw what refers to what')
    .description(
      'Draws which resources of the manifests refer to which. Needs no API key and no network. With addresses, only these and what they are connected to.',
    )
    .argument('[address...]', 'resources, or a knowledge base such as "KnowledgeBase/FAQ"')
    .addOption(
      new Option('--output <format>', 'form of the graph')
        .choices(['mermaid', 'dot', 'svg', 'html'])
        .default('mermaid'),
    )
    .action((addresses: readonly string[], options: GraphOptions) =>
      start(async (context) => (await import('../actions/graph.ts')).graph(context, addresses, options)),
    );
}
