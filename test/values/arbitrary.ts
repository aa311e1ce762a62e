import fc from 'fast-check';
import type { Json } from '../../src/values/json.ts';
import { Join, Reference, Secret, Unset, type Value } from '../../src/values/value.ts';

/** Field names, including those with a special meaning in JavaScript or in our value forms. */
export const key: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-z_]{1,4}$/) },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', 'toString', '1', '$ref', '$literal', '$x') },
);

const leaf: fc.Arbitrary<null | boolean | number | string> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  fc.string(),
);

export const json: fc.Arbitrary<Json> = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    leaf,
    fc.array(tie('json'), { maxLength: 3 }),
    objectOf(tie('json')),
  ),
})).json;

export const secret: fc.Arbitrary<Secret> = fc.stringMatching(/^[A-Z]{1,3}$/).map(secretNamed);

/** Returns the same secret for the same name. */
export function secretNamed(name: string): Secret {
  return new Secret(name, `text of ${name}`);
}

const special: fc.Arbitrary<Secret | Reference | Unset> = fc.oneof(
  secret,
  fc
    .record({ kind: fc.constantFrom('Agent', 'KnowledgeBase'), target: fc.string() })
    .map(({ kind, target }) => new Reference(kind, target)),
  fc.stringMatching(/^[A-Z]{1,3}$/).map((name) => new Unset(name)),
);

const join: fc.Arbitrary<Join> = fc
  .record({ part: special, others: fc.array(fc.oneof(fc.string(), special), { maxLength: 2 }), separator: fc.string() })
  .map(({ part, others, separator }) => new Join([...others, part], separator));

/** Values of manifests. A key with a leading dollar sign is plain, because it came from a literal. */
export const value: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    json,
    special,
    join,
    fc.array(tie('value'), { maxLength: 3 }),
    objectOf(tie('value'), fc.stringMatching(/^[a-z_]{1,4}$/)),
  ),
})).value;

export function objectOf<T>(of: fc.Arbitrary<T>, keys = key): fc.Arbitrary<Record<string, T>> {
  return fc.array(fc.tuple(keys, of), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));
}
