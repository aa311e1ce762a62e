import { RE2JS } from '@bufbuild/re2';
import { attempt } from '../../problems/attempt.ts';
import { NoResult, type Overloads, overload } from './overload.ts';
import { BOOL, INT, listOf, STRING } from './types.ts';
import type { CelValue, Meter, Pattern } from './values.ts';

function textTest(holds: (text: string, other: string) => boolean): Overloads[string] {
  return [
    overload(['string', 'string'], BOOL, ([text, other], meter) => {
      meter.takeString(text.length + other.length);
      return holds(text, other);
    }),
  ];
}

function transform(compute: (text: string) => string): Overloads[string] {
  return [
    overload(['string'], STRING, ([text], meter) => {
      meter.takeString(text.length);
      return compute(text);
    }),
  ];
}

const MAX_PATTERN_LENGTH = 500;
const MAX_STATES = 20_000;
/** The maximum number of cached patterns. Additional patterns are compiled at each use. */
const MAX_PATTERNS = 1000;

/** @throws NoResult */
export function compiled(pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN_LENGTH || maxStates(pattern) > MAX_STATES) {
    throw new NoResult('the regular expression is too large');
  }
  const expression = attempt(() => RE2JS.compile(pattern));
  if (expression === undefined) throw new NoResult('not a valid RE2 regular expression');
  return expression;
}

/**
 * Returns a compiled pattern. Each pattern is compiled once per run, because compiling it takes 0.1 ms or more.
 * @throws NoResult, CostExceeded
 */
function patternIn(meter: Meter, pattern: string): Pattern {
  const cached = meter.patterns.get(pattern);
  if (cached !== undefined) return cached;
  meter.take(3000 + 20 * Math.min(maxStates(pattern), MAX_STATES));
  const expression = compiled(pattern);
  if (meter.patterns.size < MAX_PATTERNS) meter.patterns.set(pattern, expression);
  return expression;
}

/** Returns an upper bound of the number of states. RE2 expands counted repetitions, and nested repetitions multiply. */
function maxStates(pattern: string): number {
  const counts = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].map(([, min, max]) =>
    Math.max(1, Number(min), Number(max ?? 0)),
  );
  const nested = /\)\s*\{/.test(pattern);
  return pattern.length * counts.reduce((all, count) => (nested ? all * count : Math.max(all, count)), 1);
}

/** Splits a string. Stops when the number of parts exceeds the remaining steps. */
function split(text: string, separator: string, meter: Meter): readonly string[] {
  if (separator === '') return characters(text, meter);
  meter.takeString(text.length);
  const parts = text.split(separator, Math.ceil(meter.remaining) + 1);
  meter.take(parts.length);
  return parts;
}

/** Returns the code points of a string. CEL counts code points, not UTF-16 code units. */
function characters(text: string, meter: Meter): readonly string[] {
  meter.take(1 + text.length);
  return [...text];
}

/** Returns the number of code points. */
export function lengthOf(text: string, meter: Meter): bigint {
  meter.takeString(text.length);
  return BigInt([...text].length);
}

/** @throws NoResult for a position outside the string. */
function substring(text: string, meter: Meter, begin: bigint, end?: bigint): string {
  meter.takeString(text.length);
  const points = [...text];
  const last = end ?? BigInt(points.length);
  if (begin < 0n || last < begin || last > BigInt(points.length))
    throw new NoResult('the position is outside the string');
  return points.slice(Number(begin), Number(last)).join('');
}

/** The methods of strings, and the list method `join`. */
export const textMethods: Overloads = {
  contains: textTest((text, other) => text.includes(other)),
  startsWith: textTest((text, other) => text.startsWith(other)),
  endsWith: textTest((text, other) => text.endsWith(other)),
  matches: [
    overload(['string', 'string'], BOOL, ([text, pattern], meter) => {
      const regex = patternIn(meter, pattern);
      meter.take(1 + text.length * (2 + regex.re2().prog.numInst() / 32));
      return regex.test(text);
    }),
  ],
  lowerAscii: transform((text) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())),
  upperAscii: transform((text) => text.replace(/[a-z]+/g, (part) => part.toUpperCase())),
  trim: transform((text) => text.trim()),
  indexOf: [
    overload(['string', 'string'], INT, ([text, other], meter) => {
      meter.takeString(text.length + other.length);
      const at = text.indexOf(other);
      return at === -1 ? -1n : lengthOf(text.slice(0, at), meter);
    }),
  ],
  substring: [
    overload(['string', 'int'], STRING, ([text, begin], meter) => substring(text, meter, begin)),
    overload(['string', 'int', 'int'], STRING, ([text, begin, end], meter) => substring(text, meter, begin, end)),
  ],
  replace: [
    overload(['string', 'string', 'string'], STRING, ([text, old, replacement], meter) => {
      const parts = split(text, old, meter);
      meter.takeString(text.length + parts.length * replacement.length);
      return parts.join(replacement);
    }),
  ],
  split: [overload(['string', 'string'], listOf(STRING), ([text, separator], meter) => split(text, separator, meter))],
  join: [
    overload(['list'], STRING, ([list], meter) => join(list, '', meter)),
    overload(['list', 'string'], STRING, ([list, separator], meter) => join(list, separator, meter)),
  ],
};

function join(list: readonly CelValue[], separator: string, meter: Meter): string {
  let characters = 0;
  for (const item of list) {
    if (typeof item !== 'string') throw new NoResult('the list has items that are not strings');
    characters += item.length + separator.length;
  }
  meter.take(list.length);
  meter.takeString(characters);
  return list.join(separator);
}
