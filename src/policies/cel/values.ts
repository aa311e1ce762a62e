/** The JavaScript representation of each CEL type. In lists and objects of the data, an int is a `number` instead of a `bigint`. */
export interface ValuesByType {
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

export type ValueType = keyof ValuesByType;
export type CelValue = ValuesByType[ValueType];

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

/** A placeholder for a value that rules cannot read: a secret, or the value of an environment variable that is not set. */
export class Opaque {
  readonly reason: 'secret' | 'unset';

  constructor(reason: Opaque['reason']) {
    this.reason = reason;
  }
}

export const SECRET = new Opaque('secret');
export const UNSET = new Opaque('unset');

/** The result of an expression that cannot be evaluated, with the reason. */
export class NoValue {
  readonly message: string;
  /** Offset in the text of the rule. */
  readonly offset: number;
  /** True if the data has no such field or item. */
  readonly isMissing: boolean;
  /** True if the value is not known yet. */
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

/** An RE2 regular expression. The type definitions of the package lack the method `re2`. */
export interface Pattern {
  test(text: string): boolean;
  re2(): { readonly prog: { numInst(): number } };
}

export type Patterns = Map<string, Pattern>;

/** Counts the steps of a rule. Each operation, each item of a list or object, and each 32 characters of a string count as one step. */
export class Meter {
  /** Compiled regular expressions by their source. */
  readonly patterns: Patterns;
  #remaining: number;

  constructor(steps: number, patterns: Patterns = new Map()) {
    this.#remaining = steps;
    this.patterns = patterns;
  }

  get remaining(): number {
    return this.#remaining;
  }

  /** @throws CostExceeded */
  take(steps: number): void {
    this.#remaining -= steps;
    if (this.#remaining < 0) throw new CostExceeded();
  }

  takeString(characters: number): void {
    this.take(1 + characters / 32);
  }
}

export function valueTypeOf(value: CelValue): ValueType {
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

/** Thrown if a comparison involves a value that a rule must not read. */
export class HiddenValue extends Error {
  readonly hidden: Opaque;

  constructor(hidden: Opaque) {
    super();
    this.hidden = hidden;
  }
}

/**
 * Returns true if two values are equal in CEL. Ints and doubles are compared by value. Other values must also have the same type.
 * @throws HiddenValue, CostExceeded
 */
export function equal(a: CelValue, b: CelValue, meter: Meter): boolean {
  meter.take(1);
  for (const each of [a, b]) if (each instanceof Opaque) throw new HiddenValue(each);
  if (typeof a === 'string' && typeof b === 'string') meter.takeString(Math.min(a.length, b.length));
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
  return valueTypeOf(value) === 'map';
}

/** @throws CostExceeded */
export function keysOf(map: CelMap, meter: Meter): readonly string[] {
  const keys = Object.keys(map);
  meter.take(keys.length);
  return keys;
}
