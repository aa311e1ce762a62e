import { NoResult, type Overload, type Overloads, overload } from './overload.ts';
import { lengthOf, textMethods } from './text-functions.ts';
import { dateOf, durationOf, timeMethods, timestampOf } from './time-functions.ts';
import { ANY, BOOL, DOUBLE, DURATION, INT, listOf, STRING, TIMESTAMP, type Type, unionOf } from './types.ts';
import { Duration, equal, keysOf, Timestamp } from './values.ts';

const size: Overloads[string] = [
  overload(['string'], INT, ([text], meter) => lengthOf(text, meter)),
  overload(['list'], INT, ([list]) => BigInt(list.length)),
  overload(['map'], INT, ([map], meter) => BigInt(keysOf(map, meter).length)),
];

/** The functions that are called as `name(…)`. */
export const functions: Overloads = {
  size,
  int: [
    overload(['int'], INT, ([a]) => a),
    overload(['double'], INT, ([a]) => {
      if (!Number.isFinite(a)) throw new NoResult('the number is too large');
      return int64(BigInt(Math.trunc(a)));
    }),
    overload(['string'], INT, ([text]) => {
      if (!/^-?\d{1,19}$/.test(text)) throw new NoResult('the string is not a whole number');
      return int64(BigInt(text));
    }),
  ],
  double: [
    overload(['double'], DOUBLE, ([a]) => a),
    overload(['int'], DOUBLE, ([a]) => Number(a)),
    overload(['string'], DOUBLE, ([text]) => {
      if (!/^-?\d{1,300}(\.\d{1,300})?$/.test(text)) throw new NoResult('the string is not a number');
      return Number(text);
    }),
  ],
  string: [
    overload(['string'], STRING, ([a]) => a),
    ...(['int', 'double', 'bool'] as const).map((type) => overload([type], STRING, ([a]) => String(a))),
    overload(['timestamp'], STRING, ([time]) => dateOf(time).toISOString()),
    overload(['duration'], STRING, ([{ ms }]) => `${ms / 1000}s`),
  ],
  timestamp: [overload(['string'], TIMESTAMP, ([text]) => timestampOf(text))],
  duration: [overload(['string'], DURATION, ([text]) => durationOf(text))],
  dyn: [overload(['any'], ANY, ([a]) => a)],
};

/** The methods, which are called as `value.name(…)`. */
export const methods: Overloads = { size, ...textMethods, ...timeMethods };

const MAX_INT = 2n ** 63n - 1n;

/** @throws NoResult for numbers beyond 64 bits. */
function int64(value: bigint): bigint {
  if (value > MAX_INT || value < -MAX_INT - 1n) throw new NoResult('the number is too large');
  return value;
}

function intOperator(compute: (a: bigint, b: bigint) => bigint): Overload {
  return overload(['int', 'int'], INT, ([a, b]) => int64(compute(a, b)));
}

function division(compute: (a: bigint, b: bigint) => bigint): Overload {
  return intOperator((a, b) => {
    if (b === 0n) throw new NoResult('division by zero');
    return compute(a, b);
  });
}

function doubleOperator(compute: (a: number, b: number) => number): Overload {
  return overload(['double', 'double'], DOUBLE, ([a, b]) => compute(a, b));
}

function timeShift(sign: 1 | -1): Overload {
  return overload(['timestamp', 'duration'], TIMESTAMP, ([time, by]) => new Timestamp(time.ms + sign * by.ms));
}

function durationOperator(compute: (a: number, b: number) => number): Overload {
  return overload(['duration', 'duration'], DURATION, ([a, b]) => new Duration(compute(a.ms, b.ms)));
}

const NUMBERS = [
  ['int', 'int'],
  ['int', 'double'],
  ['double', 'int'],
  ['double', 'double'],
] as const;

/** Creates the overloads of a comparison. JavaScript compares a bigint and a number by value. */
function ordering(holds: (a: bigint | number, b: bigint | number) => boolean): readonly Overload[] {
  return [
    ...NUMBERS.map((takes) => overload(takes, BOOL, ([a, b]) => holds(a, b))),
    overload(['bool', 'bool'], BOOL, ([a, b]) => holds(Number(a), Number(b))),
    overload(['string', 'string'], BOOL, ([a, b], meter) => {
      meter.takeString(Math.min(a.length, b.length));
      return holds(byCodePoints(a, b), 0);
    }),
    overload(['timestamp', 'timestamp'], BOOL, ([a, b]) => holds(a.ms, b.ms)),
    overload(['duration', 'duration'], BOOL, ([a, b]) => holds(a.ms, b.ms)),
  ];
}

/** Returns a negative number if `a` sorts before `b` by code points. JavaScript operators compare UTF-16 code units instead. */
function byCodePoints(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const [x = -1, y = -1] = [a.codePointAt(at), b.codePointAt(at)];
  return x - y;
}

function itemsOf(type: Type | undefined): Type {
  return type?.is === 'list' ? type.of : ANY;
}

function bothLists([a, b]: readonly Type[]): Type {
  return listOf(unionOf(itemsOf(a), itemsOf(b)));
}

function equality(expected: boolean): Overload {
  return overload(['any', 'any'], BOOL, ([a, b], meter) => equal(a, b, meter) === expected);
}

/** The operators, by the names that the parser gives them. */
export const operators: Overloads = {
  '_+_': [
    intOperator((a, b) => a + b),
    doubleOperator((a, b) => a + b),
    overload(['string', 'string'], STRING, ([a, b], meter) => {
      meter.takeString(a.length + b.length);
      return a + b;
    }),
    overload(['list', 'list'], bothLists, ([a, b], meter) => {
      meter.take((a.length + b.length) / 8);
      return [...a, ...b];
    }),
    timeShift(1),
    durationOperator((a, b) => a + b),
  ],
  '_-_': [
    intOperator((a, b) => a - b),
    doubleOperator((a, b) => a - b),
    timeShift(-1),
    durationOperator((a, b) => a - b),
    overload(['timestamp', 'timestamp'], DURATION, ([a, b]) => new Duration(a.ms - b.ms)),
  ],
  '_*_': [intOperator((a, b) => a * b), doubleOperator((a, b) => a * b)],
  '_/_': [division((a, b) => a / b), doubleOperator((a, b) => a / b)],
  '_%_': [division((a, b) => a % b)],
  '-_': [overload(['int'], INT, ([a]) => int64(-a)), overload(['double'], DOUBLE, ([a]) => -a)],
  '!_': [overload(['bool'], BOOL, ([a]) => !a)],
  '_==_': [equality(true)],
  '_!=_': [equality(false)],
  '_<_': ordering((a, b) => a < b),
  '_<=_': ordering((a, b) => a <= b),
  '_>_': ordering((a, b) => a > b),
  '_>=_': ordering((a, b) => a >= b),
  '@in': [
    overload(['any', 'list'], BOOL, ([value, list], meter) => list.some((item) => equal(value, item, meter))),
    overload(['string', 'map'], BOOL, ([key, map]) => Object.hasOwn(map, key)),
  ],
};

/** Returns the operator as users write it. */
export function shownOperator(name: string): string {
  return name === '@in' ? 'in' : name.replaceAll('_', '');
}
