import type { Diagnostic, Fix } from '../problems/diagnostic.ts';
import { isObject } from '../values/json.ts';

/** Keys and indices from the root of a YAML document. */
export type DocumentPath = readonly (string | number)[];

/** A place inside a parsed file, whose line and column are worked out only when somebody wants to see them. */
export interface DocumentPlace {
  /** Index of the document in its file. */
  readonly document: number;
  readonly path: DocumentPath;
  /** Which end of the last pair is meant. */
  readonly at: 'key' | 'value';
  /** The character of that value, which is text, from 0; its beginning where absent. */
  readonly offset?: number;
}

/** A diagnostic on its way: one with a `place` still lacks its line and column. */
export interface Finding extends Diagnostic {
  readonly place?: DocumentPlace;
  /** The address that no manifest declares, where that is what is wrong. */
  readonly absent?: string;
}

/** What is wrong at a path, while the file that holds the path does not matter yet. */
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

/** A key that reads well without quotes. */
const PLAIN_KEY = /^[^\s"'.\p{C}]+$/u;

/** `spec.llm_config.tools[0].name`; the key of a value form at the end is left out. */
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

/** How many parts of the path exist in the value, and the value there. */
export function follow(
  root: unknown,
  path: DocumentPath,
): { readonly depth: number; readonly value: unknown } {
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

/** A text in quotes, for a message: on one line, and cut when it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}
