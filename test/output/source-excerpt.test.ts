import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderDiagnostics } from '../../src/output/diagnostics.ts';
import { createExcerpts } from '../../src/output/source-excerpt.ts';
import { displayWidth } from '../../src/output/text-width.ts';
import type { Diagnostic } from '../../src/problems/diagnostic.ts';
import { Redactor } from '../../src/values/redactor.ts';
import { evil, plainStyle, unsafe, widest } from './sample-styles.ts';

const at = (line: number, column: number, rest: Partial<Diagnostic> = {}): Diagnostic => ({
  severity: 'error',
  code: 'unknown-field',
  message: 'unknown field',
  file: 'a.yaml',
  line,
  column,
  ...rest,
});

const excerptOf = (text: string, place: Diagnostic, width = 80): string =>
  createExcerpts({ sourceOf: () => text, redact: String })(place, plainStyle(width));

describe('excerpt', () => {
  it('appears under its diagnostic, with a caret under the column', () => {
    const excerpts = createExcerpts({
      sourceOf: () => 'kind: Agent\nspec:\n    voise: x\n',
      redact: String,
    });
    expect(renderDiagnostics([at(3, 5), at(9, 1)], plainStyle(), excerpts)).toBe(`a.yaml:3:5  unknown field
  3 | voise: x
    | ^
a.yaml:9:1  unknown field

2 errors in 1 file
`);
  });

  it('appears under a message that wraps between words, only for people', () => {
    const message = 'This message is longer than the line of the terminal on which it is to stand.';
    const excerpts = createExcerpts({ sourceOf: () => 'voise: x\n', redact: String });
    const diagnostics = [at(1, 1, { message, severity: 'warning' })];
    expect(renderDiagnostics(diagnostics, plainStyle(40), excerpts)).toBe(`a.yaml:1:1  warning: This message is
    longer than the line of the terminal
    on which it is to stand.
  1 | voise: x
    | ^

1 warning in 1 file
`);
    expect(renderDiagnostics(diagnostics, plainStyle(40))).toContain(`a.yaml:1:1  warning: ${message}\n`);
  });

  it('appears once under several diagnostics at one position', () => {
    const excerpts = createExcerpts({ sourceOf: () => 'voise: x\n', redact: String });
    const shown = renderDiagnostics([at(1, 1), at(1, 1, { severity: 'warning' }), at(1, 8)], plainStyle(), excerpts);
    expect(shown).toContain('| ^\na.yaml:1:1  warning: unknown field\na.yaml:1:8  ');
    expect(shown.match(/1 \| voise: x/g)).toHaveLength(2);
  });

  it.each([
    { text: 'name: [支持热线, ]]', column: 14, under: ']', reason: 'wide characters' },
    { text: '\tname:\t!x', column: 8, under: '!', reason: 'tabs' },
    {
      text: `a: "${'x'.repeat(300)}" ! "${'y'.repeat(300)}"`,
      column: 307,
      under: '!',
      reason: 'a long line',
    },
    { text: 'a: "\u200b\u001b[2J" !', column: 12, under: '!', reason: 'characters shown as escapes' },
    { text: `${'👍'.repeat(60)}!`, column: 121, under: '!', reason: 'pairs of units' },
  ])('has its caret at the right position: $reason', ({ text, column, under }) => {
    const [line = '', caret = ''] = excerptOf(text, at(1, column), 60).split('\n');
    expect(widest(`${line}\n${caret}`)).toBeLessThanOrEqual(60);
    const place = displayWidth(caret) - 1;
    let width = 0;
    const met = [...line].find((character) => {
      width += displayWidth(character);
      return width > place;
    });
    expect(met).toBe(under);
  });

  it('is never wider than the terminal, and is safe to print', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('x', ' ', '\t', '支', '👍', 'e\u0301', evil), { maxLength: 200 }),
        fc.nat({ max: 400 }),
        fc.integer({ min: 40, max: 200 }),
        (parts, column, width) => {
          const text = parts.join('').replaceAll(/[\r\n]/g, '');
          const shown = excerptOf(text, at(1, column + 1), width);
          expect(shown).not.toMatch(unsafe);
          expect(widest(shown)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it.each([
    'api_key: 9f86d081884c7d659a2feaa0c55ad015',
    '"api_key": "9f86d081884c7d659a2feaa0c55ad015"',
    'address: http://ann:9f86d081@state.example.com',
    'headers: { Authorization: Bearer 9f86d081 }',
    'endpoint: https://x.example.com?k=sk-proj-4f8a9b2c7d1e',
    'webhook_token: abc',
  ])('never shows a likely key: %s', (text) => {
    expect(excerptOf(`a: 1\n${text}`, at(2, 1))).toBe('');
  });

  it('shows no line that is only a key and no known secret, but the form that names a secret', () => {
    expect(excerptOf('  9f86d081884c', at(1, 3, { path: 'spec.llm_config.api_key' }))).toBe('');
    expect(excerptOf('api_key: { $secrt: OPENAI }', at(1, 12, { path: 'spec.api_key' }))).toContain('$secrt');
    const redactor = new Redactor();
    redactor.add('hunter22');
    const excerpt = createExcerpts({
      sourceOf: () => 'name: hunter22',
      redact: (text) => redactor.redact(text),
    });
    expect(excerpt(at(1, 1), plainStyle())).toBe('');
  });

  it('reads a file once for all its diagnostics', () => {
    const read: string[] = [];
    const excerpt = createExcerpts({
      sourceOf(file) {
        read.push(file);
        return file === 'gone.yaml' ? undefined : 'a: 1';
      },
      redact: String,
    });
    for (const file of ['a.yaml', 'a.yaml', 'gone.yaml', 'gone.yaml', 'b.yaml'])
      excerpt(at(1, 1, { file }), plainStyle());
    expect(read).toEqual(['a.yaml', 'gone.yaml', 'b.yaml']);
  });
});
