import type { Diagnostic, Fix } from '../problems/diagnostic.ts';
import { isObject } from '../values/json.ts';

/** Keys and indices from the root of a YAML document. */
export type DocumentPath = readonly (string | number)[];

/** A position inside a parsed file. Its line and column are computed on demand. */
export interface DocumentPlace {
  /** Index of the document in its file. */
  readonly document: number;
  readonly path: DocumentPath;
  /** Whether the position is at the key or at the value of the last pair. */
  readonly at: 'key' | 'value';
  /** The index of a character in a string value. Absent for the start of the value. */
  readonly offset?: number;
}

/** A diagnostic that may have a `place` from which its line and column are computed. */
export interface Finding extends Diagnostic {
  readonly place?: DocumentPlace;
  /** The address that no manifest declares. Set only for a dangling reference. */
  readonly absent?: string;
}

/** A problem at a path of a document, without its file. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly path: DocumentPath;
  readonly at: 'key' | 'value';
  readonly fix?: Fix | undefined;
}

export function findingOf({ code, message, path, at, fix }: Problem, file: string, document = 0): Finding {
  return { severity: 'error', code, message, file, ...(fix && { fix }), place: { document, path, at } };
}

/** Matches keys that need no quotes in a message. */
const PLAIN_KEY = /^[^\s"'.\p{C}]+$/u;

/** Formats a path, such as `spec.llm_config.tools[0].name`. Omits a trailing key of a value form, such as `$ref`. */
export function formatPath(path: DocumentPath): string {
  const last = path.at(-1);
  const parts = typeof last === 'string' && last.startsWith('$') ? path.slice(0, -1) : path;
  let text = '';
  for (const part of parts) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += `${text === '' ? '' : '.'}${PLAIN_KEY.test(part) ? part : JSON.stringify(part)}`;
  }
  return text;
}

/** Follows a path as far as it exists. Returns the number of existing parts, and the value at the last existing part. */
export function follow(root: unknown, path: DocumentPath): { readonly depth: number; readonly value: unknown } {
  let value = root;
  for (const [depth, part] of path.entries()) {
    const exists =
      typeof part === 'number'
        ? Array.isArray(value) && part < value.length
        : isObject(value) && Object.hasOwn(value, part);
    if (!exists) return { depth, value };
    value = (value as Readonly<Record<string | number, unknown>>)[part];
  }
  return { depth: path.length, value };
}

/** Quotes a string for a message, on one line and truncated to 60 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}

export interface OffsetProblem {
  readonly code: string;
  readonly message: string;
  readonly offset: number;
  readonly path?: DocumentPath;
}
