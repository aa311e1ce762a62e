import fc from 'fast-check';
import picomatch from 'picomatch';
import { expect, it } from 'vitest';
import { globMatcher, globProblem } from '../../src/manifests/glob.ts';

const pieces = ['a', 'b', '.', '-', '/', '*', '?', '[ab]', '[a-c]', '{a,b}', '{a,b/a}', '{a..c}', '@(a|b)', '\\*'];

/** Globs for which picomatch does what it documents: it takes ? and + behind a bracket for those of a regular expression. */
const globs = fc
  .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 7 })
  .map((all) => all.join('').replace(/\*{2,}/g, '*'))
  .chain((text) => fc.constantFrom(text, `**/${text}`, `a/**/${text}`, `${text}/**/*`))
  .filter((text) => !/[\])}]\?|(^|[/,{])[[{@?.]|\/\/|^\/|\/$|\*\.\*?$/.test(text));

const files = fc
  .array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', '.', '-', '*'), minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join('/'))
  .filter((text) => !/(^|\/)\.{1,2}($|\/)/.test(text));

it.each([true, false])('matches what picomatch does, with leading dots: %s', (dot) => {
  fc.assert(
    fc.property(globs, files, (glob, file) => {
      expect({ glob, file, is: globMatcher([glob], { dot })(file) }).toEqual({
        glob,
        file,
        is: picomatch(glob, { dot })(file),
      });
    }),
    { numRuns: 1000 },
  );
});

it.each([
  { glob: 'a/**', text: 'a', is: false, reason: 'what is in the folder, not the folder' },
  { glob: 'a/**', text: 'a/b/c', is: true, reason: 'any depth' },
  { glob: '{a,*}.yaml', text: '.yaml', is: false, reason: 'no wildcard matches a leading dot' },
  { glob: 'a \\(old\\)/*.yaml', text: 'a (old)/b.yaml', is: true, reason: 'brackets of a name' },
  { glob: '!a', text: 'b', is: true, reason: 'all others' },
  { glob: '[^]a]', text: ']', is: false, reason: 'a bracket at the beginning of a class' },
  { glob: '{a', text: '{a', is: true, reason: 'a group that does not end' },
])('$glob matches $text: $is, $reason', ({ glob, text, is }) => {
  expect(globMatcher([glob])(text)).toBe(is);
});

it.each(['*a'.repeat(200), `${'**/'.repeat(100)}b`, '{a,a}{a,a}{a,a}{a,a}{a,a}{a,a}*b', `${'[ab]*'.repeat(90)}b`])(
  'needs no time for a name that almost matches: %#',
  (glob) => {
    expect(globProblem(glob)).toBeUndefined();
    const matches = globMatcher([glob]);
    for (const text of ['a'.repeat(255), 'a/'.repeat(2000)]) expect(matches(`${text}-`)).toBe(false);
  },
);

it.each(['{a,a}'.repeat(90), '{a,{a,{a,a}}}'.repeat(30), '+(a|a)b', '*(a)', '(a|a)b', '[ab]+', 'a'.repeat(501)])(
  'refuses %#',
  (glob) => {
    expect(globProblem(glob)).toMatch(/^expected a glob/);
  },
);
