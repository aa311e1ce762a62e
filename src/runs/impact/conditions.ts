import { didYouMean } from '../../problems/suggest.ts';
import type { Compared, Difference, ImpactDocument } from './impact-document.ts';
import { type Measure, measures, type ShareField, shareFields } from './tally.ts';

/** A condition under which the command fails, such as `session_outcome=escalated>+5%`. */
export interface FailCondition {
  readonly text: string;
  readonly field: string;
  /** The value of a field that is counted by value. */
  readonly value: string | undefined;
  readonly operator: '>' | '<';
  /** A share from 0 to 1, or a value in the unit of the field. */
  readonly limit: number;
}

/** Parses a condition. Returns a problem for invalid text. */
export function parseFailCondition(text: string): FailCondition | { readonly problem: string } {
  const [, field = '', value, operator, number, percent] =
    /^\s*(\w+)\s*(?:=\s*(.+?))?\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*(%)?\s*$/.exec(text) ?? [];
  if (operator === undefined)
    return { problem: 'expected a condition such as session_outcome=escalated>+5% or duration>+30' };
  const isShare = shareFields.some((each) => each === field);
  if (!isShare && !measures.some((each) => each === field)) {
    return { problem: `unknown field ${field}${didYouMean(field, [...shareFields, ...measures])}` };
  }
  if (isShare && (value === undefined || percent === undefined)) {
    return { problem: `${field} is counted by value: expected ${field}=VALUE${operator}${number}%` };
  }
  if (!isShare && (value !== undefined || percent !== undefined)) {
    return { problem: `${field} is compared by its median: expected ${field}${operator}${number}` };
  }
  const limit = Number(number) / (isShare ? 100 : 1);
  return { text: text.trim(), field, value, operator: operator as '>' | '<', limit };
}

/** True if the whole interval of the difference is beyond the limit. */
export function isMet({ field, value, operator, limit }: FailCondition, compared: Compared): boolean {
  const difference =
    value === undefined ? compared[field as 'duration'] : shareIn(compared, field as ShareField, value);
  const { low, high } = difference ?? {};
  if (low == null || high == null) return false;
  return operator === '>' ? low > limit : high < limit;
}

/** Calls of a compared version whose values cannot be read, so that the median of a condition is uncertain. */
interface Gap {
  readonly version: number;
  readonly calls: number;
  readonly unreadable: number;
  /** True if the unreadable values could be half of all calls, so that the median is unknown. */
  readonly decides: boolean;
}

/** Returns the gaps in the data of a median; empty for a share. */
export function gapsOf({ field, value }: FailCondition, { versions, compared }: ImpactDocument): Gap[] {
  if (value !== undefined || compared === null) return [];
  const measure = field as Measure;
  return versions.flatMap((each) => {
    const { version, calls, unreadable, [measure]: figures } = each;
    if (version !== compared.from && version !== compared.to) return [];
    const count = unreadable[measure];
    if (count === 0 && figures.median !== null) return [];
    const decides = count > 0 && (figures.median === null || count * 2 >= calls);
    return [{ version, calls, unreadable: count, decides }];
  });
}

/** Returns the difference of a share; undefined if no call of the two versions has the value. */
export function shareIn({ shares }: Compared, field: ShareField, value: string): Difference | undefined {
  return Object.hasOwn(shares[field], value) ? shares[field][value] : undefined;
}
