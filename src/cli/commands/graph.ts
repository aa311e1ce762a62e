import { type Command, Option } from 'commander';
import type { GraphOptions } from '../actions/graph.ts';
import type { Start } from '../context.ts';

export function defineGraph(program: Command, start: Start): void {
  program
    .command('graph')
    .summary('Draw the reference graph')
    .description(
      'Draw the reference graph of the manifests, or of some addresses and everything connected to them. Needs no API key and no network.',
    )
    .argument('[address...]', 'Resources, or a knowledge base such as "KnowledgeBase/FAQ"')
    .addOption(
      new Option('--output <format>', 'Output format')
        .choices(['mermaid', 'dot', 'svg', 'html'])
        .default('mermaid'),
    )
    .action((addresses: readonly string[], options: GraphOptions) =>
      start(async (context) => (await import('../actions/graph.ts')).graph(context, addresses, options)),
    );
}
