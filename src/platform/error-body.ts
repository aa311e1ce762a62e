import { isObject, tryParseJson } from '../values/json.ts';
import { looksLikeMarkup, oneLine, textOfMarkup } from './plain-text.ts';

/** The content of an error response. The API does not document the format of error responses, so all common formats are accepted. */
interface ErrorBody {
  readonly code?: string;
  /** The problems on one line of at most 300 characters, each after the name of its field. */
  readonly detail?: string;
  /** The path of the first rejected field, separated by dots. */
  readonly field?: string;
}

const MAX_DETAIL_LENGTH = 300;
const MAX_NAME_LENGTH = 100;
/** The maximum number of problems. More would not fit on a line. */
const MAX_COMPLAINTS = 10;

interface Complaint {
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
  const complaints = complaintsOf(text, redact).slice(0, MAX_COMPLAINTS);
  const line = (part: string, length: number) => oneLine(part, length, redact);
  const detail = line(complaints.map(sentence).filter(Boolean).join('; '), MAX_DETAIL_LENGTH);
  const field = line(complaints.find((complaint) => complaint.field)?.field ?? '', MAX_NAME_LENGTH);
  const code = line(complaints.find((complaint) => complaint.code)?.code ?? '', MAX_NAME_LENGTH);
  return {
    ...(code === '' ? {} : { code }),
    ...(detail === '' ? {} : { detail }),
    ...(field === '' ? {} : { field }),
  };
}

function sentence({ field, text }: Complaint): string {
  if (field === undefined) return text ?? '';
  return text === undefined ? field : `${field}: ${text}`;
}

function complaintsOf(text: string, redact: (text: string) => string): readonly Complaint[] {
  // Redact first: a secret may contain text that looks like a tag.
  if (looksLikeMarkup(text)) return [plain(textOfMarkup(redact(text)))];
  const value = tryParseJson(text);
  if (value === undefined) return [plain(text)];
  const found = fromJson(value, 0);
  return found.length > 0 ? found : [plain(isEmpty(value) ? '' : text)];
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function plain(text: string): Complaint {
  return { field: undefined, text, code: undefined };
}

/** The keys of lists of problems, and of objects that contain the problems. */
const LISTS = ['errors', 'issues', 'violations', 'invalid-params', 'invalid_params', 'details', 'detail', 'message'];
const WRAPPERS = ['error', 'errors', 'fault', 'data', 'response', 'detail', 'message'];

function fromJson(value: unknown, depth: number): readonly Complaint[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [plain(value)];
  if (depth > 3) return [];
  if (Array.isArray(value)) return value.slice(0, MAX_COMPLAINTS).flatMap((item) => fromJson(item, depth + 1));
  if (!isObject(value)) return [];
  const own = ownComplaint(value);
  const inner = innerComplaints(value, depth);
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

function innerComplaints(value: Readonly<Record<string, unknown>>, depth: number): readonly Complaint[] {
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

function ownComplaint(value: Readonly<Record<string, unknown>>): Complaint {
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
  const named =
    firstText(value, ['code', 'error_code', 'errorCode', 'error', 'type']) ??
    (isObject(value.extensions) ? firstText(value.extensions, ['code']) : undefined);
  const code =
    named !== undefined && named !== text && /^[\w.:-]+$/.test(named) && !/^https?:/.test(named) ? named : undefined;
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

/** Reads `{ "name": ["is too long"], "retries": "is too large" }`. */
function fromFields(value: Readonly<Record<string, unknown>>): readonly Complaint[] {
  const complaints: Complaint[] = [];
  for (const [key, problem] of Object.entries(value)) {
    const texts = Array.isArray(problem) ? problem : [problem];
    for (const item of texts) {
      const text = typeof item === 'string' ? item : isObject(item) ? ownComplaint(item).text : undefined;
      if (text === undefined) return [];
      complaints.push({ field: key, text, code: isObject(item) ? ownComplaint(item).code : undefined });
    }
  }
  return complaints;
}

function fieldOf(value: Readonly<Record<string, unknown>>): string | undefined {
  const source = isObject(value.source) ? (value.source.pointer ?? value.source.parameter) : undefined;
  for (const place of [
    value.field,
    value.path,
    value.loc,
    value.param,
    value.property,
    value.pointer,
    value.name,
    source,
  ]) {
    const steps = Array.isArray(place) ? place : typeof place === 'string' ? place.split(/[/.]/) : [];
    const named = steps.filter(
      (step) => (typeof step === 'string' && step !== '' && step !== '#') || typeof step === 'number',
    );
    // FastAPI prefixes the path with the part of the request (body, query), JSON:API with its envelope.
    while (named.length > 1 && ['body', 'query', 'data', 'attributes'].includes(String(named[0]))) named.shift();
    if (named.length > 0) return named.join('.');
  }
  return undefined;
}
