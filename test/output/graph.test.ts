import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { graphDot } from '../../src/output/graph/graph-dot.ts';
import { graphMermaid } from '../../src/output/graph/graph-mermaid.ts';
import { graphSvg } from '../../src/output/graph/graph-svg.ts';
import { groupedGraph } from '../../src/output/graph/group-nodes.ts';
import { layeredLayout } from '../../src/output/graph/layered-layout.ts';
import { connectedTo, type ReferenceGraph, referenceGraph } from '../../src/project/reference-graph.ts';
import { agent, number, ref, user } from '../engine/resources.ts';
import { evil, unsafe } from './sample-styles.ts';

const resources = [
  agent('front', { llm_config: { knowledge_base_ids: [ref('KnowledgeBase/FAQ "new"')] } }),
  agent('back'),
  number('main', {
    number: '+49301',
    inbound_agent_id: ref('Agent/front'),
    outbound_agent_id: ref('Agent/front'),
  }),
  number('spare', { number: '+49302', inbound_agent_id: ref('Agent/front') }),
  user('ada', { agent_ids: [ref('Agent/front'), ref('Agent/back')] }),
];
const graph = referenceGraph(resources);

function nodes(count: number, kind: string): { id: string; kind: string; name: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${kind}/${index}`,
    kind,
    name: `${kind}-${index}`,
  }));
}

/** Any graph, circles and references to oneself included. */
const anyGraph = fc
  .tuple(fc.integer({ min: 1, max: 25 }), fc.array(fc.tuple(fc.nat(24), fc.nat(24)), { maxLength: 40 }))
  .map(([count, pairs]): ReferenceGraph => {
    const all = nodes(count, 'A').map((node, index) => ({ ...node, kind: 'ABC'.charAt(index % 3) }));
    const edges = pairs.flatMap(([a, b]) =>
      a < count && b < count && a !== b ? [{ from: `A/${a}`, to: `A/${b}`, fields: ['f'] }] : [],
    );
    return { nodes: all, edges };
  });

describe('the reference graph', () => {
  it('has what is declared, what that refers to, and the fields that do', () => {
    expect(graph.nodes.map(({ id }) => id)).toEqual([
      'Agent/back',
      'Agent/front',
      'KnowledgeBase/FAQ "new"',
      'PhoneNumber/main',
      'PhoneNumber/spare',
      'WorkspaceUser/ada',
    ]);
    expect(graph.edges.find(({ from }) => from === 'PhoneNumber/main')).toEqual({
      from: 'PhoneNumber/main',
      to: 'Agent/front',
      fields: ['inbound_agent_id', 'outbound_agent_id'],
    });
  });

  it('is cut to what some resources are connected to, up and down but not sideways', () => {
    const ids = (of: string) => connectedTo(graph, [of]).nodes.map(({ id }) => id);
    expect(ids('Agent/back')).toEqual(['Agent/back', 'WorkspaceUser/ada']);
    expect(ids('PhoneNumber/spare')).toEqual(['Agent/front', 'KnowledgeBase/FAQ "new"', 'PhoneNumber/spare']);
  });

  it('is a flowchart for Mermaid, with the fields where they tell something', () => {
    expect(graphMermaid(graph)).toMatchInlineSnapshot(`
      "flowchart LR
        subgraph k0["Agent"]
          n0["back"]
          n1["front"]
        end
        subgraph k1["KnowledgeBase"]
          n2["FAQ #34;new#34;"]
        end
        subgraph k2["PhoneNumber"]
          n3["main"]
          n4["spare"]
        end
        subgraph k3["WorkspaceUser"]
          n5["ada"]
        end
        n1 --> n2
        n3 -->|"inbound_agent_id, outbound_agent_id"| n1
        n4 -->|"inbound_agent_id"| n1
        n5 --> n0
        n5 --> n1
      "
    `);
  });

  it('is whole for Graphviz', () => {
    expect(graphDot(graph)).toContain(
      '"KnowledgeBase/FAQ \\"new\\"" [label="KnowledgeBase\\nFAQ \\"new\\""];',
    );
    expect(
      graphDot({ nodes: nodes(500, 'A'), edges: [] })
        .split('\n')
        .filter((line) => line.includes('[label=')),
    ).toHaveLength(500);
  });

  it('draws many that are alike as one, counts them, and says so', () => {
    const agents = nodes(500, 'Agent');
    const many: ReferenceGraph = {
      nodes: [...agents, ...nodes(500, 'PhoneNumber'), { id: 'KB/x', kind: 'KB', name: 'x' }],
      edges: agents.flatMap(({ id }, index) => [
        { from: `PhoneNumber/${index}`, to: id, fields: ['inbound_agent_id'] },
        { from: id, to: 'KB/x', fields: ['k'] },
      ]),
    };
    const grouped = groupedGraph(many);
    expect(grouped.nodes.map(({ name, count }) => [name, count])).toEqual([
      ['Agent-0 and 499 more', 500],
      ['PhoneNumber-0 and 499 more', 500],
      ['x', undefined],
    ]);
    expect(grouped.edges).toHaveLength(2);
    expect(graphSvg(many, { standalone: true })).toContain('1001 resources, of which those that are alike');
    const changed = {
      ...many,
      nodes: many.nodes.map((node) => (node.id === 'Agent/7' ? { ...node, mark: 'update' } : node)),
    };
    expect(
      groupedGraph(changed).nodes.find(({ mark }) => mark === 'update')?.name,
      'what changes is not hidden',
    ).toBe('Agent-7');
    expect(groupedGraph(graph)).toEqual({ ...graph, note: undefined });
  });

  it('puts every node into a place of its own, and lets lines go from left to right where nothing goes in circles', () => {
    fc.assert(
      fc.property(anyGraph, (any) => {
        const { placed, apart, lines } = layeredLayout(any);
        expect(placed.length + apart.length).toBe(any.nodes.length);
        for (const [index, a] of placed.entries()) {
          for (const b of placed.slice(index + 1)) {
            if (a.column === b.column) expect(Math.abs(a.row - b.row)).toBeGreaterThan(0.99);
          }
          expect(a.row).toBeGreaterThanOrEqual(0);
        }
        expect(lines).toHaveLength(any.edges.length);
      }),
    );
    const columns = new Map(layeredLayout(graph).placed.map(({ node, column }) => [node.kind, column]));
    expect(columns).toEqual(
      new Map([
        ['Agent', 1],
        ['KnowledgeBase', 2],
        ['PhoneNumber', 0],
        ['WorkspaceUser', 0],
      ]),
    );
  });

  it('keeps text from outside text', () => {
    const hostile: ReferenceGraph = {
      nodes: [
        {
          id: `K/${evil}`,
          kind: evil,
          name: `${evil}"]; click n0 "javascript:1"<script>`,
          mark: `"><script>`,
        },
        { id: 'b', kind: 'K', name: 'end' },
      ],
      edges: [{ from: `K/${evil}`, to: 'b', fields: [`${evil}"|`] }],
    };
    const texts = [graphMermaid(hostile), graphDot(hostile), graphSvg(hostile, { standalone: true })];
    for (const text of texts) expect(text).not.toMatch(unsafe);
    expect(texts[0]).not.toMatch(/<script|"\]; click/);
    expect(texts[1]?.split('\n').filter((line) => !/^( {2}|digraph|\}|$)/.test(line))).toEqual([]);
    expect(texts[2]).not.toMatch(/<script/);
  });
});
