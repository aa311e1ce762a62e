import { isObject, type Json, setOwn } from '../../values/json.ts';
import type { DocumentPath } from '../finding.ts';

/** The replacement of a text range. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies splices to a text. The splices must not overlap. */
export function applySplices(text: string, splices: readonly Splice[]): string {
  let result = '';
  let position = 0;
  for (const splice of splices.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    result += text.slice(position, splice.start) + splice.text;
    position = splice.end;
  }
  return result + text.slice(position);
}

/** One small difference between the current and the desired value of a document. */
type Change =
  | { readonly kind: 'set'; readonly path: DocumentPath; readonly value: Json }
  | { readonly kind: 'remove'; readonly path: DocumentPath }
  /** Inserts a list item before the last index of the path. */
  | { readonly kind: 'insert'; readonly path: DocumentPath; readonly value: Json };

export interface Proposal {
  readonly change: Change;
  readonly splices: readonly Splice[];
}

/** Thrown if a value cannot be written. The message is a clause. */
export class CannotEdit extends Error {}

export const UNSAFE = 'the value cannot be written back safely';

/** Applies a change to a value. Creates missing parent objects. */
export function changed(root: Json, { path, ...change }: Change): Json {
  const [part, ...rest] = path;
  if (part === undefined) return change.kind === 'remove' ? null : change.value;
  const inner = { ...change, path: rest } as Change;
  if (Array.isArray(root) && typeof part === 'number' && part <= root.length) {
    const items: Json[] = [...root];
    const index = part;
    if (rest.length > 0) items[index] = changed(items[index] ?? null, inner);
    else if (change.kind === 'remove') items.splice(index, 1);
    else items.splice(index, change.kind === 'insert' ? 0 : 1, change.value);
    return items;
  }
  const copy: Record<string, Json> = {};
  const own = isObject(root) ? (root as { readonly [key: string]: Json }) : {};
  for (const key of Object.keys(own)) setOwn(copy, key, own[key] as Json);
  const key = String(part);
  if (rest.length === 0 && change.kind === 'remove') delete copy[key];
  else setOwn(copy, key, changed(Object.hasOwn(own, key) ? (own[key] as Json) : {}, inner));
  return copy;
}
