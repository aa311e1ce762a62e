import { isObject } from '../../values/json.ts';

export type TimeZone = 'utc' | 'local';

/** Formats a time as `2026-11-21 08:42:23`, with a `Z` at the end in UTC. Returns an invalid time unchanged. */
export function timeText(value: unknown, zone: TimeZone): string {
  if (typeof value !== 'string') return plainText(value);
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? value : dateText(date, zone);
}

/** Formats a time in seconds since 1970, in the format of `timeText`. */
export function unixTimeText(value: unknown, zone: TimeZone): string {
  const date = new Date(typeof value === 'number' ? value * 1000 : Number.NaN);
  return Number.isNaN(date.getTime()) ? plainText(value) : dateText(date, zone);
}

/** The decimal digits in ISO 4217 where they are not two. Intl returns those of everyday use, which are zero for IQD and HUF. */
const MINOR_DIGITS: ReadonlyMap<string, number> = new Map([
  ...digitsOf(0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
  ...digitsOf(3, 'BHD IQD JOD KWD LYD OMR TND'),
  ...digitsOf(4, 'CLF UYW'),
]);

function digitsOf(digits: number, codes: string): [string, number][] {
  return codes.split(' ').map((code) => [code, digits]);
}

/** Formats an amount, given in minor units of its currency, as `12.50 EUR`. Returns an invalid amount unchanged. */
export function amountText(value: unknown, currency: unknown): string {
  if (typeof value !== 'number' || typeof currency !== 'string' || !/^[a-z]{3}$/i.test(currency)) {
    return plainText(value);
  }
  const code = currency.toUpperCase();
  const digits = MINOR_DIGITS.get(code) ?? 2;
  return `${(value / 10 ** digits).toFixed(digits)} ${code}`;
}

/** Returns the text of a cell. Null is empty, lists of plain values are joined with commas, and other structures are JSON. */
export function plainText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(', ');
  return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}

function dateText(date: Date, zone: TimeZone): string {
  if (zone === 'utc') return `${date.toISOString().slice(0, 19).replace('T', ' ')}Z`;
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
}
