import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { variableNotes } from '../../src/output/field-view.ts';
import { bracketed, diffTexts, sectionsOf } from '../../src/output/text-diff.ts';
import { markWords } from '../../src/output/word-marks.ts';
import { evil, unsafe } from './sample-styles.ts';

/** Returns a diff of prose with one sentence per line. */
function shown(before: readonly string[], after: readonly string[], options = {}): string[] {
  return diffTexts(before.join('\n'), after.join('\n'), { prose: true, ...options }).map(({ sign, text }) =>
    `${sign} ${text}`.trimEnd(),
  );
}

const prompt = [
  '# Support',
  'Be kind.',
  '',
  '## Hours',
  'Open from nine.',
  'Closed on Sunday.',
  '',
  '## Refunds',
  'Ask for the number.',
  'Be quick.',
  '',
  '# Sales',
  'Never push.',
];

describe('diff of a prompt', () => {
  it('appears under the headings of the changed sections, even adjacent ones', () => {
    const after = prompt.with(5, 'Closed on Monday.').with(8, 'Ask for the order.').with(12, 'Push a little.');
    expect(shown(prompt, after)).toMatchInlineSnapshot(`
      [
        "@ Support > Hours, line 5",
        "  Open from nine.",
        "- Closed on Sunday.",
        "+ Closed on Monday.",
        "@ Support > Refunds, line 9",
        "- Ask for the number.",
        "+ Ask for the order.",
        "  Be quick.",
        "@ Sales, line 13",
        "- Never push.",
        "+ Push a little.",
      ]
    `);
  });

  it.each([
    {
      reason: 'a new section appears under its own heading',
      after: [...prompt, '', '## Prices', 'They vary.'],
      place: '@ Sales > Prices, line 14',
    },
    {
      reason: 'a heading with another name',
      after: prompt.with(7, '## Returns'),
      place: '@ Support > Returns, line 8',
    },
    { reason: 'a text before any heading', after: ['Hello.', ...prompt], place: undefined },
    {
      reason: 'a hash in code is not a heading',
      after: [...prompt, '```', '# no', '```', 'Bye.'],
      place: '@ Sales, line 13',
    },
  ])('finds the heading: $reason', ({ after, place }) => {
    expect(shown(prompt, after).find((line) => line.startsWith('@'))).toBe(place);
  });

  it('separates a new section from a change above it, and from another new one', () => {
    const after = [...prompt.with(12, 'Push a little.'), '', '## Prices', 'They vary.', '## Terms', 'None.'];
    expect(shown(prompt, after)).toEqual([
      '@ Sales, line 13',
      '- Never push.',
      '+ Push a little.',
      '@ Sales > Prices, line 14',
      '+',
      '+ ## Prices',
      '+ They vary.',
      '@ Sales > Terms, line 17',
      '+ ## Terms',
      '+ None.',
    ]);
  });

  it('counts lines that differ only in white space, unless the full text is requested', () => {
    const after = prompt.with(1, '  Be   kind.').with(4, 'Open from nine.  ').toSpliced(7, 0, '').with(13, 'Sell.');
    expect(shown(prompt, after)).toEqual([
      '@ Sales, line 14',
      '- Never push.',
      '+ Sell.',
      '~ 3 lines differ only in white space',
    ]);
    expect(shown(['a', 'b'], ['a ', 'b'])).toEqual(['~ 1 line differs only in white space']);
    expect(shown(['a', 'b'], ['a ', 'b'], { whole: true })).toContain('+ a');
    expect(
      diffTexts('a:\n  b: 1', 'a:\nb: 1').map(({ sign }) => sign),
      'significant white space',
    ).toContain('-');
  });

  it('marks the changed words in lines that kept most of their words', () => {
    const [went, came] = diffTexts('Open from nine to five.', 'Open from ten to half past five.', {
      prose: true,
    });
    expect(went?.words).toEqual([
      { text: 'Open from ', changed: false },
      { text: 'nine', changed: true },
      { text: ' to five.', changed: false },
    ]);
    expect(came?.words?.filter(({ changed }) => changed).map(({ text }) => text)).toEqual(['ten', 'half past']);
    expect(diffTexts('One thing.', 'Another matter', { prose: true }).every(({ words }) => words === undefined)).toBe(
      true,
    );
  });

  it('loses nothing between the marks', () => {
    const line = fc
      .array(fc.constantFrom('a', 'bc', ' ', '  ', '.', '{{x}}', '🙂', 'é'), { maxLength: 8 })
      .map((all) => all.join(''));
    const lines = fc.array(line, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const [went, came] = markWords(before, after);
        for (const [texts, marked] of [
          [before, went],
          [after, came],
        ] as const) {
          expect(marked).toHaveLength(texts.length);
          for (const [index, words] of marked.entries()) {
            if (words !== undefined) expect(words.map(({ text }) => text).join('')).toBe(texts[index]);
          }
        }
      }),
    );
  });

  it('marks nothing, and takes no time for it, if too much of a long line changed', () => {
    expect(markWords(['x '.repeat(4900)], ['y z '.repeat(2400)])).toEqual([[undefined], [undefined]]);
    expect(markWords(['a b'.repeat(9000)], ['a c'])).toEqual([[undefined], [undefined]]);
  });

  it('shows a long line around every changed position', () => {
    const filler = 'word '.repeat(80);
    const [went] = diffTexts(`${filler}one ${filler}two ${filler}`, `${filler}uno ${filler}due ${filler}`, {
      prose: true,
    });
    expect(went?.text).toMatch(/^….{60}one.{60}….{60}two.{60}…$/);
    expect(went?.text).toBe(went?.words?.map(({ text }) => text).join(''));
  });

  it('puts brackets around a few words of a long line, and nowhere else', () => {
    const long = 'Tell the caller that we are open from nine to five on every working day.';
    const [went, came] = diffTexts(long, long.replace('nine', 'ten'), { prose: true });
    if (went === undefined || came === undefined) throw new Error('no difference was found');
    expect(bracketed(went)).toBe(long.replace('nine', '[-nine-]'));
    expect(bracketed(came)).toBe(long.replace('nine', '{+ten+}'));
    const [short] = diffTexts('from nine', 'from ten', { prose: true });
    expect(short && bracketed(short)).toBe('from nine');
  });

  it.each([
    { reason: 'an added variable', before: 'Hi', after: 'Hi {{ name }}', notes: ['new {{name}}'] },
    { reason: 'a removed variable', before: 'Hi {{name}}', after: 'Hi', notes: ['no longer {{name}}'] },
    { reason: 'a moved variable', before: '{{a}} b', after: 'b {{a}}', notes: [] },
    { reason: 'a replaced variable', before: '{{a}}', after: '{{b}}', notes: ['new {{b}}', 'no longer {{a}}'] },
    { reason: 'text that is not a variable', before: '{ {a} } {{}}', after: '{{\n}}', notes: [] },
  ])('reports changed variables: $reason', ({ before, after, notes }) => {
    expect(variableNotes(before, after)).toEqual(notes);
  });

  it('finds the headings of a line', () => {
    const sections = sectionsOf(['x', '# A', '### B', 'y', '## C ##', '#no', '~~~', '# in code', '~~~', 'z']);
    expect(sections.map((section) => section.join('>'))).toEqual([
      '',
      'A',
      'A>B',
      'A>B',
      'A>C',
      'A>C',
      'A>C',
      'A>C',
      'A>C',
      'A>C',
    ]);
  });

  it('is safe to print, and ends soon', () => {
    const before = `# ${evil}\nsame words here ${evil}\n${'x y '.repeat(9000)}`;
    for (const { text, words = [] } of diffTexts(before, `${before}z\n# ${evil}`, { prose: true })) {
      expect([text, ...words.map((word) => word.text)].join('')).not.toMatch(unsafe);
    }
  });
});
