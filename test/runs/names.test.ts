import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import type { Kind } from '../../src/kinds/kind.ts';
import { namesFor, plainName, slugOf } from '../../src/runs/export/manifest-names.ts';

function kindNamed(name: string): Kind {
  const kind = kinds.get(name);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
}

const agent = kindNamed('Agent');

function called(...names: readonly [id: string, name: string][]) {
  return names.map(([id, name]) => ({ id, plainName: plainName(agent, { id, name }) }));
}

describe('slugOf', () => {
  it.each([
    ['Support line', 'support-line'],
    ['  Größe & Co. ', 'grosse-co'],
    ['Ärzte Ägidius', 'arzte-agidius'],
    ['ﬁne', 'fine'],
    ['+49 30 1234', '49-30-1234'],
    ['example.com/hook', 'example-com-hook'],
    ['客服', ''],
    ['--', ''],
    ['x'.repeat(100), 'x'.repeat(63)],
    [`${'x'.repeat(62)} y`, 'x'.repeat(62)],
  ])('turns %j into %j', (label, slug) => {
    expect(slugOf(label)).toBe(slug);
  });
});

describe('namesFor', () => {
  const cases = [
    {
      reason: 'the lowest id among identical names gets the plain name',
      found: called(['b', 'Line'], ['a', 'line!'], ['c', 'LINE']),
      names: { a: 'line', b: 'line-2', c: 'line-3' },
    },
    {
      reason: 'a record named like a numbered one keeps its name',
      found: called(['a', 'Line'], ['b', 'Line'], ['c', 'Line 2']),
      names: { a: 'line', b: 'line-3', c: 'line-2' },
    },
    {
      reason: 'the kind replaces an empty name',
      found: called(['a', '客服'], ['b', '']),
      names: { a: 'agent', b: 'agent-2' },
    },
    {
      reason: 'used names stay, and are not reused',
      found: called(['a', 'Line'], ['b', 'Other']),
      kept: { b: 'line' },
      names: { a: 'line-2', b: 'line' },
    },
    {
      reason: 'a number makes no name too long',
      found: called(['a', 'x'.repeat(80)], ['b', 'x'.repeat(80)]),
      names: { a: 'x'.repeat(63), b: `${'x'.repeat(61)}-2` },
    },
  ];

  it.each(cases)('$reason', ({ found, kept = {}, names }) => {
    expect(Object.fromEntries(namesFor(found, new Map(Object.entries(kept))))).toEqual(names);
  });

  it.each([
    ['PhoneNumber', { number: '+12025550120', nickname: 'Main line' }, 'main-line'],
    ['PhoneNumber', { number: '+12025550120', nickname: null }, '12025550120'],
    ['WorkspaceUser', { email: 'Ann.Lee@example.com' }, 'ann-lee'],
    ['Webhook', { url: 'https://user:word@example.com/calls?token=abc' }, 'example-com'],
    ['Webhook', { url: 'https://hooks.slack.com/services/T0ABC/B0DEF/9fGh2JkLmN' }, 'hooks-slack-com'],
    ['Webhook', { url: 'no url' }, 'webhook'],
  ])('names a %s %j %s', (name, fields, expected) => {
    expect(plainName(kindNamed(name), { id: '1', ...fields })).toBe(expected);
  });

  it('returns valid, unique names in any order', () => {
    const labels = fc.oneof(fc.constantFrom('a', 'A', 'a-2', 'a 2', 'a-2-2', 'ä'), fc.string({ maxLength: 80 }));
    fc.assert(
      fc.property(fc.array(labels, { maxLength: 12 }), fc.infiniteStream(fc.nat()), (list, random) => {
        const found = called(...list.map((label, index): [string, string] => [`id${index}`, label]));
        const names = namesFor(found, new Map());
        const values = [...names.values()];
        expect(new Set(values).size).toBe(list.length);
        for (const name of values) expect(name).toMatch(/^[a-z0-9][a-z0-9-]{0,62}$/);
        const shuffled = found.map((each) => [random.next().value, each] as const).sort(([a], [b]) => a - b);
        const again = namesFor(
          shuffled.map(([, each]) => each),
          new Map(),
        );
        expect(new Map([...again].sort())).toEqual(new Map([...names].sort()));
      }),
    );
  });
});
