import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { amountText, timeText, unixTimeText } from '../../src/output/records/record-values.ts';
import { createRecordWriter, RECORD_FORMATS, type RecordFormat } from '../../src/output/records/record-writer.ts';
import { createStyle } from '../../src/output/style.ts';
import { recordTypes } from '../../src/runs/record-types.ts';

type AnyRecord = Readonly<Record<string, unknown>>;

const NOTHING_KNOWN = { addresses: new Map(), mentioned: new Map() };

function printed(format: RecordFormat, name: string, records: readonly AnyRecord[], width = 80): string {
  const style = createStyle({ color: false, width });
  const { columns = [] } = recordTypes.get(name) ?? {};
  const writer = createRecordWriter(format, { columns, style, zone: 'utc', ...NOTHING_KNOWN });
  return records.map((record) => writer.write(record)).join('') + writer.end();
}

const INVOICES: readonly AnyRecord[] = [
  {
    id: 'i1',
    number: 'INV-1',
    period_start: 1767225600,
    period_end: 1769904000,
    total: 4900,
    amount_paid: 4900,
    amount_due: 0,
    currency: 'eur',
    status: 'paid',
  },
  {
    id: 'i2',
    number: 'INV-2',
    period_start: 1769904000,
    period_end: null,
    total: 1200,
    amount_paid: 0,
    amount_due: 1200,
    currency: 'jpy',
    status: 'open',
  },
];

describe('values of a table', () => {
  it.each([
    [4900, 'eur', '49.00 EUR', 'two digits'],
    [1200, 'jpy', '1200 JPY', 'a currency without minor units'],
    [1234, 'kwd', '1.234 KWD', 'a currency with three digits'],
    [4900, 'huf', '49.00 HUF', 'a currency whose minor unit is out of use'],
    [1234, 'iqd', '1.234 IQD', 'another one, with three digits'],
    [4900, 'zzz', '49.00 ZZZ', 'a currency that nobody knows'],
    [-5, 'usd', '-0.05 USD', 'a credit'],
    [4900, null, '4900', 'no currency'],
    ['many', 'eur', 'many', 'no amount'],
  ] as readonly (readonly [unknown, unknown, string, string])[])(
    'amount %s %s is %s: %s',
    (value, currency, expected) => {
      expect(amountText(value, currency)).toBe(expected);
    },
  );

  it('accepts both forms of a timestamp, and keeps any other text', () => {
    expect(timeText('2026-01-01T00:00:03+00:00', 'utc')).toBe('2026-01-01 00:00:03Z');
    expect(timeText('2026-01-01T00:00:03.123456Z', 'utc')).toBe('2026-01-01 00:00:03Z');
    expect(timeText('soon', 'utc')).toBe('soon');
    expect(timeText(null, 'utc')).toBe('');
    expect(unixTimeText(1767225600, 'utc')).toBe('2026-01-01 00:00:00Z');
  });
});

describe('formats of a list', () => {
  it('aligns a table under its titles', () => {
    expect(printed('table', 'invoices', INVOICES, 120)).toBe(
      [
        'NUMBER  FROM                  TO                        TOTAL       PAID       DUE  STATUS',
        'INV-1   2026-01-01 00:00:00Z  2026-02-01 00:00:00Z  49.00 EUR  49.00 EUR  0.00 EUR  paid',
        'INV-2   2026-02-01 00:00:00Z                         1200 JPY      0 JPY  1200 JPY  open',
        '',
      ].join('\n'),
    );
  });

  it('omits empty columns of a table until a record fills one', () => {
    const calls = Array.from({ length: 101 }, (_, index) => ({ id: `c${index}`, direction: 'x', from: '' }));
    expect(printed('table', 'calls', calls.slice(0, 1))).toBe('ID\nc0\n');
    const lines = printed('table', 'calls', [...calls, { id: 'd', cost: 2 }, { id: 'e' }]).split('\n');
    expect(lines.slice(0, 2)).toEqual(['ID', 'c0']);
    expect(lines.slice(101)).toEqual(['c100', '', 'ID   COST', 'd       2', 'e', '']);
  });

  it('prints complete JSON for any number of records', () => {
    for (const count of [0, 1, 2]) {
      expect(JSON.parse(printed('json', 'invoices', INVOICES.slice(0, count)))).toEqual(INVOICES.slice(0, count));
    }
  });

  it('prints one JSON object per line', () => {
    const lines = printed('jsonl', 'invoices', INVOICES).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(INVOICES);
  });

  it('quotes special characters in CSV', () => {
    const record = { id: '1', name: 'a "b", c\nd', modules: ['x', 'y'], role: null };
    expect(printed('csv', 'users', [record, { ...record, id: '2' }])).toBe(
      'id,name,modules,role\r\n1,"a ""b"", c\nd","[""x"",""y""]",\r\n2,"a ""b"", c\nd","[""x"",""y""]",\r\n',
    );
  });

  it('has a CSV column for a field of only some records, even in a long list', () => {
    const many = Array.from({ length: 1000 }, (_, index) => ({ id: String(index) }));
    const records = [{ id: 'a', name: 'x' }, { id: 'b', tts: {} }, ...many, { name: 'last' }];
    const lines = printed('csv', 'agents', records).split('\r\n');
    expect(lines.slice(0, 4)).toEqual(['id,name,tts', 'a,x,', 'b,,{}', '0,,']);
    expect(lines.slice(-3)).toEqual(['999,,', ',last,', '']);
  });

  it('prints nothing for an empty list, except as JSON', () => {
    for (const format of RECORD_FORMATS) {
      expect(printed(format, 'calls', []), format).toBe(format === 'json' ? '[]\n' : '');
    }
  });

  it('prints no control sequences for a terminal', () => {
    const record = { id: '1', name: '\u001b[2J\u202e', email: 'a\u0007@b' };
    for (const format of RECORD_FORMATS) {
      expect(printed(format, 'users', [record]).replaceAll(/\r?\n/g, ''), format).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });

  it('gives a spreadsheet no formulas, and keeps signed numbers', () => {
    const cells = [
      '=1+1',
      '+1-2',
      '-cmd',
      '@SUM(A1)',
      '\t=1',
      '\r=1',
      '\uff1d1',
      ' =1+1',
      ';=1+1',
      'a; @b;-cmd',
      'a\t=1',
      '+12025550120',
      '-3.5',
      'a=b',
      'a;-3.5; b',
    ];
    const lines = printed('csv', 'users', [...cells.map((name) => ({ name }))]).split('\r\n');
    expect(lines.slice(1, -1)).toEqual([
      "'=1+1",
      "'+1-2",
      "'-cmd",
      "'@SUM(A1)",
      "'\\u0009=1",
      "'\\u000d=1",
      "'\uff1d1",
      "' =1+1",
      `";'=1+1"`,
      `"a;' @b;'-cmd"`,
      'a\\u0009=1',
      '+12025550120',
      '-3.5',
      'a=b',
      '"a;-3.5; b"',
    ]);
  });

  it('prints YAML that parses to the same values, with any escapes', () => {
    const odd = `a\u009b31m\u202e\u2028\u{e0041}\t\u0007"\\ ${'long '.repeat(20)}\n\n  b\n`;
    const record = { id: '1', name: odd, [odd]: [odd, { deep: odd }], plain: 'a\nb\n' };
    const text = printed('yaml', 'users', [record]);
    expect(parse(text)).toEqual(record);
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028-\u202e\u{e0000}-\u{e007f}]/u);
  });

  it('measures its columns on the first rows and keeps their widths', () => {
    const style = createStyle({ color: false, width: 80 });
    const writer = createRecordWriter('table', {
      columns: recordTypes.get('knowledge-bases')?.columns ?? [],
      style,
      zone: 'utc',
      ...NOTHING_KNOWN,
    });
    let first = '';
    for (let index = 0; index < 100; index++) first += writer.write({ id: `id-${index}`, name: 'short' });
    expect(first.split('\n')).toHaveLength(102);
    expect(writer.write({ id: 'id-100', name: 'a name that is longer than all before' })).toContain('longer than all');
    expect(writer.end()).toBe('');
  });
});
