import type { Diagnostic, Fix } from '../problems/diagnostic.ts';
import { isObject } from '../values/json.ts';

/** Keys and indices from the root of a YAML document. */
export type DocumentPath = readonly (string | number)[];

/** A place inside a parsed file. Its line and column are computed on demand. */
export interface DocumentPlace {
  /** Index of the document in its file. */
  readonly document: number;
  readonly path: DocumentPath;
  /** The key or the value of the last pair. */
  readonly at: 'key' | 'value';
  /** The index of the character in a text value; its start if absent. */
  readonly offset?: number;
}

/** A diagnostic whose line and column may still be unknown: then it has a `place`. */
export interface Finding extends Diagnostic {
  readonly place?: DocumentPlace;
  /** The address that is not declared, if that is the problem. */
  readonly absent?: string;
}

/** A problem at a path, independent of the file. */
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

/** A key that needs no quotes in a message. */
const PLAIN_KEY = /^[^\s"'.\p{C}]+$/u;

/** `spec.llm_config.tools[0].name`. The key of a value form at the end is left out. */
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

/** The number of existing parts of the path, and the value there. */
export function follow(root: unknown, path: DocumentPath): { readonly depth: number; readonly value: unknown } {
  let value = root;
  for (const [depth, part] of path.entries()) {
    const has =
      typeof part === 'number'
        ? Array.isArray(value) && part < value.length
        : isObject(value) && Object.hasOwn(value, part);
    if (!has) return { depth, value };
    value = (value as Readonly<Record<string | number, unknown>>)[part];
  }
  return { depth: path.length, value };
}

/** A quoted text for a message: one line, shortened if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}

export interface OffsetProblem {
  readonly code: string;
  readonly message: string;
  readonly offset: number;
  readonly path?: DocumentPath;
}
