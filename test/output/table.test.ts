import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runText } from '../../src/output/history-text.ts';
import { renderTable, tableLayout } from '../../src/output/table.ts';
import { breakText, displayWidth, pad, truncate, wrapWords } from '../../src/output/text-width.ts';
import type { PastRun } from '../../src/runs/past-runs.ts';
import { evil, plainStyle, unsafe, widest } from './sample-styles.ts';

const columns = [{ title: 'ADDRESS', noWrap: true }, { title: 'NAME' }, { title: 'SIZE', align: 'right' }] as const;

describe('width', () => {
  it.each([
    ['✅', 2],
    ['☕', 2],
    ['支', 2],
    ['👍', 2],
    ['é', 1],
    ['e\u0301', 1],
    ['…', 1],
    ['½', 1],
    ['\u001b[1mb\u001b[22m', 1],
  ])('is that of a terminal: %s', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('table', () => {
  it('aligns its columns', () => {
    const rows = [
      ['Agent/a', '支持热线', '7'],
      ['PhoneNumber/main', 'Main', '1200'],
    ];
    expect(renderTable(columns, rows, plainStyle())).toBe(`ADDRESS           NAME      SIZE
Agent/a           支持热线     7
PhoneNumber/main  Main      1200
`);
  });

  it('wraps wide columns, but never ids and addresses', () => {
    const rows = [['Agent/a-rather-long-name', `one two ${'x'.repeat(30)}`, '7']];
    expect(renderTable(columns, rows, plainStyle(50))).toBe(`ADDRESS                   NAME                SIZE
Agent/a-rather-long-name  one two                7
                          xxxxxxxxxxxxxxxxxx
                          xxxxxxxxxxxx
`);
  });

  it.each([80, 90, 100, 110, 120, 140])('breaks no path of a run at %i columns', (width) => {
    const paths = ['prompt_config.prompt', 'knowledge_base_config.chunks_to_retrieve'];
    const run: PastRun = {
      ...{
        run: 'r',
        command: 'apply',
        who: 'ann',
        host: 'here',
        began: '2026-01-31T00:00:00Z',
        result: 'done',
      },
      resources: [
        {
          ...{ address: 'Agent/receptionist', action: 'update', result: 'done' },
          ...{ id: '01KDVDNAZ8003QGCWKGGRNVMH1', paths },
        },
      ],
      voxform_version: '0.1.0',
    };
    const text = runText(run, plainStyle(width));
    for (const path of paths) expect(text).toContain(path);
    expect(widest(text)).toBeLessThanOrEqual(width);
  });

  it('omits columns with the highest drop order until the others fit', () => {
    const some = [
      { title: 'ID', noWrap: true },
      { title: 'NAME' },
      { title: 'CREATED', noWrap: true, dropOrder: 2 },
      { title: 'RETRIES', noWrap: true, dropOrder: 1 },
    ] as const;
    const rows = [['01J0000000', 'a name', '2026-01-31', '3']];
    const titles = (width: number) => renderTable(some, rows, plainStyle(width)).split('\n', 1)[0];
    expect(titles(60)).toBe('ID          NAME    CREATED     RETRIES');
    expect(titles(30)).toBe('ID          NAME    RETRIES');
    expect(titles(25)).toBe('ID          NAME');
    const wide = [['01J0000000000000', 'a name', '2026-01-31', '3']];
    expect(renderTable(some, wide, plainStyle(20)).replaceAll(/\s+/g, ' ')).toContain('2026-01-31');
  });

  it('splits each row into several lines if wrapping is not enough', () => {
    const calls = [
      { title: 'ID', noWrap: true },
      { title: 'START', noWrap: true },
      { title: 'OUTCOME', noWrap: true },
      { title: 'COST', noWrap: true, align: 'right' },
    ] as const;
    const rows = [
      ['01CALL', '2026-01-31 09:30:00', 'escalated', '0.42'],
      ['02CALL', '2026-01-31 09:31:00', '', ''],
    ];
    expect(renderTable(calls, rows, plainStyle(30))).toBe(`ID      START
    OUTCOME    COST
01CALL  2026-01-31 09:30:00
    escalated  0.42
02CALL  2026-01-31 09:31:00
`);
    const status = [{ title: 'ADDRESS', noWrap: true }, { title: 'STATUS', whole: true }, { title: 'DETAIL' }] as const;
    const long = [[`Agent/${'a'.repeat(30)}`, 'drifted', 'name, llm_config.temperature, and many more']];
    expect(renderTable(status, long, plainStyle(40))).toBe(`ADDRESS
    STATUS   DETAIL
Agent/${'a'.repeat(30)}
    drifted  name,
             llm_config.temperature, and
             many more
`);
  });

  it('wraps sentences beside their subject, and below it if there is little room', () => {
    const status = [
      { title: 'ADDRESS', noWrap: true },
      { title: 'STATUS', noWrap: true },
      { title: 'DETAIL', prose: true },
    ] as const;
    const detail = 'invite carla@example.com in the dashboard; then run voxform plan again';
    const rows = [
      ['WorkspaceUser/carla', 'manual', detail],
      ['Agent/a', 'in sync', ''],
    ];
    expect(renderTable(status, rows, plainStyle(64))).toBe(`ADDRESS              STATUS   DETAIL
WorkspaceUser/carla  manual   invite carla@example.com in the
                              dashboard; then run voxform plan
                              again
Agent/a              in sync
`);
    expect(renderTable(status, rows, plainStyle(40))).toBe(`ADDRESS              STATUS
    DETAIL
WorkspaceUser/carla  manual
    invite carla@example.com in the
    dashboard; then run voxform plan
    again
Agent/a              in sync
`);
    expect(renderTable(status, rows, plainStyle(200))).toContain(detail);
  });

  it('loses nothing of a cell at any width', () => {
    const cell = fc.stringMatching(/^[a-z.]{1,60}$/);
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 5 }), fc.integer({ min: 20, max: 200 }), (row, width) => {
        const text = renderTable(
          row.map((_, index) => ({ title: '', whole: index === 0 })),
          [row],
          plainStyle(width),
        );
        const shown = text.replaceAll(/\s/g, '');
        expect([...shown].sort()).toEqual([...row.join('')].sort());
      }),
    );
  });

  it('loses no word of a sentence at any width', () => {
    const words = fc.array(fc.stringMatching(/^[a-z.]{1,60}$/), { maxLength: 30 });
    fc.assert(
      fc.property(words, fc.integer({ min: 20, max: 200 }), (given, width) => {
        const two = [
          { title: 'A', noWrap: true },
          { title: 'B', prose: true },
        ] as const;
        const text = renderTable(two, [['x', given.join(' ')]], plainStyle(width));
        expect(text.replaceAll(/\s/g, '')).toBe(`ABx${given.join('')}`);
        expect(widest(text)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it('widens for a later row while there is room', () => {
    const two = [{ title: 'NAME' }, { title: 'STATUS' }] as const;
    const { line } = tableLayout(two, [['a', 'ok']], plainStyle(40));
    expect(line(['a name that is much longer', 'ok'])).toBe('a name that is much longer  ok');
    expect(line(['b', 'ok'])).toBe('b                           ok');
    expect(line(['n'.repeat(60), 'ok'])).toBe(`${'n'.repeat(32)}  ok\n${'n'.repeat(28)}`);
  });

  it('is no wider than its style if its widest cell fits completely', () => {
    const column = fc.record({ title: fc.constantFrom('A', 'TITLE'), whole: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(column, fc.integer({ min: 0, max: 26 })), { minLength: 1, maxLength: 7 }),
        fc.integer({ min: 30, max: 120 }),
        (given, width) => {
          const row = given.map(([, length]) => 'x'.repeat(length));
          const text = renderTable(
            given.map(([each]) => each),
            [row],
            plainStyle(width),
          );
          expect(widest(text)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it('is safe to print', () => {
    expect(renderTable(columns, [[evil, evil, evil]], plainStyle(500))).not.toMatch(unsafe);
  });
});

/** Words, some of them wide, some of them long. */
const texts = fc
  .array(fc.oneof(fc.stringMatching(/^[a-z:]{0,12}$/), fc.constantFrom('支持', 'e\u0301', '::x', 'x'.repeat(50))))
  .map((words) => words.join(' '));

describe('text of a given width', () => {
  it('is wrapped at words, and keeps its words', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 10, max: 60 }), (text, width) => {
        const lines = wrapWords(text, width);
        expect(lines.join(' ').split(/ +/).filter(Boolean)).toEqual(text.split(/ +/).filter(Boolean));
        for (const line of lines) {
          expect(displayWidth(line) <= width || !line.includes(' ') || line.includes(' ::')).toBe(true);
        }
        expect(lines.slice(1).some((line) => line.startsWith('::'))).toBe(false);
      }),
    );
  });

  it('is broken so that every line fits and nothing is lost', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 2, max: 60 }), (text, width) => {
        const lines = breakText(text, width);
        expect(lines.join('')).toBe(text);
        for (const line of lines) expect(displayWidth(line.trimEnd())).toBeLessThanOrEqual(width);
      }),
    );
  });

  it('is truncated and padded to it', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 60 }), (text, width) => {
        expect(displayWidth(truncate(text, width))).toBeLessThanOrEqual(width);
        expect(displayWidth(pad(truncate(text, width), width))).toBe(width);
      }),
    );
  });
});
