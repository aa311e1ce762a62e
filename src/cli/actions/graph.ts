import { graphDot } from '../../output/graph/graph-dot.ts';
import { graphHtml } from '../../output/graph/graph-html.ts';
import { graphMermaid } from '../../output/graph/graph-mermaid.ts';
import { graphSvg } from '../../output/graph/graph-svg.ts';
import { groupedGraph } from '../../output/graph/group-nodes.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { InvalidManifests } from '../../project/invalid-manifests.ts';
import { connectedTo, type ReferenceGraph, referenceGraph } from '../../project/reference-graph.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import type { Context } from '../context.ts';

export interface GraphOptions {
  readonly output: 'mermaid' | 'dot' | 'svg' | 'html';
}

export async function graph(
  context: Context,
  addresses: readonly string[],
  { output }: GraphOptions,
): Promise<number> {
  const opened = await openWorkspace(context, { requireKey: false });
  const { resources, diagnostics } = await opened.declared('offline');
  if (diagnostics.some(({ severity }) => severity === 'error')) throw new InvalidManifests(diagnostics);
  const whole = referenceGraph(resources);
  refuseUnknown(addresses, whole);
  const shown = addresses.length === 0 ? whole : connectedTo(whole, addresses);
  const { note } = groupedGraph(shown);
  if (note !== undefined && output !== 'dot')
    context.log.info(`${note}; to draw one resource and its connections: voxform graph ADDRESS`);
  context.terminal.out(rendered(shown, output, opened.workspace.name));
  return ExitCode.ok;
}

function rendered(shown: ReferenceGraph, output: GraphOptions['output'], workspace: string): string {
  switch (output) {
    case 'mermaid':
      return graphMermaid(shown);
    case 'dot':
      return graphDot(shown);
    case 'svg':
      return `${graphSvg(shown, { standalone: true })}\n`;
    case 'html':
      return graphHtml(shown, { workspace });
    default:
      return output satisfies never;
  }
}

function refuseUnknown(addresses: readonly string[], { nodes }: ReferenceGraph): void {
  const known = nodes.map(({ id }) => id);
  for (const address of addresses) {
    if (known.includes(address)) continue;
    throw new UserError(`unknown resource ${address}${didYouMean(address, known)}`, {
      hint: 'An address is Kind/name, such as Agent/support-line.',
      exitCode: ExitCode.usage,
    });
  }
}
