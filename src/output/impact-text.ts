import { compareText } from '../problems/compare-text.ts';
import {
  type Compared,
  type Difference,
  type ImpactDocument,
  type ImpactVersion,
  MIN_CALLS,
} from '../runs/impact/impact-document.ts';
import { type Measure, measures, type ShareField, shareFields } from '../runs/impact/tally.ts';
import { escapeControls } from './escape-controls.ts';
import { type TimeZone, timeText } from './records/record-values.ts';
import { bullets, paragraphs, type Style } from './style.ts';
import { type Column, noWrapColumns, renderTable } from './table.ts';

const NUMBER = { align: 'right', noWrap: true } as const;

/** A table with a row for each version, or for each compared figure. */
interface ImpactTable {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
  /** The rows of a comparison that have a clear difference. */
  readonly clear?: ReadonlySet<readonly string[]>;
}

/** Returns the tables of calls, of the shares of each field, and of the measures. */
export function impactTables({ versions }: ImpactDocument, zone: TimeZone): ImpactTable[] {
  const table = (
    title: string,
    columns: readonly Column[],
    cellsOf: (version: ImpactVersion) => readonly string[],
  ): ImpactTable => ({
    title,
    columns: [{ title: 'VERSION', ...NUMBER }, ...columns],
    rows: versions.map((each) => [String(each.version), ...cellsOf(each)]),
  });
  const shares = shareFields.flatMap((field) => {
    const values = valuesOf(field, versions);
    const columns = values.map((value) => ({ title: escapeControls(value), align: 'right' as const }));
    const cellsOf = (each: ImpactVersion) => values.map((value) => shareText(each, field, value));
    return values.length === 0 ? [] : [table(field, columns, cellsOf)];
  });
  const measured = measures.map((measure) => ({ title: measure.toUpperCase(), ...NUMBER }));
  const counted = [...noWrapColumns('PUBLISHED'), { title: 'CALLS', ...NUMBER }];
  return [
    table('Versions', counted, (each) => [timeText(each.published_at, zone), each.calls.toLocaleString('en')]),
    ...shares,
    table('median, 95th percentile', measured, (each) => measures.map((measure) => quantilesText(each, measure))),
  ];
}

/** Returns the comparison of two versions as a table, or the reason why there is none. */
export function comparisonTable(impact: ImpactDocument): ImpactTable | string {
  const compared = comparisonOf(impact);
  if (typeof compared === 'string') return compared;
  const rows = comparedRows(compared, impact.versions);
  return {
    title: `Version ${compared.from} to version ${compared.to}`,
    columns: [
      { title: 'FIGURE' },
      ...['BEFORE', 'AFTER'].map((side) => ({ title: side, ...NUMBER })),
      { title: 'DIFFERENCE (95% INTERVAL)' },
    ],
    rows: rows.map(({ cells }) => cells),
    clear: new Set(rows.filter(({ difference }) => isClear(difference)).map(({ cells }) => cells)),
  };
}

/** Returns the effect of the versions on calls as text. */
export function impactText(impact: ImpactDocument, style: Style): string {
  const { address, id, notes } = impact;
  const range = rangeText(impact);
  const compared = comparisonTable(impact);
  const shown = ({ title, columns, rows }: ImpactTable) =>
    `${style.bold(title)}\n${renderTable(columns, rows, style).trimEnd()}`;
  return paragraphs([
    style.prose(range === '' ? id : `${id}, calls${range}`, {
      lead: `${style.bold(escapeControls(address))}  `,
      format: style.dim,
    }),
    ...impactTables(impact, 'local').map(shown),
    typeof compared === 'string' ? style.prose(compared) : shown(compared),
    bullets('Notes', notes, style),
  ]);
}

/** Returns a share with its 95 % interval, such as `12.3% (10.1 to 14.7)`, or a dash if there are no calls. */
function shareText(version: ImpactVersion, field: ShareField, value: string): string {
  if (version.calls === 0) return '-';
  const shares = version.shares[field];
  const share = Object.hasOwn(shares, value) ? shares[value] : undefined;
  const percent = (part: number): string => (part * 100).toFixed(1);
  return share === undefined ? '0' : `${percent(share.share)}% (${percent(share.low)} to ${percent(share.high)})`;
}

/** Returns the median and the 95th percentile, e.g. `2:59, p95 7:07`. */
function quantilesText(version: ImpactVersion, measure: Measure): string {
  const { median, p95 } = version[measure];
  return median === null ? '-' : `${measureText(measure, median)}, p95 ${measureText(measure, p95)}`;
}

/** Returns a value such as `3:05` or `0.42`, or a dash if no call has the field. */
function measureText(measure: Measure, value: number | null): string {
  if (value === null) return '-';
  if (measure !== 'duration') return String(Number(value.toPrecision(4)));
  const seconds = Math.round(value);
  const minutes = Math.floor(seconds / 60);
  const two = (part: number): string => String(part).padStart(2, '0');
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** Returns the comparison of two versions, or the reason why there is none. */
export function comparisonOf(impact: ImpactDocument): Compared | string {
  const { since, versions, compared } = impact;
  if (compared === null && since === null) return 'Only one published version: there is nothing to compare.';
  if (compared === null)
    return `Only one version has been in use${rangeText({ since, direction: null, channel: null })}, so there is nothing to compare.`;
  const empty = versions.filter(
    ({ version, calls }) => calls === 0 && (version === compared.from || version === compared.to),
  );
  if (empty.length === 0) return compared;
  const numbers = empty.map(({ version }) => version).join(' and ');
  const none = empty.length === 1 ? `Version ${numbers} has no calls` : `Versions ${numbers} have no calls`;
  return `${none}${rangeText(impact)}: there is nothing to compare.`;
}

type Range = Pick<ImpactDocument, 'since' | 'direction' | 'channel'>;

/** Returns a suffix for the word `calls`, such as ` since 2026-01-31 with direction inbound`, or an empty string for all calls. */
export function rangeText({ since, direction, channel }: Range): string {
  const range = since === null ? '' : ` since ${since.replace(/\.\d+(?=Z$)/, '')}`;
  const filters = [direction && `direction ${direction}`, channel && `channel ${channel}`].filter(Boolean);
  return filters.length === 0 ? range : `${range} with ${filters.join(' and ')}`;
}

const UNCLEAR = {
  no_clear_difference: 'no clear difference',
  too_few_calls: `too few calls, under ${MIN_CALLS}`,
} as const;

/** True if the interval of a difference does not contain zero. */
function isClear({ verdict }: Difference): boolean {
  return verdict === 'higher' || verdict === 'lower';
}

/** Returns a row for each difference, shares before medians. A rare value has a row only if its difference is clear. */
function comparedRows(compared: Compared, versions: readonly ImpactVersion[]) {
  const sides = [compared.from, compared.to].map((wanted) => versions.find(({ version }) => version === wanted));
  const row = (title: string, difference: Difference, cell: string, of: (side: ImpactVersion) => string) => ({
    cells: [title, ...sides.map((side) => (side === undefined ? '-' : of(side))), cell],
    difference,
  });
  const shares = shareFields.flatMap((field) => {
    const frequent = valuesOf(field, versions);
    return Object.entries(compared.shares[field]).flatMap(([value, difference]) => {
      if (!isClear(difference) && !frequent.includes(value)) return [];
      const cell = differenceText(difference, (each) => signedText(each * 100, 1), ' points');
      return row(`${field}=${value}`, difference, cell, (side) => shareText(side, field, value).replace(/ .*/, ''));
    });
  });
  const medians = measures.map((measure) => {
    const isDuration = measure === 'duration';
    const text = (each: number) =>
      signedText(isDuration || Math.abs(each) >= 10 ? Math.round(each) : Number(each.toPrecision(2)));
    const cell = differenceText(compared[measure], text, isDuration ? ' s' : '');
    return row(`median ${measure}`, compared[measure], cell, (side) => measureText(measure, side[measure].median));
  });
  return [...shares, ...medians];
}

function differenceText(
  { difference, low, high, verdict }: Difference,
  text: (value: number) => string,
  unit: string,
): string {
  const interval = low === null || high === null ? undefined : `${text(low)} to ${text(high)}`;
  if (verdict !== 'higher' && verdict !== 'lower')
    return UNCLEAR[verdict] + (interval === undefined ? '' : ` (${interval}${unit})`);
  return `${text(difference ?? 0)}${unit} (${interval})`;
}

function signedText(value: number, digits?: number): string {
  const text = digits === undefined ? String(value) : value.toFixed(digits).replace(/^-(?=0(\.0+)?$)/, '');
  return Number(text) > 0 ? `+${text}` : text;
}

/** The maximum number of values of a field in text and HTML. JSON contains all values. */
const MAX_VALUES = 8;

/** Returns the most frequent values of a field over all versions, the most frequent first. */
export function valuesOf(field: ShareField, versions: readonly ImpactVersion[]): string[] {
  const counts = new Map<string, number>();
  for (const { shares } of versions)
    for (const [value, { count }] of Object.entries(shares[field])) counts.set(value, (counts.get(value) ?? 0) + count);
  return [...counts]
    .sort(([a, one], [b, other]) => other - one || compareText(a, b))
    .slice(0, MAX_VALUES)
    .map(([value]) => value);
}
