import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findMisplacedKey, parseState } from '../../src/state/document-text.ts';
import { emptyDocument } from '../../src/state/fold.ts';
import { LostState } from '../../src/state/state-errors.ts';
import { stateText } from './temporary-state.ts';

describe('misplaced key', () => {
  it.each([
    { reason: 'twice in a row', text: '{"a":1,"a":2}', found: { key: 'a', line: 1, problem: 'twice' } },
    { reason: 'twice, far apart', text: '{\n"a":1,\n"b":[],\n"a":{}}', found: { key: 'a', line: 4 } },
    { reason: 'after an object of the same keys', text: '{"o":{"a":1},\n"a":1,\n"o":2}', found: { line: 3 } },
    { reason: 'in an object in a list', text: '[{},[{"x":0,"x":1}]]', found: { key: 'x', problem: 'twice' } },
    { reason: 'spelled differently', text: '{"a":1,"\\u0061":2}', found: { key: 'a', problem: 'twice' } },
    { reason: 'with quotes in it', text: '{"a\\"\\\\":1,"a\\"\\\\":2}', found: { key: 'a"\\' } },
    { reason: 'the empty key', text: '{"":1,"":2}', found: { key: '', problem: 'twice' } },
    { reason: 'many', text: '{"__proto__":{}}', found: { key: '__proto__', line: 1, problem: 'reserved' } },
    { reason: 'among the recorded values', text: '{"r":{"A/a":{"x":{"__proto__":1}}}}', found: { line: 1 } },
  ])('is found: $reason', ({ text, found }) => {
    expect(findMisplacedKey(text)).toMatchObject(found);
  });

  it.each([
    { reason: 'the same key in two objects', text: '{"a":{"k":1},"b":{"k":1},"k":[{"k":1},{"k":1}]}' },
    { reason: 'a value like a key', text: '{"a":"a","b":["a","a","b"]}' },
    { reason: 'a string like an object', text: '{"a":"{\\"a\\":1,\\"a\\":2}\\\\","b":"}{,"}' },
    { reason: 'names of built-in properties', text: '{"constructor":1,"toString":2}' },
    { reason: 'any key in a value of the platform', text: '{"r":{"A/a":{"o":{"p":{"__proto__":1}}}}}' },
  ])('is not reported: $reason', ({ text }) => {
    expect(findMisplacedKey(text)).toBeUndefined();
  });

  it('is never found in the output of JSON.stringify, and always after a key was duplicated', () => {
    const plain = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('__proto__'));
    fc.assert(
      fc.property(plain, fc.string(), fc.nat(3), (value, key, indent) => {
        fc.pre(key !== '\u0000other' && key !== '__proto__');
        const text = JSON.stringify({ a: [value], [key]: value }, null, indent);
        expect(findMisplacedKey(text)).toBeUndefined();
        const doubled = `{${JSON.stringify(key)}: ${text}, "\\u0000other": 0, ${JSON.stringify(key)}: 1}`;
        expect(findMisplacedKey(doubled)).toMatchObject({ key, problem: 'twice' });
      }),
    );
  });
});

describe('manually edited state', () => {
  const entry = { id: '1', recorded: { name: 'n' }, observed: {}, unobserved: [] };
  const text = stateText({
    ...emptyDocument({ lineage: 'L', salt: 'S' }, 'W', '0'),
    resources: { 'Agent/a': entry, 'Agent/b': { ...entry, id: '2' } },
  });

  it.each([
    {
      reason: 'a duplicate address',
      from: '"Agent/b"',
      to: '"Agent/a"',
      says: /line 15 repeats the key "Agent\/a"/,
    },
    {
      reason: 'a reserved address',
      from: '"Agent/a"',
      to: '"__proto__"',
      says: /line 7 has the key "__proto__"/,
    },
    {
      reason: 'a duplicate field',
      from: '"observed"',
      to: '"id"',
      says: /line 9 repeats the key "id"/,
    },
    { reason: 'a duplicate list', from: '"salt"', to: '"orphans"', says: /repeats the key "orphans"/ },
  ])('is refused with the line and a hint: $reason', ({ from, to, says }) => {
    const edited = text.replace(from, to);
    expect(edited).not.toBe(text);
    expect(() => parseState(Buffer.from(edited), 'x.json', 'Restore it.')).toThrow(
      expect.objectContaining({
        name: LostState.name,
        message: expect.stringMatching(says),
        hint: expect.stringMatching(/^If you edited the state, fix or undo that edit\. Otherwise: Restore it\.$/),
      }),
    );
  });
});
