import { isObject, tryParseJson } from '../values/json.ts';
import { looksLikeMarkup, oneLine, textOfMarkup } from './plain-text.ts';

/** The content of an error response. The API does not document a format, so all common formats are accepted. */
interface ErrorBody {
  readonly code?: string;
  /** The problems on one line of at most 300 characters, each prefixed with its field name. */
  readonly detail?: string;
  /** The path of the first rejected field, separated by dots. */
  readonly field?: string;
}

const MAX_DETAIL_LENGTH = 300;
const MAX_NAME_LENGTH = 100;
/** The maximum number of problems. More would not fit on a line. */
const MAX_PROBLEMS = 10;

interface ReportedProblem {
  readonly field: string | undefined;
  readonly text: string | undefined;
  readonly code: string | undefined;
}

/** Parses the body of an error response: JSON in a common format, HTML, text, or nothing. Never throws. */
export function readErrorBody(body: Buffer, redact: (text: string) => string): ErrorBody {
  const text = body
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trim();
  if (text === '') return {};
  const problems = problemsOf(text, redact).slice(0, MAX_PROBLEMS);
  const line = (part: string, length: number) => oneLine(part, length, redact);
  const detail = line(problems.map(formatProblem).filter(Boolean).join('; '), MAX_DETAIL_LENGTH);
  const field = line(problems.find((problem) => problem.field)?.field ?? '', MAX_NAME_LENGTH);
  const code = line(problems.find((problem) => problem.code)?.code ?? '', MAX_NAME_LENGTH);
  return {
    ...(code === '' ? {} : { code }),
    ...(detail === '' ? {} : { detail }),
    ...(field === '' ? {} : { field }),
  };
}

function formatProblem({ field, text }: ReportedProblem): string {
  if (field === undefined) return text ?? '';
  return text === undefined ? field : `${field}: ${text}`;
}

function problemsOf(text: string, redact: (text: string) => string): readonly ReportedProblem[] {
  // Redact first: a secret may contain text that looks like a tag.
  if (looksLikeMarkup(text)) return [textProblem(textOfMarkup(redact(text)))];
  const value = tryParseJson(text);
  if (value === undefined) return [textProblem(text)];
  const found = fromJson(value, 0);
  return found.length > 0 ? found : [textProblem(isEmpty(value) ? '' : text)];
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function textProblem(text: string): ReportedProblem {
  return { field: undefined, text, code: undefined };
}

/** The keys of lists of problems, and of objects that contain the problems. */
const LISTS = ['errors', 'issues', 'violations', 'invalid-params', 'invalid_params', 'details', 'detail', 'message'];
const WRAPPERS = ['error', 'errors', 'fault', 'data', 'response', 'detail', 'message'];

function fromJson(value: unknown, depth: number): readonly ReportedProblem[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [textProblem(value)];
  if (depth > 3) return [];
  if (Array.isArray(value)) return value.slice(0, MAX_PROBLEMS).flatMap((item) => fromJson(item, depth + 1));
  if (!isObject(value)) return [];
  const own = ownProblem(value);
  const inner = innerProblems(value, depth);
  if (inner.length > 0) {
    // The outer text is a heading ("The given data was invalid") that is redundant if there are details.
    const [first, ...others] = inner;
    return first === undefined
      ? inner
      : [{ ...first, code: first.code ?? own.code, field: first.field ?? own.field }, ...others];
  }
  if (own.text !== undefined || own.code !== undefined) return [own];
  return fromFields(value);
}

function innerProblems(value: Readonly<Record<string, unknown>>, depth: number): readonly ReportedProblem[] {
  for (const key of LISTS) {
    if (Array.isArray(value[key])) {
      const found = fromJson(value[key], depth + 1);
      if (found.length > 0) return found;
    }
  }
  for (const key of WRAPPERS) {
    const inner = value[key];
    if (!isObject(inner)) continue;
    const found = key === 'errors' ? fromFields(inner) : fromJson(inner, depth + 1);
    if (found.length > 0) return found;
  }
  return [];
}

function ownProblem(value: Readonly<Record<string, unknown>>): ReportedProblem {
  const text = firstText(value, [
    'message',
    'error_description',
    'detail',
    'msg',
    'description',
    'reason',
    'title',
    'error',
  ]);
  const token =
    firstText(value, ['code', 'error_code', 'errorCode', 'error', 'type']) ??
    (isObject(value.extensions) ? firstText(value.extensions, ['code']) : undefined);
  const code =
    token !== undefined && token !== text && /^[\w.:-]+$/.test(token) && !/^https?:/.test(token) ? token : undefined;
  return { field: fieldOf(value), text, code };
}

function firstText(value: Readonly<Record<string, unknown>>, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const found = value[key];
    if (typeof found === 'string' && found.trim() !== '') return found;
    if (typeof found === 'number') return String(found);
  }
  return undefined;
}

/** Reads problems by field, such as `{ "name": ["is too long"], "retries": "is too large" }`. */
function fromFields(value: Readonly<Record<string, unknown>>): readonly ReportedProblem[] {
  const problems: ReportedProblem[] = [];
  for (const [key, problem] of Object.entries(value)) {
    const texts = Array.isArray(problem) ? problem : [problem];
    for (const item of texts) {
      const text = typeof item === 'string' ? item : isObject(item) ? ownProblem(item).text : undefined;
      if (text === undefined) return [];
      problems.push({ field: key, text, code: isObject(item) ? ownProblem(item).code : undefined });
    }
  }
  return problems;
}

function fieldOf(value: Readonly<Record<string, unknown>>): string | undefined {
  const source = isObject(value.source) ? (value.source.pointer ?? value.source.parameter) : undefined;
  for (const candidate of [
    value.field,
    value.path,
    value.loc,
    value.param,
    value.property,
    value.pointer,
    value.name,
    source,
  ]) {
    const steps = Array.isArray(candidate) ? candidate : typeof candidate === 'string' ? candidate.split(/[/.]/) : [];
    const parts = steps.filter(
      (step) => (typeof step === 'string' && step !== '' && step !== '#') || typeof step === 'number',
    );
    // FastAPI prefixes the path with the part of the request (body, query). JSON:API prefixes it with its envelope.
    while (parts.length > 1 && ['body', 'query', 'data', 'attributes'].includes(String(parts[0]))) parts.shift();
    if (parts.length > 0) return parts.join('.');
  }
  return undefined;
}
