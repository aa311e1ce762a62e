import { mapParts } from '../values/json.ts';
import { isPlain, isSpecial, isTainted, Join, Reference, type Value } from '../values/value.ts';
import { type CelValue, SECRET, UNSET } from './cel/values.ts';

/** A value as a rule sees it: references are addresses, and of a text with a secret in it nothing is left. */
export function shown(value: Value): CelValue {
  if (isPlain(value)) return value as CelValue;
  if (!isSpecial(value)) return mapParts<Value, CelValue>(value, shown);
  if (isTainted(value)) return SECRET;
  if (value instanceof Reference) return value.address;
  if (!(value instanceof Join)) return UNSET;
  const parts = value.parts.map(shown);
  return parts.includes(UNSET) ? UNSET : parts.map(String).join(value.separator);
}
