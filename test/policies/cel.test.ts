import { celEnv, isCelError, parse, plan } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCondition } from '../../src/policies/cel/compile.ts';
import { ANY, BOOL, DOUBLE, INT, listOf, STRING, TIMESTAMP, type Type } from '../../src/policies/cel/types.ts';
import { type CelValue, SECRET, Timestamp, UNSET } from '../../src/policies/cel/values.ts';

const spec: Type = {
  is: 'object',
  fields: new Map<string, Type>([
    ['name', STRING],
    ['key', { is: 'secret' }],
    ['url', STRING],
    ['retries', INT],
    ['speed', DOUBLE],
    ['on', BOOL],
    ['items', listOf(STRING)],
    ['payload', ANY],
    ['role', { is: 'string', values: ['admin', 'viewer'] }],
    [
      'call',
      {
        is: 'object',
        fields: new Map<string, Type>([
          ['max', INT],
          ['ring', INT],
        ]),
      },
    ],
  ]),
};
const variables = new Map<string, Type>([
  ['spec', spec],
  ['labels', { is: 'map', of: STRING }],
  ['now', TIMESTAMP],
]);
const FRIDAY = new Timestamp(Date.parse('2026-01-30T23:30:00Z'));

function holds(text: string, data: CelValue = {}, labels: CelValue = {}): unknown {
  const condition = readCondition(text, variables);
  if ('problems' in condition) return condition.problems.map(({ message }) => message).join('; ');
  const { holds: result } = condition.evaluate({ spec: data, labels, now: FRIDAY }, 200_000);
  return typeof result === 'object' ? `${result.message} @${result.offset}` : result;
}

describe('condition', () => {
  const agent = {
    name: 'Ann',
    retries: 3,
    speed: 1,
    items: ['a', 'b'],
    call: { max: 10 },
    payload: { n: 2, list: [1, 2], none: [null, 1] },
  };

  it.each<[text: string, expected: unknown]>([
    ['spec.name == "Ann"', true],
    ['spec.name != "Bob" && spec.retries >= 3', true],
    ['has(spec.call.max)', true],
    ['has(spec.call.ring)', false],
    ['!has(spec.url)', true],
    ['spec.retries + 1 == 4 && spec.retries / 2 == 1 && spec.retries % 2 == 1', true],
    ['spec.speed * 2.0 > 1.5 && spec.speed / 2.0 == 0.5', true],
    ['spec.retries > 2.5', true],
    ['"a" in spec.items && !("c" in spec.items)', true],
    ['"max" in spec.call', true],
    ['spec.items.all(x, x.size() == 1)', true],
    ['spec.items.exists(x, x == "b")', true],
    ['spec.items.exists_one(x, x == "b")', true],
    ['spec.items.map(x, x + x) == ["aa", "bb"]', true],
    ['spec.items.filter(x, x != "a").size() == 1', true],
    ['spec.items.map(x, x == "a", x) == ["a"]', true],
    ['spec.items.all(x, spec.items.exists(y, y == x))', true],
    ['spec.call.all(key, key == "max")', true],
    ['spec.items[1] == "b"', true],
    ['spec["name"] == "Ann"', true],
    ['spec.payload.n == 2 && spec.payload.list[0] + 1 == 2', true],
    ['spec.payload == {"n": 2, "list": [1, 2], "none": [null, 1]}', true],
    ['spec.on == null || true', true],
    ['labels.team == "sales" || !has(labels.team)', true],
    ['size(spec.name) == 3 && size("héé") == 3', true],
    ['spec.payload.none[0] == null && spec.payload.none[1] == 1', true],
    ['[null][0] == null && [[null][0]].all(x, x == null)', true],
    ['"a😀b".size() == 3 && "a😀b".indexOf("b") == 2 && "a😀b".indexOf("c") == -1', true],
    ['"a😀b".substring(1, 2) == "😀" && "a😀b".substring(2) == "b"', true],
    ['"a😀b".split("") == ["a", "😀", "b"] && "😀".replace("", "-") == "😀"', true],
    ['"\uff5e" < "😀" && "😀" < "😁" && "😀" <= "😀" && "a" < "ab" && !("b" < "ab")', true],
    ['spec.name.matches("^A.n$")', true],
    ['spec.name.lowerAscii().contains("nn") && spec.name.startsWith("A") && spec.name.endsWith("n")', true],
    ['"a,b".split(",").join("-") == "a-b" && "aXbX".replace("X", "") == "ab"', true],
    ['" x ".trim() == "x" && "abc".substring(1, 2) == "b" && "abc".indexOf("c") == 2', true],
    ['int("4") == 4 && double(2) == 2.0 && string(3) == "3" && int(2.9) == 2', true],
    ['now.getDayOfWeek() == 5 && now.getHours() == 23', true],
    ['now.getDayOfWeek("Europe/Berlin") == 6 && now.getHours("+02:00") == 1', true],
    ['now - timestamp("2026-01-30T22:30:00Z") == duration("1h")', true],
    ['now + duration("30m") >= timestamp("2026-01-31T00:00:00Z")', true],
    ['now.getFullYear() == 2026 && now.getMonth() == 0 && now.getDate() == 30 && now.getDayOfYear() == 29', true],
    ['spec.retries > 5 ? false : true', true],
    ['-spec.retries < 0 && -(1.5) < 0.0', true],
    ['// a comment\n spec.retries == 3', true],
    ['spec.retries == 3 // a comment', true],
  ])('gives the expected result: %s', (text, expected) => {
    expect(holds(text, agent)).toBe(expected);
  });

  it.each<[reason: string, text: string, expected: string]>([
    ['an unset field', 'spec.url == "x"', 'spec.url is not set; test it first: has(spec.url) @5'],
    [
      'a field below it',
      'spec.payload.deep.x == 1',
      'spec.payload.deep is not set; test it first: has(spec.payload.deep) @13',
    ],
    ['an item beyond the list', 'spec.items[7] == "x"', 'spec.items[7] is not set @10'],
    ['a division by zero', '1 / (spec.retries - 3) == 1', 'division by zero @2'],
    ['text that is not a number', 'int(spec.name) == 1', 'the string is not a whole number @0'],
    ['values of the wrong type', 'spec.payload.n.contains("x")', 'contains does not accept an int and a string @15'],
    ['a result that is not a boolean', 'spec.payload.n', 'spec.payload.n is neither true nor false @13'],
    ['an unknown time zone', 'now.getHours(spec.name) == 1', 'unknown time zone "Ann" @4'],
  ])('has no result for %s', (_, text, expected) => {
    expect(holds(text, agent)).toBe(expected);
  });

  it('uses the other operand if one has no result', () => {
    expect(holds('spec.url == "x" || spec.retries == 3', agent)).toBe(true);
    expect(holds('spec.url == "x" && spec.retries == 4', agent)).toBe(false);
    expect(holds('spec.url == "x" || spec.retries == 4', agent)).toMatch(/^spec.url is not set/);
    expect(holds('spec.items.exists(x, spec.url == "x" || x == "b")', agent)).toBe(true);
  });
});

describe('check of a condition', () => {
  it.each<[text: string, problem: string | RegExp]>([
    ['spec.nmae == "x"', 'unknown field "nmae"; did you mean "name"?'],
    ['has(spec.calls.max)', 'unknown field "calls"; did you mean "call"?'],
    ['spec.max > 3', 'unknown field "max"; did you mean spec.call.max?'],
    ['spec["retrys"] > 3', 'unknown field "retrys"; did you mean "retries"?'],
    ['specs.name == "x"', 'unknown name "specs"; did you mean "spec"?'],
    ['spec.items.all(item, itm == "x")', /^unknown name "itm"/],
    ['spec.name.foo == 1', 'spec.name is a string and has no fields'],
    ['spec.retries.all(x, true)', 'spec.retries is an int, not a list or an object'],
    ['spec.name > 3', '> does not accept a string and an int'],
    ['spec.name == 3', 'a string never equals an int'],
    ['spec.role == "adnin"', 'the value is never "adnin"; did you mean "admin"?'],
    ['spec.speed * 2 > 1.0', '* does not accept a double and an int; write whole numbers as 2.0, or use double(…)'],
    ['spec.name', 'the condition must be true or false, but is a string'],
    ['spec.name && true', '&& requires true or false, but spec.name is a string'],
    ['spec.name.contain("x")', 'unknown function "contain"; did you mean "contains"?'],
    ['startsWith(spec.name, "x")', 'unknown function "startsWith"; write value.startsWith(…)'],
    ['spec.name.contains("x", "y")', 'wrong number of arguments for contains'],
    ['spec.items.all(x)', 'all requires a variable and an expression: list.all(x, …)'],
    ['toString(spec.name) == "x"', 'unknown function "toString"; did you mean "string"?'],
    ['spec.name.constructor() == "x"', 'unknown function "constructor"'],
    ['__proto__ == 1', /^unknown name "__proto__"/],
    ['has(spec)', 'has requires a field, such as has(spec.name)'],
    ['spec.name.matches("(")', 'not a valid RE2 regular expression'],
    ['spec.name.matches("(a{100}){100}")', 'the regular expression is too large'],
    ['spec.key == "x"', 'spec.key is a secret: rules can use only has(spec.key) and isSecret(spec.key)'],
    ['1 / 0 == 1', 'division by zero'],
    ['"a😀b".substring(4) == ""', 'the position is outside the string'],
    ['[null][1] == null', /is not set/],
    ['spec.retries == 9223372036854775808', 'the number is too large'],
    ['now > timestamp("tomorrow")', 'the string is not a time such as 2026-01-31T09:30:00Z'],
    ['spec.name == b"x"', 'bytes and unsigned numbers are not supported'],
    ['', 'not a CEL expression: unexpected end'],
    ['spec.name ==', 'not a CEL expression: unexpected "=="'],
    ['spec.name = "x"', 'not a CEL expression: unexpected "="'],
    ['true'.padEnd(4001), 'the rule is longer than 4000 characters'],
    [`${'('.repeat(1900)}true${')'.repeat(1900)}`, /nested too deeply|^true$/],
  ])('finds a problem: %s', (text, problem) => {
    const found = String(holds(text));
    if (typeof problem === 'string') expect(found).toBe(problem);
    else expect(found).toMatch(problem);
  });

  it('finds all problems at once, each with its position', () => {
    const condition = readCondition('spec.nmae == "x" || spec.retrys > 1', variables);
    expect(condition).toEqual({
      problems: [
        { message: 'unknown field "nmae"; did you mean "name"?', offset: 5 },
        { message: 'unknown field "retrys"; did you mean "retries"?', offset: 25 },
      ],
    });
  });
});

describe('secret', () => {
  it.each([
    'spec.url == "x"',
    'spec.url.startsWith("https://")',
    'spec.url == spec.url',
    'size(spec.url) > 3',
    '[spec.url] == ["x"]',
    'spec == {"url": "x"}',
    '{"url": "x"} == dyn(spec)',
    '"x" in spec.payload.list',
    'string(spec.payload.list) == ""',
    'spec.payload.list.join("") == "x"',
    'spec.payload.list.exists(x, x == "x")',
    'dyn(spec.url) == dyn(spec.url)',
    'spec.payload.list == spec.payload.list',
  ])('is not revealed by %s', (text) => {
    const data = text.includes('{"') ? { url: SECRET } : { url: SECRET, payload: { list: [SECRET] } };
    expect(String(holds(text, data))).toMatch(/secret|not strings|does not accept/);
  });

  it('can be tested for presence', () => {
    expect(
      holds('has(spec.key) && isSecret(spec.url) && !isSecret(spec.name)', { key: SECRET, url: SECRET, name: 'x' }),
    ).toBe(true);
  });

  it('leaves the result open if a variable is not set', () => {
    expect(holds('spec.url == "x"', { url: UNSET })).toBeUndefined();
    expect(holds('isSecret(spec.url)', { url: UNSET })).toBe(false);
  });
});

describe('hostile rule', () => {
  const many = Array.from({ length: 2000 }, (_, index) => `item ${index}`);
  const payload = Object.fromEntries(many.map((key) => [key, 1]));

  it.each([
    'spec.items.all(a, spec.items.all(b, spec.items.all(c, a + b != c)))',
    'spec.items.map(a, spec.items.map(b, a + b)).size() > 0',
    'spec.items.map(a, spec.items.join(a)).size() > 0',
    'spec.items.map(a, spec.name.replace("", spec.name)).size() > 0',
    'spec.items.map(a, spec.name + spec.name + spec.name).join(spec.name).size() > 0',
    'spec.items.all(a, spec.name.split("").size() > 0)',
    'spec.items.all(a, spec.name.matches("(x+x+)+y") || true)',
    'spec.items.exists(a, spec.name == spec.name + a)',
    'spec.items.all(a, spec.items + spec.items + spec.items != [a])',
    'spec.items.all(a, size(spec.payload) > 0 && spec.payload.exists(key, true))',
    'spec.items.all(a, now.getDayOfWeek("Europe/Berlin") < 7 && now.getHours() < 24)',
    'spec.items.all(a, spec.items.all(b, now.getDayOfWeek(a) < 7 || true))',
    'spec.items.all(a, !"".matches(a + "(x{900})"))',
  ])('ends soon: %s', (text) => {
    expect(holds(text, { items: many, name: 'x'.repeat(100_000), payload })).toMatch(/^the rule takes too many steps/);
  });

  it('is refused with too many regular expressions', () => {
    expect(holds(Array(21).fill('spec.name.matches("a")').join(' || '))).toContain('more than 20 regular expressions');
  });

  it("leaves enough budget for a team's rules on long prompts", () => {
    const text = '!spec.name.matches("(?i)(ask|request) (for )?(the |their |your )?(credit )?card number")';
    const condition = readCondition(text, variables);
    if ('problems' in condition) throw new Error(text);
    const name = 'Be kind, and call the card a card. '.repeat(300);
    const { holds: result, cost } = condition.evaluate({ spec: { name } }, 200_000);
    expect(result).toBe(true);
    expect(cost).toBeLessThan(50_000);
  });
});

/** Returns the result of the package's own evaluator, an independent implementation of the language. */
function reference(text: string, data: Record<string, unknown>): unknown {
  const result = plan(celEnv({ funcs: strings }), parse(text))({ spec: data as never });
  return isCelError(result) ? 'no result' : result;
}

describe('policy language', () => {
  const leaf = fc.constantFrom('spec.n', 'spec.m', '3', '0', '-7', 'size(spec.s)', 'size(spec.items)');
  const text = fc.constantFrom('spec.s', '"ab"', '""', 'spec.items[0]', 'spec.s.lowerAscii()');
  const { condition } = fc.letrec<{ condition: string; int: string }>((tie) => ({
    int: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.tuple(tie('int'), fc.constantFrom('+', '-', '*', '/', '%'), tie('int')).map((parts) => `(${parts.join(' ')})`),
    ),
    condition: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('true', 'false', 'has(spec.s)', 'has(spec.gone)', 'spec.gone == 1', '"a" in spec.items'),
      fc
        .tuple(tie('int'), fc.constantFrom('<', '<=', '>', '>=', '==', '!='), tie('int'))
        .map((parts) => parts.join(' ')),
      fc.tuple(text, fc.constantFrom('==', '!=', '<', '>='), text).map((parts) => parts.join(' ')),
      fc
        .tuple(text, fc.constantFrom('contains', 'startsWith', 'endsWith', 'matches'), text)
        .map(([a, f, b]) => `${a}.${f}(${b})`),
      fc.tuple(tie('condition'), fc.constantFrom('&&', '||'), tie('condition')).map((parts) => `(${parts.join(' ')})`),
      tie('condition').map((inner) => `!(${inner})`),
      fc.tuple(tie('condition'), tie('condition'), tie('condition')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
      fc
        .tuple(fc.constantFrom('all', 'exists', 'exists_one'), tie('condition'))
        .map(([macro, inner]) => `spec.items.${macro}(x, x != "b" && ${inner})`),
      tie('condition').map((inner) => `spec.items.filter(x, ${inner}).size() > 1`),
    ),
  }));

  it('gives the same results as the package itself', { tags: ['long'] }, () => {
    const open = new Map<string, Type>([['spec', ANY]]);
    fc.assert(
      fc.property(condition, (rule) => {
        const data = { n: 5, m: -2, s: 'aBa', items: ['a', 'b', 'c'] };
        const read = readCondition(rule, open);
        // Constants without a result, and comparisons without a decimal point, are problems of the rule.
        fc.pre(!('problems' in read));
        const { holds: ours } = read.evaluate({ spec: data }, 200_000);
        const theirs = reference(rule, { ...data, n: 5n, m: -2n });
        expect(typeof ours === 'object' ? 'no result' : ours, rule).toBe(theirs);
        expect(read.evaluate({ spec: data }, 200_000).holds).toEqual(ours);
      }),
      { numRuns: 500 },
    );
  });

  it('never throws on any input', () => {
    const words = [
      'spec',
      '.',
      'name',
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      '"a"',
      '1',
      '2.5',
      '&&',
      '||',
      '!',
      '?',
      ':',
      'has',
      'all',
      'x',
      ',',
      'in',
      '==',
      '+',
      '-',
      '\n',
      '.items',
      '.all(x,',
      'spec.',
      '//',
      "'",
      '\\',
      '\u{1F600}',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 20 }), fc.string(), (parts, tail) => {
        for (const rule of [parts.join(''), parts.join(' '), tail])
          expect(() => holds(rule, { name: 'x' })).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });
});
