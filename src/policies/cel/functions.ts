import { int64 } from './operators.ts';
import { NoResult, type Overloads, overload } from './overload.ts';
import { lengthOf, textMethods } from './text-functions.ts';
import { dateOf, durationOf, timeMethods, timestampOf } from './time-functions.ts';
import { ANY, DOUBLE, DURATION, INT, STRING, TIMESTAMP } from './types.ts';
import { keysOf } from './values.ts';

const size: Overloads[string] = [
  overload(['string'], INT, ([text], meter) => lengthOf(text, meter)),
  overload(['list'], INT, ([list]) => BigInt(list.length)),
  overload(['map'], INT, ([map], meter) => BigInt(keysOf(map, meter).length)),
];

/** Called as `name(…)`. */
export const functions: Overloads = {
  size,
  int: [
    overload(['int'], INT, ([a]) => a),
    overload(['double'], INT, ([a]) => {
      if (!Number.isFinite(a)) throw new NoResult('the number is too large');
      return int64(BigInt(Math.trunc(a)));
    }),
    overload(['string'], INT, ([text]) => {
      if (!/^-?\d{1,19}$/.test(text)) throw new NoResult('the text is not a whole number');
      return int64(BigInt(text));
    }),
  ],
  double: [
    overload(['double'], DOUBLE, ([a]) => a),
    overload(['int'], DOUBLE, ([a]) => Number(a)),
    overload(['string'], DOUBLE, ([text]) => {
      if (!/^-?\d{1,300}(\.\d{1,300})?$/.test(text)) throw new NoResult('the text is not a number');
      return Number(text);
    }),
  ],
  string: [
    overload(['string'], STRING, ([a]) => a),
    ...(['int', 'double', 'bool'] as const).map((sort) => overload([sort], STRING, ([a]) => String(a))),
    overload(['timestamp'], STRING, ([time]) => dateOf(time).toISOString()),
    overload(['duration'], STRING, ([{ ms }]) => `${ms / 1000}s`),
  ],
  timestamp: [overload(['string'], TIMESTAMP, ([text]) => timestampOf(text))],
  duration: [overload(['string'], DURATION, ([text]) => durationOf(text))],
  dyn: [overload(['any'], ANY, ([a]) => a)],
};

/** Called as `value.name(…)`. */
export const methods: Overloads = { size, ...textMethods, ...timeMethods };
