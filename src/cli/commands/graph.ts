import { type Command, InvalidArgumentError, Option } from 'commander';
import type { GroupBy } from '../../output/graph/grouping.ts';
import type { GraphOptions } from '../actions/graph.ts';
import type { Start } from '../context.ts';

export function defineGraph(program: Command, start: Start): void {
  program
    .command('graph')
    .summary('Draw the reference graph')
    .description(
      'Draw the reference graph of the manifests, or of some addresses and everything connected to them. Needs no API key and no network. More than 40 resources are grouped by a label, by folder or by number.',
    )
    .argument('[address...]', 'Resources, or a knowledge base such as "KnowledgeBase/FAQ"')
    .addOption(
      new Option('--output <format>', 'Output format')
        .choices(['mermaid', 'dot', 'svg', 'html'])
        .default('mermaid'),
    )
    .addOption(
      new Option('--group-by <field>', 'Group by label:KEY, folder, number or none').argParser(groupBy),
    )
    .action((addresses: readonly string[], options: GraphOptions) =>
      start(async (context) => (await import('../actions/graph.ts')).graph(context, addresses, options)),
    );
}

function groupBy(value: string): GroupBy {
  if (value === 'folder' || value === 'number' || value === 'none') return value;
  if (/^label:./.test(value)) return `label:${value.slice('label:'.length)}`;
  throw new InvalidArgumentError('Expected label:KEY, folder, number or none.');
}
