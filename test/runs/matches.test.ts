import { describe, expect, it } from 'vitest';
import type { Resource } from '../../src/manifests/resource.ts';
import type { FoundRecord } from '../../src/runs/discover.ts';
import { type BackupRecord, type Match, matchesFor } from '../../src/runs/recover/matches.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { fromForms, Secret } from '../../src/values/value.ts';

function resource(address: string, spec: JsonObject, id?: string): Resource {
  const [kind = '', name = ''] = address.split('/');
  return {
    address,
    kind,
    name,
    labels: {},
    id,
    previousNames: [],
    ignoreDrift: [],
    mayReplace: false,
    spec: fromForms(spec, (secret) => new Secret(secret, undefined)) as Resource['spec'],
    source: { file: 'a.yaml', line: 1 },
  };
}

function found(id: string, fields: JsonObject, published?: JsonObject, ahead = false): FoundRecord {
  return { record: { id, ...fields }, published: published && { record: { id, ...published }, ahead }, mentions: [] };
}

interface Case {
  readonly wanted: readonly Resource[];
  readonly records: Readonly<Record<string, readonly FoundRecord[]>>;
  readonly held?: Readonly<Record<string, readonly string[]>>;
  readonly remembered?: Readonly<Record<string, string>>;
  readonly bases?: readonly { readonly id: string; readonly name: string }[];
}

function match({ wanted, records, held = {}, remembered = {}, bases = [] }: Case): readonly Match[] {
  return matchesFor({
    manifests: wanted,
    discovery: {
      records: new Map(Object.entries(records)),
      lookups: new Map([['KnowledgeBase', bases]]),
      missed: [],
    },
    inUse: new Map(Object.entries(held).map(([kind, ids]) => [kind, new Set(ids)])),
    remembered: new Map(
      Object.entries(remembered).map(([address, id]): [string, BackupRecord] => [address, { id, source: 'a backup' }]),
    ),
  });
}

/** Returns `address: certain id | candidates`. */
function summary(matches: readonly Match[]): Record<string, string> {
  return Object.fromEntries(
    matches.map(({ resource: { address }, certain, candidates }) => [
      address,
      `${certain?.id ?? '-'} | ${candidates.map(({ id }) => id).join(' ')}`,
    ]),
  );
}

const day = resource('Agent/day', { name: 'Day', prompt_config: { prompt: 'Be kind.' } });
const night = resource('Agent/night', { name: 'Night', prompt_config: { prompt: 'Be quiet.' } });
const twin = resource('Agent/twin', { name: 'Day', prompt_config: { prompt: 'Be kind.' } });
const asDay = { name: 'Day', prompt_config: { prompt: 'Be kind.' } };

describe('matchesFor', () => {
  const cases: (Case & { reason: string; expected: Record<string, string> })[] = [
    {
      reason: 'one record agrees in all readable fields',
      wanted: [day, night],
      records: { Agent: [found('1', asDay), found('2', { name: 'Night', prompt_config: { prompt: 'Be loud.' } })] },
      expected: { 'Agent/day': '1 | 1', 'Agent/night': '- | ' },
    },
    {
      reason: 'more fields agree than differ',
      wanted: [resource('Agent/x', { name: 'X', prompt_config: { prompt: 'p', first_speaker: 'ai' } })],
      records: { Agent: [found('1', { name: 'X', prompt_config: { prompt: 'other', first_speaker: 'ai' } })] },
      expected: { 'Agent/x': '- | 1' },
    },
    {
      reason: 'two records are exact for one manifest',
      wanted: [day],
      records: { Agent: [found('1', asDay), found('2', asDay)] },
      expected: { 'Agent/day': '- | 1 2' },
    },
    {
      reason: 'one record is exact for two manifests',
      wanted: [day, twin],
      records: { Agent: [found('1', asDay)] },
      expected: { 'Agent/day': '- | 1', 'Agent/twin': '- | 1' },
    },
    {
      reason: 'a backup distinguishes twins',
      wanted: [day, twin],
      records: { Agent: [found('1', asDay), found('2', asDay)] },
      remembered: { 'Agent/day': '2' },
      expected: { 'Agent/day': '2 | 2', 'Agent/twin': '1 | 1' },
    },
    {
      reason: 'a match from a backup is suggested, but not certain, if the record differs',
      wanted: [day],
      records: { Agent: [found('1', { name: 'Other', prompt_config: { prompt: 'Other.' } })] },
      remembered: { 'Agent/day': '1' },
      expected: { 'Agent/day': '- | 1' },
    },
    {
      reason: 'managed records are not shown',
      wanted: [resource('Agent/x', { stt_config: { model: 'm' } })],
      records: { Agent: [found('1', { name: 'X' })] },
      expected: { 'Agent/x': '- | ' },
    },
    {
      reason: 'a published version shows fields that the read hides',
      wanted: [resource('Agent/x', { name: 'X', stt_config: { model: 'm' } })],
      records: {
        Agent: [
          found('1', { name: 'X' }, { stt_config: { model: 'm' } }),
          found('2', { name: 'X' }, { stt_config: { model: 'n' } }),
        ],
      },
      expected: { 'Agent/x': '1 | 1' },
    },
    {
      reason: 'a published version proves nothing after the draft changed',
      wanted: [resource('Agent/x', { name: 'X', stt_config: { model: 'm' } })],
      records: { Agent: [found('1', { name: 'X' }, { stt_config: { model: 'n' } }, true)] },
      expected: { 'Agent/x': '1 | 1' },
    },
    {
      reason: 'a managed record is not a candidate',
      wanted: [day],
      records: { Agent: [found('1', asDay)] },
      held: { Agent: ['1'] },
      expected: { 'Agent/day': '- | ' },
    },
    {
      reason: 'metadata.id decides, and excludes its record for the others',
      wanted: [day, resource('Agent/named', { name: 'Whatever' }, '1')],
      records: { Agent: [found('1', asDay)] },
      expected: { 'Agent/day': '- | ', 'Agent/named': '1 | 1' },
    },
    {
      reason: 'unknown secrets and references prove nothing',
      wanted: [
        resource('Agent/x', {
          name: 'X',
          llm_config: { api_key: { $secret: 'K' }, knowledge_base_ids: [{ $ref: 'KnowledgeBase/Twins' }] },
        }),
      ],
      bases: [
        { id: 'a', name: 'Twins' },
        { id: 'b', name: 'Twins' },
      ],
      records: { Agent: [found('1', { name: 'X', llm_config: { knowledge_base_ids: ['b'] } })] },
      expected: { 'Agent/x': '1 | 1' },
    },
    {
      reason: 'a knowledge base is matched by name',
      wanted: [resource('Agent/x', { name: 'X', llm_config: { knowledge_base_ids: [{ $ref: 'KnowledgeBase/FAQ' }] } })],
      bases: [{ id: 'a', name: 'FAQ' }],
      records: {
        Agent: [
          found('1', { name: 'X', llm_config: { knowledge_base_ids: ['b'] } }),
          found('2', { name: 'X', llm_config: { knowledge_base_ids: ['a'] } }),
        ],
      },
      expected: { 'Agent/x': '2 | 2' },
    },
    {
      reason: 'a record that matches another manifest better is not certain for one with few fields',
      wanted: [
        resource('Agent/brief', { name: 'Day' }),
        resource('Agent/long', { name: 'Day', prompt_config: { prompt: 'Be kind.' }, llm_config: { model: 'was' } }),
      ],
      records: { Agent: [found('1', { ...asDay, llm_config: { model: 'is' } })] },
      expected: { 'Agent/brief': '- | 1', 'Agent/long': '- | 1' },
    },
    {
      reason: 'a manifest with more fields and its own record takes no record from another manifest',
      wanted: [resource('Agent/brief', { name: 'Day', prompt_config: { prompt: 'Be brief.' } }), twin, night],
      records: {
        Agent: [
          found('1', { name: 'Day', prompt_config: { prompt: 'Be brief.' } }),
          found('2', asDay),
          found('3', { name: 'Night' }),
        ],
      },
      expected: { 'Agent/brief': '1 | 1', 'Agent/twin': '2 | 2', 'Agent/night': '3 | 3' },
    },
    {
      reason: 'a natural key is exact, regardless of other differences',
      wanted: [resource('PhoneNumber/n', { number: '+49 30 1', nickname: 'Old' })],
      records: {
        PhoneNumber: [
          found('1', { number: '49301', nickname: 'New' }),
          found('2', { number: '49302', nickname: 'Old' }),
        ],
      },
      expected: { 'PhoneNumber/n': '1 | 1' },
    },
    {
      reason: 'two records with one natural key need a person',
      wanted: [resource('PhoneNumber/n', { number: '+49301' })],
      records: { PhoneNumber: [found('1', { number: '49301' }), found('2', { number: '+49301' })] },
      expected: { 'PhoneNumber/n': '- | 1 2' },
    },
  ];

  it.each(cases)('$reason', ({ expected, ...input }) => {
    expect(summary(match(input))).toEqual(expected);
  });

  it('does not depend on the order of the records', () => {
    const records = [found('1', asDay), found('2', asDay), found('3', { name: 'Day' })];
    const wanted = [day, night, twin];
    expect(summary(match({ wanted, records: { Agent: records.toReversed() } }))).toEqual(
      summary(match({ wanted, records: { Agent: records } })),
    );
  });
});
