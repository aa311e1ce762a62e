import { describe, expect, it } from 'vitest';
import type { PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { batchesOf } from '../../src/runs/migrate/apply-in-batches.ts';
import { mapText } from '../../src/runs/migrate/id-map.ts';
import { ineffectiveLines, lookupIndexOf, parseNameMap, settingsFor } from '../../src/runs/migrate/knowledge-map.ts';
import { foreignIds, leftOutReferences, selectedBy } from '../../src/runs/migrate/prepare.ts';
import { entryOf, stateOf } from '../engine/pure/facts.ts';
import { agent, number, ref, user } from '../engine/resources.ts';

const resources = [
  agent('support-a'),
  agent('support-b'),
  agent('sales'),
  number('main', { number: '+49301', inbound_agent_id: ref('Agent/support-a') }),
  user('ada', { agent_ids: [ref('Agent/support-b'), ref('Agent/sales')] }),
];

function selected(include: readonly string[], exclude: readonly string[] = []): string[] {
  return selectedBy(resources, { include, exclude }).map(({ address }) => address);
}

describe('selection', () => {
  it.each([
    { reason: 'no option is given', include: [], exclude: [], left: resources.map(({ address }) => address) },
    {
      reason: 'a glob is included',
      include: ['Agent/support-*'],
      exclude: [],
      left: ['Agent/support-a', 'Agent/support-b'],
    },
    {
      reason: 'one of them is excluded',
      include: ['Agent/*'],
      exclude: ['*/sales'],
      left: ['Agent/support-a', 'Agent/support-b'],
    },
    {
      reason: 'several globs are included',
      include: ['Agent/sales', 'PhoneNumber/*'],
      exclude: [],
      left: ['Agent/sales', 'PhoneNumber/main'],
    },
  ])('is correct: $reason', ({ include, exclude, left }) => {
    expect(selected(include, exclude)).toEqual(left);
  });

  it('is refused if a glob matches nothing, and if nothing remains', () => {
    expect(() => selected(['Agents/*'])).toThrow('--include Agents/* matches no resource');
    expect(() => selected([], ['*/nobody'])).toThrow('--exclude */nobody matches no resource');
    expect(() => selected(['Agent/*'], ['*/*'])).toThrow('leave nothing to migrate');
  });

  it('reports omitted resources that others need and that do not exist yet', () => {
    const chosen = selectedBy(resources, { include: ['PhoneNumber/*', 'WorkspaceUser/*'], exclude: [] });
    const left = leftOutReferences(resources, chosen, stateOf({ 'Agent/sales': entryOf({}) }));
    expect([...left]).toEqual([
      ['Agent/support-a', ['PhoneNumber/main']],
      ['Agent/support-b', ['WorkspaceUser/ada']],
    ]);
  });
});

function planned(address: string, action: PlannedResource['action'], ...dependsOn: string[]): PlannedResource {
  const kind = address.slice(0, address.indexOf('/'));
  return { address, kind, action, id: null, source: null, reason: '', changes: [], depends_on: dependsOn };
}

describe('batches', () => {
  it('keep the order of references, and contain only written resources', () => {
    const document = {
      resources: [
        planned('Agent/a', 'create', 'Agent/z'),
        planned('Agent/b', 'noop'),
        planned('Agent/c', 'update', 'Agent/b'),
        planned('Agent/z', 'create'),
        planned('PhoneNumber/first', 'create'),
        planned('PhoneNumber/n', 'create', 'Agent/a'),
        planned('PhoneNumber/there', 'adopt'),
        planned('WorkspaceUser/u', 'manual', 'Agent/a'),
      ],
    };
    const batches = (size?: number) => batchesOf(document, size).map((batch) => batch.map(({ address }) => address));
    expect(batches(2)).toEqual([
      ['Agent/z', 'Agent/a'],
      ['Agent/c', 'PhoneNumber/there'],
      ['PhoneNumber/first', 'PhoneNumber/n'],
    ]);
    expect(batches(), 'numbers are live once they are created').toEqual([
      ['Agent/z', 'Agent/a', 'Agent/c', 'PhoneNumber/there'],
      ['PhoneNumber/first', 'PhoneNumber/n'],
    ]);
    expect(batchesOf({ resources: [] }, 1)).toEqual([]);
  });
});

describe('map of names', () => {
  it.each([
    { reason: 'a list', text: '- FAQ\n', message: 'm.yaml is not a map of names' },
    { reason: 'nothing', text: '', message: 'm.yaml is not a map of names' },
    {
      reason: 'something other than text',
      text: 'FAQ: [a]\n',
      message: 'm.yaml: "FAQ" needs a name or id as a string',
    },
    { reason: 'bad YAML', text: 'FAQ: "x\n', message: 'm.yaml:' },
  ])('is refused if it contains $reason', ({ text, message }) => {
    expect(() => parseNameMap(text, 'm.yaml')).toThrow(message);
  });

  it('becomes workspace names, and patches for ids, once: existing values of the workspace stay', () => {
    const withBases = (...bases: string[]) => [
      agent('a', {
        llm_config: {
          knowledge_base_ids: bases.map((base) => (base.startsWith('01') ? base : ref(`KnowledgeBase/${base}`))),
        },
      }),
    ];
    const settings = (there: string[], here: string[], map = 'FAQ: Prices\nPrices: FAQ\n01OLD: 01NEW\n') =>
      settingsFor(withBases(...here), {
        originals: new Map(withBases(...there).map((each) => [each.address, each])),
        names: parseNameMap(map, 'm.yaml'),
        lookupNames: undefined,
        indexes: new Map([['KnowledgeBase', lookupIndexOf([{ id: '01NEW', name: 'Third' }])]]),
      });
    const first = ['FAQ', 'Prices', '01OLD', 'Other'];
    const [faq, prices, other] = ['FAQ', 'Prices', 'Other'].map((name) => ({ $ref: `KnowledgeBase/${name}` }));
    const patch = (...knowledge_base_ids: unknown[]) => new Map([['Agent/a', { llm_config: { knowledge_base_ids } }]]);
    expect(settings(first, first)).toEqual({
      lookupNames: { KnowledgeBase: { FAQ: 'Prices', Prices: 'FAQ' } },
      patches: patch(faq, prices, '01NEW', other),
    });
    expect(settings(first, ['Prices', 'FAQ', '01NEW', 'Other'])).toEqual({
      lookupNames: { KnowledgeBase: {} },
      patches: new Map(),
    });
    expect(settings(first, first, 'FAQ: Third\nPrices: Third\n01OLD: Third\nOther: 01NEW')).toEqual({
      lookupNames: { KnowledgeBase: { FAQ: 'Third' } },
      patches: patch(faq, { $ref: 'KnowledgeBase/Third' }, { $ref: 'KnowledgeBase/Third' }, '01NEW'),
    });
  });
});

describe('line of a map of names', () => {
  const bases = [ref('KnowledgeBase/FAQ'), ref('KnowledgeBase/Prices'), '01OLD'];
  it.each([
    { reason: 'everything is valid', map: 'FAQ: Questions\n01OLD: 01NEW\n', unused: [], missing: [] },
    { reason: 'no value has the name', map: 'FQA: Questions\n', unused: ['FQA'], missing: [] },
    { reason: 'no value has the id', map: '01ODL: 01NEW\n', unused: ['01ODL'], missing: [] },
    { reason: 'it refers to a missing name', map: 'FAQ: Qestions\n', unused: [], missing: ['FAQ'] },
    { reason: 'it refers to an id of the old workspace', map: '01OLD: 01OLD\n', unused: [], missing: ['01OLD'] },
  ])('is reported: $reason', ({ map, unused, missing }) => {
    const told = ineffectiveLines([agent('a', { llm_config: { knowledge_base_ids: bases } }), agent('b')], {
      names: parseNameMap(map, 'm.yaml'),
      indexes: new Map([['KnowledgeBase', lookupIndexOf([{ id: '01NEW', name: 'Questions' }])]]),
    });
    expect(told).toEqual({ unused, missing });
  });
});

describe('ids in manifests', () => {
  const from = { name: 'old', ...stateOf({ 'Agent/a': entryOf({}, { id: 'A-OLD' }) }) };
  const to = { name: 'new', ...stateOf({ 'Agent/b': entryOf({}, { id: 'B-NEW' }) }) };

  it('are identified by the states', () => {
    const named = [agent('a', {}, { id: 'A-OLD' }), agent('b', {}, { id: 'B-NEW' }), agent('c')];
    expect([...foreignIds(named, { from, to })]).toEqual(['Agent/a']);
  });

  it('are refused if neither state contains them', () => {
    expect(() => foreignIds([agent('c', {}, { id: 'C-ELSEWHERE' })], { from, to })).toThrow(
      'Agent/c names the record C-ELSEWHERE, which is neither in the state of old nor in the state of new',
    );
  });
});

it('writes a map that a spreadsheet can read', () => {
  const rows = [
    { address: 'Agent/b', from: null, to: 'B2' },
    { address: 'Agent/a', from: 'odd,"id"', to: 'A2' },
    { address: 'Agent/c', from: 'C1', to: null },
  ];
  expect(mapText(rows)).toBe('address,from_id,to_id\nAgent/a,"odd,""id""",A2\nAgent/b,,B2\n');
});
