/** The values of each sort. An int is a `bigint`, but a `number` inside of lists and objects of the data. */
export interface ValuesBySort {
  readonly null: null;
  readonly bool: boolean;
  readonly int: bigint;
  readonly double: number;
  readonly string: string;
  readonly list: CelList;
  readonly map: CelMap;
  readonly timestamp: Timestamp;
  readonly duration: Duration;
  readonly opaque: Opaque;
}

export type CelSort = keyof ValuesBySort;
export type CelValue = ValuesBySort[CelSort];

interface CelList extends ReadonlyArray<CelValue> {}

interface CelMap {
  readonly [key: string]: CelValue;
}

export class Timestamp {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }
}

export class Duration {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }
}

/** Replaces a value that no rule can read: a secret, or the value of an environment variable that is not set. */
export class Opaque {
  readonly why: 'secret' | 'unset';

  constructor(why: Opaque['why']) {
    this.why = why;
  }
}

export const SECRET = new Opaque('secret');
export const UNSET = new Opaque('unset');

/** The result of an expression that cannot be evaluated, with the reason. */
export class NoValue {
  readonly message: string;
  /** Offset in the text of the rule. */
  readonly offset: number;
  /** The data has no such field or item. */
  readonly isMissing: boolean;
  /** The value is not known yet. */
  readonly isUnset: boolean;

  constructor(message: string, { offset, isMissing = false, isUnset = false }: Partial<NoValue> & { offset: number }) {
    this.message = message;
    this.offset = offset;
    this.isMissing = isMissing;
    this.isUnset = isUnset;
  }
}

/** Thrown when a rule takes too many steps. */
export class CostExceeded extends Error {}

/** A regular expression of RE2, with a method that the types of the package lack. */
export interface Pattern {
  test(text: string): boolean;
  re2(): { readonly prog: { numInst(): number } };
}

export type Patterns = Map<string, Pattern>;

/** Counts the steps of a rule: one for each operation, item of a list or object, or 32 characters of a text. */
export class Meter {
  /** Compiled regular expressions by their source. */
  readonly patterns: Patterns;
  #left: number;

  constructor(steps: number, patterns: Patterns = new Map()) {
    this.#left = steps;
    this.patterns = patterns;
  }

  get left(): number {
    return this.#left;
  }

  /** @throws CostExceeded */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new CostExceeded();
  }

  takeText(characters: number): void {
    this.take(1 + characters / 32);
  }
}

export function sortOf(value: CelValue): CelSort {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return 'string';
    default:
      if (value === null) return 'null';
      if (Array.isArray(value)) return 'list';
      if (value instanceof Timestamp) return 'timestamp';
      if (value instanceof Duration) return 'duration';
      return value instanceof Opaque ? 'opaque' : 'map';
  }
}

/** Thrown if a comparison involves a value that a rule must not see. */
export class HiddenValue extends Error {
  readonly hidden: Opaque;

  constructor(hidden: Opaque) {
    super();
    this.hidden = hidden;
  }
}

/**
 * Equality of CEL: ints and doubles compare by value, all other values only within their sort.
 * @throws HiddenValue, CostExceeded
 */
export function equal(a: CelValue, b: CelValue, meter: Meter): boolean {
  meter.take(1);
  for (const each of [a, b]) if (each instanceof Opaque) throw new HiddenValue(each);
  if (typeof a === 'string' && typeof b === 'string') meter.takeText(Math.min(a.length, b.length));
  if (typeof a === 'bigint' && typeof b === 'number') return Number(a) === b;
  if (typeof a === 'number' && typeof b === 'bigint') return a === Number(b);
  if (a instanceof Timestamp) return b instanceof Timestamp && a.ms === b.ms;
  if (a instanceof Duration) return b instanceof Duration && a.ms === b.ms;
  if (isList(a) && isList(b)) {
    return a.length === b.length && a.every((item, index) => equal(item, b[index] as CelValue, meter));
  }
  if (!isMap(a) || !isMap(b)) return a === b;
  const keys = keysOf(a, meter);
  if (keys.length !== keysOf(b, meter).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equal(a[key] as CelValue, b[key] as CelValue, meter));
}

export function isList(value: CelValue): value is CelList {
  return Array.isArray(value);
}

export function isMap(value: CelValue): value is CelMap {
  return sortOf(value) === 'map';
}

/** @throws CostExceeded */
export function keysOf(map: CelMap, meter: Meter): readonly string[] {
  const keys = Object.keys(map);
  meter.take(keys.length);
  return keys;
}
