import type { z } from 'zod';

/** True where the schema takes the value as it is. It makes no copy and no issues. */
export type Acceptance = (value: unknown) => boolean;

const known = new WeakMap<z.core.$ZodType, Acceptance>();

/**
 * Whether a schema takes a value: what is almost always the answer for manifests, in a fifth of the time of parsing. The schema itself
 * stays the only truth, and must be asked what is wrong. Only for schemas that change no value.
 */
export function acceptanceOf(schema: z.core.$ZodType): Acceptance {
  const made = known.get(schema) ?? compile(schema as z.core.$ZodTypes);
  known.set(schema, made);
  return made;
}

function compile(schema: z.core.$ZodTypes): Acceptance {
  const { def } = schema._zod;
  const asked: Acceptance = (value) => {
    const result = schema._zod.run({ value, issues: [] }, {});
    return !(result instanceof Promise) && result.issues.length === 0;
  };
  if ((def.checks?.length ?? 0) > 0) return asked;
  switch (def.type) {
    case 'string':
      return isPlain(def) ? (value) => typeof value === 'string' : asked;
    case 'number':
      return isPlain(def) ? Number.isFinite : asked;
    case 'boolean':
      return isPlain(def) ? (value) => typeof value === 'boolean' : asked;
    case 'unknown':
      return () => true;
    case 'enum': {
      const values = new Set<unknown>(Object.values(def.entries));
      return Object.values(def.entries).every((entry) => typeof entry === 'string')
        ? (value) => values.has(value)
        : asked;
    }
    case 'literal': {
      const values = new Set<unknown>(def.values);
      return (value) => values.has(value);
    }
    case 'optional': {
      const inner = acceptanceOf(def.innerType);
      return (value) => value === undefined || inner(value);
    }
    case 'nullable': {
      const inner = acceptanceOf(def.innerType);
      return (value) => value === null || inner(value);
    }
    case 'array': {
      const element = acceptanceOf(def.element);
      return (value) => Array.isArray(value) && value.every((item) => element(item));
    }
    case 'record':
      return recordAcceptance(def);
    case 'object':
      return objectAcceptance(def) ?? asked;
    default:
      return asked;
  }
}

/** No format, and nothing that turns one type into another. */
function isPlain(def: object): boolean {
  return !('format' in def) && !('check' in def) && !('coerce' in def && def.coerce === true);
}

function recordAcceptance({ keyType, valueType }: z.core.$ZodRecordDef): Acceptance {
  const [ofKey, ofValue] = [acceptanceOf(keyType), acceptanceOf(valueType)];
  return (value) => {
    if (!isObject(value)) return false;
    for (const key of Object.keys(value)) {
      if (key === '__proto__' || !ofKey(key) || !ofValue(value[key])) return false;
    }
    return true;
  };
}

function objectAcceptance({ shape, catchall }: z.core.$ZodObjectDef): Acceptance | undefined {
  const more = (catchall as z.core.$ZodTypes | undefined)?._zod.def.type;
  if (more !== 'never' && more !== 'unknown') return undefined;
  const fields = new Map(Object.entries(shape).map(([key, field]) => [key, acceptanceOf(field)]));
  const required = Object.keys(shape).filter((key) => shape[key]?._zod.optin !== 'optional');
  return (value) => {
    if (!isObject(value)) return false;
    for (const key of Object.keys(value)) {
      const field = fields.get(key);
      if (field === undefined ? more === 'never' || key === '__proto__' : !field(value[key])) return false;
    }
    return required.every((key) => Object.hasOwn(value, key));
  };
}

/** Plain ones: anything else may have keys that it inherits. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
