import { isObject } from '../../values/json.ts';

/** The zone of the times in a table. */
export type TimeZone = 'utc' | 'local';

/** `2026-11-21 08:42:23`, with a Z in UTC. An invalid time is returned unchanged. */
export function timeText(value: unknown, zone: TimeZone): string {
  if (typeof value !== 'string') return plainText(value);
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? value : dateText(date, zone);
}

/** The same for seconds since 1970. */
export function unixTimeText(value: unknown, zone: TimeZone): string {
  const date = new Date(typeof value === 'number' ? value * 1000 : Number.NaN);
  return Number.isNaN(date.getTime()) ? plainText(value) : dateText(date, zone);
}

/**
 * Digits of the minor unit in ISO 4217, for currencies that do not have two. Intl returns the digits of everyday use, which are none for
 * IQD, HUF and others.
 */
const MINOR_DIGITS: ReadonlyMap<string, number> = new Map([
  ...digitsOf(0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
  ...digitsOf(3, 'BHD IQD JOD KWD LYD OMR TND'),
  ...digitsOf(4, 'CLF UYW'),
]);

function digitsOf(digits: number, codes: string): [string, number][] {
  return codes.split(' ').map((code) => [code, digits]);
}

/** An amount in minor units of its currency as `12.50 EUR`. An invalid amount is returned unchanged. */
export function amountText(value: unknown, currency: unknown): string {
  if (typeof value !== 'number' || typeof currency !== 'string' || !/^[a-z]{3}$/i.test(currency)) {
    return plainText(value);
  }
  const code = currency.toUpperCase();
  const digits = MINOR_DIGITS.get(code) ?? 2;
  return `${(value / 10 ** digits).toFixed(digits)} ${code}`;
}

/** The text of a cell: empty for null, lists with commas, other structures as JSON. */
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
