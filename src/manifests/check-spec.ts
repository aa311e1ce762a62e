import { mapParts } from '../values/json.ts';
import { valueAt } from '../values/path.ts';
import {
  isSymbolic,
  isTainted,
  Join,
  mapSymbolicLeaves,
  Reference,
  Secret,
  type SymbolicValue,
  Unset,
  type Value,
} from '../values/value.ts';
import type { DocumentPath, Problem } from './finding.ts';
import { expectation, fieldName, problemsIn } from './issue-messages.ts';
import { type FieldRule, idsAndSecrets, type KindSchema } from './kind-schema.ts';
import { holdsValues, schemaAt, takesText } from './schema-fields.ts';

export interface PlacedReference {
  readonly reference: Reference;
  /** The path from the root of the spec. */
  readonly path: DocumentPath;
}

interface CheckedSpec {
  readonly problems: readonly Problem[];
  /** The references in fields that accept references. */
  readonly references: readonly PlacedReference[];
}

/** Checks a spec against its kind: fields, types, limits, targets of references, and secrets. */
export function checkSpec(kind: KindSchema, spec: Value, hasSymbolicLeaf: boolean): CheckedSpec {
  const placed: PlacedLeaf[] = [];
  const plain = hasSymbolicLeaf ? withStandIns(spec, [], placed) : spec;
  const standIns = new Set(placed.map(({ path }) => JSON.stringify(path)));
  const problems = new Map<string, Problem>();
  const report = (problem: Problem) => {
    const key = JSON.stringify(problem.path);
    if (!problems.has(key)) problems.set(key, problem);
  };

  for (const problem of writeOnlyProblems(kind, spec)) report(problem);
  const references: PlacedReference[] = [];
  for (const leaf of placed) {
    const problem = leafProblem(kind, leaf);
    if (problem !== undefined) report(problem);
    else for (const reference of referencesOf(leaf)) references.push(reference);
  }
  const checked = { schema: kind.spec, value: plain, name: 'spec' };
  for (const problem of problemsIn(kind.spec.safeParse(plain).error, checked)) {
    // A stand-in may violate the schema of its field. An unknown field is wrong with any value.
    if (problem.code === 'unknown-field' || !standIns.has(JSON.stringify(problem.path))) report(problem);
  }
  return { problems: [...problems.values()], references };
}

interface PlacedLeaf {
  readonly leaf: SymbolicValue;
  readonly path: DocumentPath;
}

/** Replaces each symbolic leaf of a value with a string. Adds the leaves to `found`. */
function withStandIns(value: Value, path: DocumentPath, found: PlacedLeaf[]): unknown {
  if (isSymbolic(value)) {
    found.push({ leaf: value, path });
    return 'x';
  }
  return mapParts<Value, unknown>(value, (part, key) => withStandIns(part, [...path, key], found));
}

function referencesOf({ leaf, path }: PlacedLeaf): PlacedReference[] {
  if (leaf instanceof Reference) return [{ reference: leaf, path: [...path, '$ref'] }];
  if (!(leaf instanceof Join)) return [];
  return leaf.parts.flatMap((part, index) =>
    isSymbolic(part) ? referencesOf({ leaf: part, path: [...path, '$join', index] }) : [],
  );
}

function leafProblem(kind: KindSchema, { leaf, path }: PlacedLeaf): Problem | undefined {
  if (leaf instanceof Unset && leaf.name === '') return undefined;
  const schema = schemaAt(kind.spec, path);
  if (schema === undefined) return undefined;
  const isOpaque = ruleOver(kind, path, (rule) => rule.opaque === true) !== undefined;
  const name = fieldName(path, 'spec');
  const problem = (code: string, message: string): Problem => ({ code, message, path, at: 'value' });
  const wrongType = () =>
    problem('wrong-type', `${name} must be ${expectation(schema)}, but ${formName(leaf)} produces a string`);
  if (isOpaque) return holdsValues(schema) ? wrongType() : undefined;
  if (!takesText(schema)) return wrongType();
  if (leaf instanceof Reference) {
    const wanted = ruleOver(kind, path, (rule) => rule.refersTo !== undefined)?.refersTo;
    if (wanted === leaf.kind) return undefined;
    const message =
      wanted === undefined
        ? `${name} does not accept a reference; $ref belongs in an id field`
        : `${name} refers to ${wanted} resources, not to ${leaf.address}`;
    return { code: 'bad-reference', message, path: [...path, '$ref'], at: 'value' };
  }
  const text = knownText(leaf);
  if (text === undefined || schema.safeParse(text).success) return undefined;
  const source = leaf instanceof Secret ? `the value of the secret ${leaf.name}` : 'the joined string';
  return problem('bad-format', `${name} must be ${expectation(schema)}, but ${source} is not`);
}

/** Returns the complete string, including secrets, if all its parts are known. The string must not appear in a message. */
function knownText(leaf: SymbolicValue): string | undefined {
  const text = mapSymbolicLeaves(leaf, (part) => (part instanceof Secret && part.isSet ? part.reveal() : part));
  return typeof text === 'string' ? text : undefined;
}

function formName(leaf: SymbolicValue): string {
  if (leaf instanceof Secret) return '$secret';
  if (leaf instanceof Reference) return '$ref';
  return leaf instanceof Join ? '$join' : '$env';
}

/** Returns the first rule for which `applies` is true. Starts with the outermost enclosing object and ends with the field itself. */
function ruleOver(
  { fields }: KindSchema,
  path: DocumentPath,
  applies: (rule: FieldRule) => boolean,
): FieldRule | undefined {
  let field = '';
  for (const part of path) {
    if (typeof part === 'number') continue;
    field = field === '' ? part : `${field}.${part}`;
    const rule = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (rule !== undefined && applies(rule)) return rule;
  }
  return undefined;
}

/** Reports plain text in write-only fields. Their values are secrets, which must not be in the project or in a message. */
function* writeOnlyProblems(kind: KindSchema, spec: Value): Generator<Problem> {
  for (const { field, rule } of idsAndSecrets(kind)) {
    if (rule.writeOnly !== true) continue;
    const value = valueAt(spec, field) as Value | undefined;
    if (value === undefined || isTainted(value) || (value instanceof Unset && value.name === '')) continue;
    const path = field.split('.');
    const message = `${path.at(-1)} is a secret: write { $secret: NAME } instead of plain text or $env`;
    yield { code: 'plain-secret', message, path, at: 'value' };
  }
}
