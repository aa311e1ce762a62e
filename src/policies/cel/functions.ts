import { int64 } from './operators.ts';
import { NoResult, type Overloads, overload } from './overload.ts';
import { lengthOf, textMethods } from './text-functions.ts';
import { dateOf, durationOf, timeMethods, timestampOf } from './time-functions.ts';
import { ANY, DOUBLE, DURATION, INT, STRING, TIMESTAMP } from './types.ts';
import { type CelMap, type CelValue, type Duration, keysOf, type Timestamp } from './values.ts';

const size: Overloads[string] = [
  overload<readonly [string]>(['string'], INT, ([text], meter) => lengthOf(text, meter)),
  overload<readonly [readonly CelValue[]]>(['list'], INT, ([list]) => BigInt(list.length)),
  overload<readonly [CelMap]>(['map'], INT, ([map], meter) => BigInt(keysOf(map, meter).length)),
];

/** Called as `name(…)`. */
export const functions: Overloads = {
  size,
  int: [
    overload<readonly [bigint]>(['int'], INT, ([a]) => a),
    overload<readonly [number]>(['double'], INT, ([a]) => {
      if (!Number.isFinite(a)) throw new NoResult('the number is too large');
      return int64(BigInt(Math.trunc(a)));
    }),
    overload<readonly [string]>(['string'], INT, ([text]) => {
      if (!/^-?\d{1,19}$/.test(text)) throw new NoResult('the text is not a whole number');
      return int64(BigInt(text));
    }),
  ],
  double: [
    overload<readonly [number]>(['double'], DOUBLE, ([a]) => a),
    overload<readonly [bigint]>(['int'], DOUBLE, ([a]) => Number(a)),
    overload<readonly [string]>(['string'], DOUBLE, ([text]) => {
      if (!/^-?\d{1,300}(\.\d{1,300})?$/.test(text)) throw new NoResult('the text is not a number');
      return Number(text);
    }),
  ],
  string: [
    overload<readonly [string]>(['string'], STRING, ([a]) => a),
    ...(['int', 'double', 'bool'] as const).map((sort) =>
      overload<readonly [bigint | number | boolean]>([sort], STRING, ([a]) => String(a)),
    ),
    overload<readonly [Timestamp]>(['timestamp'], STRING, ([time]) => dateOf(time).toISOString()),
    overload<readonly [Duration]>(['duration'], STRING, ([{ ms }]) => `${ms / 1000}s`),
  ],
  timestamp: [overload<readonly [string]>(['string'], TIMESTAMP, ([text]) => timestampOf(text))],
  duration: [overload<readonly [string]>(['string'], DURATION, ([text]) => durationOf(text))],
  dyn: [overload<readonly [CelValue]>(['any'], ANY, ([a]) => a)],
};

/** Called as `value.name(…)`. */
export const methods: Overloads = { size, ...textMethods, ...timeMethods };
