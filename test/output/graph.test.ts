import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { graphHtml } from '../../src/output/graph/graph-html.ts';
import { graphFile, graphSvg } from '../../src/output/graph/graph-svg.ts';
import { graphDot, graphMermaid } from '../../src/output/graph/graph-text.ts';
import { type GroupBy, groupedGraph } from '../../src/output/graph/grouping.ts';
import { type Box, layeredLayout } from '../../src/output/graph/layout.ts';
import {
  groupPicture,
  overviewPicture,
  type Picture,
  planPicture,
  wholePicture,
} from '../../src/output/graph/pictures.ts';
import { connectedTo, type ReferenceGraph, referenceGraph } from '../../src/project/reference-graph.ts';
import { agent, number, ref, user } from '../engine/resources.ts';
import { branchOffices, teams } from './branch-offices.ts';
import { plan, resource } from './sample-plan.ts';
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
const plain = (some: ReferenceGraph) => groupedGraph(some, 'none');

function nodes(count: number, kind: string): { id: string; kind: string; name: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${kind}/${index}`,
    kind,
    name: `${kind}-${index}`,
  }));
}

/** Any graph, including cycles and self-references. */
const anyGraph = fc
  .tuple(fc.integer({ min: 1, max: 25 }), fc.array(fc.tuple(fc.nat(24), fc.nat(24)), { maxLength: 40 }))
  .map(([count, pairs]): ReferenceGraph => {
    const all = nodes(count, 'A').map((node, index) => ({ ...node, kind: 'ABC'.charAt(index % 3) }));
    const edges = pairs.flatMap(([a, b]) =>
      a < count && b < count && a !== b ? [{ from: `A/${a}`, to: `A/${b}`, fields: ['f'] }] : [],
    );
    return { nodes: all, edges };
  });

/** 300 agents in 12 teams and 10 cities. */
const large = referenceGraph(branchOffices({ agents: 300 }));
const grouped = (by?: GroupBy) => groupedGraph(large, by);

function isInside(box: Box, frame: Box): boolean {
  return (
    box.x >= frame.x &&
    box.y >= frame.y &&
    box.x + box.width <= frame.x + frame.width &&
    box.y + box.height <= frame.y + frame.height
  );
}

function areApart(a: Box, b: Box): boolean {
  return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
}

describe('reference graph', () => {
  it('contains the declared resources, their references, and the fields of the references', () => {
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

  it('is limited to resources connected to the selected ones, up and down but not sideways', () => {
    const ids = (of: string) => connectedTo(graph, [of]).nodes.map(({ id }) => id);
    expect(ids('Agent/back')).toEqual(['Agent/back', 'WorkspaceUser/ada']);
    expect(ids('PhoneNumber/spare')).toEqual(['Agent/front', 'KnowledgeBase/FAQ "new"', 'PhoneNumber/spare']);
  });

  it('is a flowchart for Mermaid, with the fields if they add information', () => {
    expect(graphMermaid(plain(graph))).toMatchInlineSnapshot(`
      "flowchart LR
        subgraph g0["Agent"]
          n0["back"]
          n1["front"]
        end
        subgraph g1["KnowledgeBase"]
          n2["FAQ #34;new#34;"]
        end
        subgraph g2["PhoneNumber"]
          n3["main"]
          n4["spare"]
        end
        subgraph g3["WorkspaceUser"]
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

  it('is complete for Graphviz', () => {
    expect(graphDot(plain(graph))).toContain(
      '"KnowledgeBase/FAQ \\"new\\"" [label="KnowledgeBase\\nFAQ \\"new\\"", color="#4d7c0f"];',
    );
    expect(
      graphDot(plain({ nodes: nodes(500, 'A'), edges: [] }))
        .split('\n')
        .filter((line) => line.includes('[label=')),
    ).toHaveLength(500);
  });

  it('puts every node into a separate position inside the picture, and draws every edge', () => {
    fc.assert(
      fc.property(anyGraph, fc.boolean(), (any, framed) => {
        const byKind = [...Map.groupBy(any.nodes, ({ kind }) => kind)].map(([kind, members]) => ({
          id: kind,
          name: kind,
          nodes: members,
          isRest: false,
        }));
        const laid = layeredLayout({ ...any, frames: framed ? byKind : [] }, () => 120);
        const boxes = [...laid.boxes.values()];
        expect(boxes).toHaveLength(any.nodes.length);
        for (const [index, box] of boxes.entries()) {
          expect(isInside(box, { x: 0, y: 0, width: laid.width, height: laid.height })).toBe(true);
          for (const other of boxes.slice(index + 1)) expect(areApart(box, other)).toBe(true);
        }
        expect(laid.wires.map(({ edge }) => edge)).toEqual(any.edges);
      }),
      { numRuns: 40 },
    );
  });

  it('gives each kind a column, in which no line crosses a box', () => {
    for (const picture of [wholePicture(plain(graph)), overviewPicture(grouped('label:team'))]) {
      const { boxes, wires } = layeredLayout(picture, ({ name }) => 60 + 8 * name.length);
      const columns = new Map(picture.nodes.map(({ id, kind }) => [kind, boxes.get(id)?.x ?? 0]));
      const at = (kind: string) => columns.get(kind) ?? 0;
      expect(at('PhoneNumber')).toBe(at('WorkspaceUser'));
      expect([at('PhoneNumber'), at('Agent'), at('KnowledgeBase')]).toEqual(
        [at('PhoneNumber'), at('Agent'), at('KnowledgeBase')].toSorted((a, b) => a - b),
      );
      for (const { edge, points } of wires) {
        const others = [...boxes].filter(([id]) => id !== edge.from && id !== edge.to);
        for (const { x, y } of points)
          for (const [, box] of others) expect(areApart({ x, y, width: 0, height: 0 }, box)).toBe(true);
      }
    }
  });

  it('shows external text as text', () => {
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
    const texts = [
      graphMermaid(plain(hostile)),
      graphDot(plain(hostile)),
      graphFile(plain(hostile)),
      graphHtml(plain(hostile), { workspace: evil }),
    ];
    for (const text of texts) expect(text).not.toMatch(unsafe);
    expect(texts[0]).not.toMatch(/<script|"\]; click/);
    expect(texts[1]?.split('\n').filter((line) => !/^( {2}|digraph|\}|$)/.test(line))).toEqual([]);
    expect(texts[2]).not.toMatch(/<script/);
    expect(texts[3]?.match(/<script/g)).toHaveLength(1);
  });
});

describe('large reference graph', () => {
  it.each(['label:team', 'label:city', 'folder', 'number', 'none'] as const)(
    'by %s has each node in exactly one group, and draws every edge in the pictures of both its ends',
    (by) => {
      const graph = grouped(by);
      const all = graph.groups.flatMap(({ nodes }) => nodes.map(({ id }) => id));
      expect(all.toSorted()).toEqual(large.nodes.map(({ id }) => id).toSorted());
      expect(new Set(graph.groups.map(({ id }) => id)).size).toBe(graph.groups.length);
      const groupOf = new Map(graph.groups.flatMap(({ id, nodes: some }) => some.map((node) => [node.id, id])));
      const missing = graph.groups.flatMap((group) => {
        const picture = groupPicture(graph, group);
        const shown = new Set(picture.nodes.map(({ id }) => id));
        const wires = new Set(picture.edges.map(({ from, to }) => `${from} -> ${to}`));
        const drawnAs = (id: string) => (shown.has(id) ? id : `${groupOf.get(id)} ${id.split('/')[0]}`);
        return large.edges
          .filter(({ from, to }) => groupOf.get(from) === group.id || groupOf.get(to) === group.id)
          .map(({ from, to }) => `${drawnAs(from)} -> ${drawnAs(to)}`)
          .filter((wire) => !wires.has(wire));
      });
      expect(missing).toEqual([]);
    },
  );

  it('counts the members of each group in the overview', () => {
    const { nodes, edges, frames, note } = overviewPicture(grouped('label:team'));
    const agents = nodes.filter(({ kind }) => kind === 'Agent');
    expect(agents.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(300);
    expect(frames.map(({ name }) => name)).toEqual([...teams].sort());
    expect(edges.length).toBeLessThan(60);
    expect(note).toBe(`${large.nodes.length} resources in 15 groups`);
  });

  it('draws the smallest of many groups as one', () => {
    const { frames, nodes } = overviewPicture(grouped('number'));
    expect(frames.at(-1)?.name).toMatch(/^\d+ more groups$/);
    expect(frames.length).toBeLessThanOrEqual(40);
    expect(nodes.reduce((sum, { count = 1 }) => sum + count, 0)).toBe(large.nodes.length);
  });

  it('is grouped automatically: by the label that keeps most references inside, by folder, by number', () => {
    const automatic = (options: Parameters<typeof branchOffices>[0]) =>
      groupedGraph(referenceGraph(branchOffices(options)), undefined).by;
    expect(automatic({ agents: 300 })).toBe('label:team');
    expect(automatic({ agents: 300, labelled: false, folders: 'teams' })).toBe('folder');
    expect(automatic({ agents: 300, labelled: false, folders: 'kinds' }), 'kinds are not groups').toBe('number');
    expect(automatic({ agents: 3 })).toBe('none');
    expect(groupedGraph({ nodes: nodes(90, 'Agent'), edges: [] }, undefined).by).toBe('none');
  });

  it('groups a resource without a label with its only connected group, and the rest by kind', () => {
    const { groups } = grouped('label:team');
    const groupOf = (id: string) => groups.find((group) => group.nodes.some((node) => node.id === id))?.name;
    expect(groupOf('PhoneNumber/support-line-0')).toBe('support');
    expect(groupOf('KnowledgeBase/FAQ support')).toBe('support');
    expect(groupOf('KnowledgeBase/Company handbook')).toBe('Shared: KnowledgeBase');
    expect(groupOf('WorkspaceUser/auditor')).toBe('Shared: WorkspaceUser');
    expect(groupOf('Webhook/call-ended')).toBe('No team: Webhook');
  });

  it('groups numbers that route to the same agent', () => {
    const shared = referenceGraph([
      agent('front'),
      agent('lonely'),
      number('a', { inbound_agent_id: ref('Agent/front') }),
      number('b', { outbound_agent_id: ref('Agent/front') }),
      number('c', {}),
    ]);
    const names = groupedGraph(shared, 'number').groups.map((group) => [group.name, group.nodes.map(({ id }) => id)]);
    expect(names).toEqual([
      ['a and 1 more', ['Agent/front', 'PhoneNumber/a', 'PhoneNumber/b']],
      ['c', ['PhoneNumber/c']],
      ['No number: Agent', ['Agent/lonely']],
    ]);
  });

  it('has a cluster for each group in DOT, and in Mermaid as far as Mermaid renders it', () => {
    const dot = graphDot(grouped());
    expect(dot.match(/subgraph cluster_\d+ \{/g)).toHaveLength(15);
    expect(dot.match(/^ +"[^"]+" \[label=/gm)).toHaveLength(large.nodes.length);
    expect(dot.match(/ -> /g)).toHaveLength(large.edges.length);
    const mermaid = graphMermaid(grouped());
    expect(mermaid.match(/ -->/g)?.length).toBeLessThanOrEqual(500);
    expect(mermaid.length).toBeLessThan(50_000);
    expect(mermaid).toContain('  subgraph g9["support"]\n    n');
    const small = graphMermaid(groupedGraph(referenceGraph(branchOffices({ agents: 30 })), 'label:team'));
    expect(small).toContain('["Agent/support-0"]');
    expect(small).toContain('["Agent/sales-1"]');
  });

  it('does not depend on the order of the manifests', { tags: ['long'] }, () => {
    const other = referenceGraph(branchOffices({ agents: 300 }).toReversed());
    for (const draw of [
      graphDot,
      graphMermaid,
      graphFile,
      (graph: ReturnType<typeof grouped>) => graphHtml(graph, { workspace: 'w' }),
    ])
      expect(draw(groupedGraph(other, undefined)) === draw(grouped())).toBe(true);
  });

  it('links every box on its page to an existing target', () => {
    const page = graphHtml(grouped(), { workspace: 'production' });
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(links.filter((link) => !ids.includes(link))).toEqual([]);
    expect(ids.filter((id) => id?.startsWith('node-'))).toHaveLength(large.nodes.length);
    expect(page.match(/<details class="resource" data-group>/g)).toHaveLength(15);
    expect(page.match(/(?:src|href)="(?!#|data:)/g)).toBeNull();
  });

  it('shows the changes of a large plan with their neighbors, or counts', () => {
    const agents = Array.from({ length: 90 }, (_, index) =>
      resource(`Agent/a-${index}`, index < 2 ? { action: 'update' } : {}),
    );
    const line = resource('PhoneNumber/line', { depends_on: ['Agent/a-1'] });
    const few: Picture = planPicture(plan([...agents, line]));
    expect(few.nodes.map(({ id, mark }) => [id, mark])).toEqual([
      ['Agent/a-0', 'update'],
      ['Agent/a-1', 'update'],
      ['PhoneNumber/line', undefined],
    ]);
    expect(few.note).toBe('88 unchanged resources not shown');
    const many = planPicture(plan([...agents.map((each) => ({ ...each, action: 'create' as const })), line]));
    expect(many.nodes.map(({ kind, mark, count }) => [kind, mark, count])).toEqual([
      ['Agent', 'create', 90],
      ['PhoneNumber', undefined, undefined],
    ]);
    expect(graphSvg(many, { standalone: false }).text).toContain('Agent × 90');
  });
});
