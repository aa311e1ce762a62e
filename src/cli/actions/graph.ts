import { refuseUnknown } from '../../engine/decide/scope.ts';
import { type GroupBy, groupedGraph, labelKeys } from '../../output/graph/grouping.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { usageError } from '../../problems/user-error.ts';
import { connectedTo, type ReferenceGraph, referenceGraph } from '../../project/reference-graph.ts';
import { openWorkspace, requireValid } from '../../runs/open-workspace.ts';
import type { Context } from '../context.ts';

/** The renderers are loaded on first use, because only images need the layout code. */
const formats = {
  mermaid: async () => (await import('../../output/graph/graph-text.ts')).graphMermaid,
  dot: async () => (await import('../../output/graph/graph-text.ts')).graphDot,
  svg: async () => (await import('../../output/graph/graph-svg.ts')).graphFile,
  html: async () => (await import('../../output/graph/graph-html.ts')).graphHtml,
};

interface GraphOptions {
  readonly address: readonly string[];
  readonly output: keyof typeof formats;
  readonly groupBy?: GroupBy;
}

export async function graph(context: Context, { address: addresses, output, groupBy }: GraphOptions): Promise<void> {
  const opened = await openWorkspace(context, { requireKey: false, requireState: false });
  const { resources } = requireValid(await opened.declared('offline'));
  const full = referenceGraph(resources);
  refuseUnknown(addresses, new Set(full.nodes.map(({ id }) => id)));
  const shown = addresses.length === 0 ? full : connectedTo(full, addresses);
  const grouped = groupedGraph(shown, checkedGrouping(groupBy, shown));
  if (groupBy === undefined && grouped.groups.length > 1)
    context.log.info(
      `Grouped by ${grouped.by.replace(':', ' ')} (--group-by changes this). To draw one resource and its connections: voxform graph ADDRESS`,
    );
  if (output === 'mermaid' && context.terminal.showsResults)
    context.log.info(
      'The output is Mermaid, which GitHub and GitLab render in Markdown. To open the graph in a browser: voxform graph --output html > graph.html',
    );
  const render = await formats[output]();
  context.terminal.out(render(grouped, { workspace: opened.workspace.name, made: context.now() }));
}

/** @throws UserError if no resource has the label. */
function checkedGrouping(by: GroupBy | undefined, graph: ReferenceGraph): GroupBy | undefined {
  if (by === undefined || !by.startsWith('label:')) return by;
  const [key, known] = [by.slice('label:'.length), labelKeys(graph)];
  if (known.includes(key)) return by;
  throw usageError(
    `no resource has a label "${key}"${didYouMean(key, known)}`,
    known.length === 0 ? 'Labels are in metadata.labels.' : `Labels: ${known.join(', ')}`,
  );
}
