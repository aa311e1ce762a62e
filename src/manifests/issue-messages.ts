import { z } from 'zod';
import { didYouMeanOneOf, NO_HINT, suggestion } from '../problems/suggest.ts';
import { isObject } from '../values/json.ts';
import { type DocumentPath, follow, formatPath, type Problem, quoted } from './finding.ts';
import { hasField, schemaAt, suggestField } from './schema-fields.ts';
import { EXAMPLES } from './value-forms.ts';

interface CheckedValue {
  readonly schema: z.ZodType;
  readonly value: unknown;
  /** The name of the root in messages, such as `spec`. */
  readonly name: string;
}

/** The maximum number of suggestions for one object, because they are slow to compute. */
const MAX_SUGGESTIONS = 100;

/** Converts zod's issues to problems that name the expected value. A misspelled field is not also reported as missing. */
export function problemsIn(error: z.ZodError | undefined, checked: CheckedValue): Problem[] {
  const problems = (error?.issues ?? []).flatMap((issue) => problemsOf(issue, checked));
  const suggested = new Set(
    problems.flatMap(({ code, path, fix }) =>
      code === 'unknown-field' && fix !== undefined && 'instead' in fix
        ? fix.instead.map((key) => JSON.stringify([...path.slice(0, -1), key]))
        : [],
    ),
  );
  return problems.filter(({ code, path }) => code !== 'missing-field' || !suggested.has(JSON.stringify(path)));
}

function problemsOf(issue: z.core.$ZodIssue, checked: CheckedValue): Problem[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  if (issue.code === 'unrecognized_keys') {
    const { value } = follow(checked.value, path);
    return issue.keys.map((key, index) => {
      const near = index < MAX_SUGGESTIONS ? suggestField(checked.schema, path, key, value) : NO_HINT;
      const message = `unknown field ${quoted(key)}${near.text}`;
      return { code: 'unknown-field', message, path: [...path, key], at: 'key', fix: near.fix };
    });
  }
  const found = follow(checked.value, path);
  const schema = schemaAt(checked.schema, path);
  if (found.depth < path.length) {
    const message = `${fieldName(path, checked.name)} is missing; it must be ${expectation(schema)}`;
    return [{ code: 'missing-field', message, path, at: 'value' }];
  }
  const inOption = issue.code === 'invalid_union' ? issuesOfOption(issue, schema, found.value) : [];
  if (inOption.length > 0)
    return inOption.flatMap((each) => problemsOf({ ...each, path: [...issue.path, ...each.path] }, checked));
  return [
    {
      ...explain(issue, { name: fieldName(path, checked.name), value: found.value, schema }),
      path,
      at: issue.code === 'invalid_key' ? 'key' : 'value',
    },
  ];
}

/** Returns the issues of the option that an object probably means: the first that has one of its fields. */
function issuesOfOption({ errors }: z.core.$ZodIssueInvalidUnion, schema: unknown, value: unknown): z.core.$ZodIssue[] {
  if (!(schema instanceof z.ZodUnion) || !isObject(value)) return [];
  const index = schema.options.findIndex((option) => Object.keys(value).some((key) => hasField(option, key)));
  return errors[index] ?? [];
}

interface FieldValue {
  readonly name: string;
  readonly value: unknown;
  readonly schema: unknown;
}

function explain(issue: z.core.$ZodIssue, field: FieldValue): Pick<Problem, 'code' | 'message' | 'fix'> {
  const { name, value, schema } = field;
  switch (issue.code) {
    case 'invalid_type':
      return { code: 'wrong-type', ...wrongType(field) };
    case 'invalid_value': {
      const isQuoted = issue.values.some((each) => typeof each !== 'string' && String(each) === value);
      const near = typeof value === 'string' && !isQuoted ? suggestion(value, issue.values.map(String)) : NO_HINT;
      return {
        code: 'not-allowed',
        message: `${name} must be ${expectation(schema)}, got ${describeValue(value)}${isQuoted ? '; remove the quotes' : near.text}`,
        fix: isQuoted ? { quotes: 'remove' } : near.fix,
      };
    }
    case 'too_small':
    case 'too_big': {
      if (Array.isArray(value)) {
        const [bound, limit] = issue.code === 'too_small' ? ['least', issue.minimum] : ['most', issue.maximum];
        const items = `${limit} ${limit === 1 ? 'item' : 'items'}`;
        return { code: 'out-of-range', message: `${name} must be a list of at ${bound} ${items}, got ${value.length}` };
      }
      const expected = expectation(schema);
      if (value === '' && expected === 'a string')
        return { code: 'out-of-range', message: `${name} must not be empty` };
      const size =
        typeof value === 'string' && value !== '' ? `got ${[...value].length}` : `got ${describeValue(value)}`;
      return { code: 'out-of-range', message: `${name} must be ${expected}, ${size}` };
    }
    case 'custom':
      return { code: 'bad-format', message: `${name}: ${issue.message}` };
    case 'invalid_format':
      return { code: 'bad-format', message: `${name}: ${issue.message}, got ${describeValue(value)}` };
    case 'invalid_key': {
      const reason = issue.issues[0]?.message ?? 'not a valid name';
      return { code: 'bad-key', message: `${name}: ${reason}` };
    }
    case 'invalid_union': {
      if (issue.message === 'Invalid input') return { code: 'wrong-type', ...wrongType(field) };
      const options = 'options' in issue ? (issue.options ?? []) : [];
      const { text, fix } = typeof value === 'string' ? suggestion(value, options.map(String)) : NO_HINT;
      return { code: 'wrong-type', message: `${name}: ${issue.message}${text}`, fix };
    }
    default:
      return { code: 'invalid', message: `${name}: ${issue.message}` };
  }
}

function wrongType({ name, value, schema }: FieldValue): Pick<Problem, 'message' | 'fix'> {
  const expected = `${name} must be ${expectation(schema)}`;
  if (value === null) {
    const expectsObject = schema instanceof z.ZodObject || schema instanceof z.ZodRecord;
    return { message: `${expected}, but is empty${expectsObject ? '' : '; set a value or remove the field'}` };
  }
  const expectsText = schema instanceof z.ZodString || schema instanceof z.ZodStringFormat;
  const asText = expectsText && typeof value === 'number' ? schema.safeParse(`${value}`).error : undefined;
  const [malformed] = asText?.issues ?? [];
  if (malformed?.code === 'invalid_format') {
    return { message: `${name}: ${malformed.message}, got ${describeValue(value)}` };
  }
  if (expectsText && typeof value === 'number') {
    const message = `${expected}, but YAML reads it as the number ${value}; put it in quotes`;
    return { message, fix: { quotes: 'add' } };
  }
  if (expectsText && typeof value === 'boolean') {
    const message = `${expected}, got ${value}; put it in quotes if you mean a string`;
    return { message, fix: { quotes: 'add' } };
  }
  const [key = '', ...others] = isObject(value) ? Object.keys(value) : [];
  if (others.length === 0 && Object.hasOwn(EXAMPLES, `$${key}`)) {
    const form = `{ $${key}: ${EXAMPLES[`$${key}`]} }`;
    return { message: `${expected}, got an object with the key ${quoted(key)}${didYouMeanOneOf([form])}` };
  }
  const options = schema instanceof z.ZodUnion ? schema.options : [schema];
  const expectsPlain = options.some((each) => each instanceof z.ZodNumber || each instanceof z.ZodBoolean);
  const unquote = expectsPlain && typeof value === 'string' && /^(-?\d+(\.\d+)?|true|false)$/.test(value);
  const message = `${expected}, got ${describeValue(value)}${unquote ? '; remove the quotes' : ''}`;
  return { message, ...(unquote && { fix: { quotes: 'remove' } }) };
}

export function expectation(schema: unknown): string {
  if (schema instanceof z.ZodNumber) {
    return (schema.isInt ? 'a whole number' : 'a number') + bounds(schema.minValue, schema.maxValue);
  }
  if (schema instanceof z.ZodStringFormat && schema.format === 'url') return 'a URL';
  if (schema instanceof z.ZodString) return `a string${lengths(schema.minLength, schema.maxLength)}`;
  if (schema instanceof z.ZodStringFormat) return 'a string';
  if (schema instanceof z.ZodBoolean) return 'true or false';
  if (schema instanceof z.ZodArray) return 'a list';
  if (schema instanceof z.ZodObject || schema instanceof z.ZodRecord) return 'an object';
  if (schema instanceof z.ZodEnum) return `one of ${schema.options.map((option) => JSON.stringify(option)).join(', ')}`;
  if (schema instanceof z.ZodLiteral) return [...schema.values].map((value) => JSON.stringify(value)).join(' or ');
  if (schema instanceof z.ZodCustom) return '{ $secret: NAME } or { $env: NAME }';
  if (schema instanceof z.ZodUnion) return [...new Set(schema.options.map(expectation))].join(' or ');
  return 'a value';
}

/** Returns a phrase such as ` between 0 and 10`. Omits the bounds that zod sets by default. */
function bounds(min: number | null, max: number | null): string {
  const low = min !== null && min > Number.MIN_SAFE_INTEGER ? min : undefined;
  const high = max !== null && max < Number.MAX_SAFE_INTEGER ? max : undefined;
  if (low !== undefined && high !== undefined) return ` between ${low} and ${high}`;
  if (low !== undefined) return ` of at least ${low}`;
  return high === undefined ? '' : ` of at most ${high}`;
}

function lengths(min: number | null, max: number | null): string {
  if (min !== null && max !== null) return ` of ${min} to ${max} characters`;
  if (max !== null) return ` of at most ${max} characters`;
  return min === null || min === 1 ? '' : ` of at least ${min} characters`;
}

/** Returns the last key of a path with its indices, such as `modules[0]`, or `rootName` for the root. */
export function fieldName(path: DocumentPath, rootName: string): string {
  const key = path.findLastIndex((part) => typeof part === 'string');
  return formatPath(path.slice(Math.max(key, 0))) || rootName;
}

function describeValue(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return 'a list';
  if (isObject(value)) return 'an object';
  return String(value);
}
