import fc from 'fast-check';
import { expect, it } from 'vitest';
import { escapeGlob, globMatcher, globProblem, splitGlob } from '../../src/manifests/glob.ts';

it.each([
  { glob: 'a/**', text: 'a', is: false, reason: 'the contents of a folder, not the folder' },
  { glob: 'a/**', text: 'a/b/c', is: true, reason: 'any depth' },
  { glob: '{a,*}.yaml', text: '.yaml', is: false, reason: 'no wildcard matches a leading dot' },
  { glob: 'a \\(old\\)/*.yaml', text: 'a (old)/b.yaml', is: true, reason: 'brackets in a name' },
  { glob: '!a', text: 'b', is: true, reason: 'all other characters' },
  { glob: '[^]a]', text: ']', is: false, reason: 'a bracket at the start of a class' },
  { glob: '{a', text: '{a', is: true, reason: 'an unterminated group' },
  { glob: 'a/**/b', text: 'a/b', is: true, reason: 'no folder in between' },
  { glob: '*.{yaml,yml}', text: 'a.yml', is: true, reason: 'one of two extensions' },
  { glob: '?.yaml', text: 'a.yaml', is: true, reason: 'one character' },
  { glob: '*.yaml', text: 'a/b.yaml', is: false, reason: 'a star does not cross folders' },
  { glob: '**/*.yaml', text: '.git/b.yaml', is: false, reason: 'a hidden folder' },
  { glob: '**/*.yaml', text: 'a\nb.yaml', is: true, reason: 'a name of two lines' },
])('$glob matches $text: $is, $reason', ({ glob, text, is }) => {
  expect(globMatcher([glob])(text)).toBe(is);
});

it.each(['*a'.repeat(200), `${'**/'.repeat(100)}b`, '{a,a}{a,a}{a,a}{a,a}{a,a}{a,a}*b', `${'[ab]*'.repeat(90)}b`])(
  'is fast for a name that almost matches: %#',
  (glob) => {
    expect(globProblem(glob)).toBeUndefined();
    const matches = globMatcher([glob]);
    for (const text of ['a'.repeat(255), 'a/'.repeat(2000)]) expect(matches(`${text}-`)).toBe(false);
  },
);

it.each([
  '{a,a}'.repeat(90),
  '{a,{a,{a,a}}}'.repeat(30),
  '+(a|a)b',
  '*(a)',
  '(a|a)b',
  '@(a|b)',
  '[ab]+',
  'a'.repeat(501),
])('refuses %#', (glob) => {
  expect(globProblem(glob)).toMatch(/^expected a glob/);
});

it('matches an escaped path, and nothing else', () => {
  const unit = fc.constantFrom(
    'a',
    'b',
    '*',
    '?',
    '[',
    ']',
    '{',
    '}',
    ',',
    '(',
    ')',
    '!',
    '+',
    '@',
    '\\',
    ' ',
    '#',
    '\ud83d\ude00',
  );
  const name = fc.string({ unit, minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(name, name, (path, other) => {
      const glob = escapeGlob(path);
      const matches = globMatcher([glob], { dot: true });
      expect([matches(path), matches(other), splitGlob(glob)]).toEqual([
        true,
        other === path,
        { base: path, rest: '' },
      ]);
    }),
  );
});
