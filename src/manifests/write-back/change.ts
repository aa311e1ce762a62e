import { isObject, type Json, setOwn } from '../../values/json.ts';
import type { DocumentPath } from '../finding.ts';
import type { Splice } from './text-source.ts';

/** One small difference between the value that a document has and the one that it is to have. */
type Change =
  | { readonly kind: 'set'; readonly path: DocumentPath; readonly value: Json }
  | { readonly kind: 'remove'; readonly path: DocumentPath }
  /** An item of a list before which the path's last index counts. */
  | { readonly kind: 'insert'; readonly path: DocumentPath; readonly value: Json };

export interface Proposal {
  readonly change: Change;
  readonly splices: readonly Splice[];
}

/** Why a value cannot be written, as a clause for a person. */
export class CannotEdit extends Error {}

export const UNSAFE = 'it cannot be written back safely';

/** The value with the change made. Objects on the way to a value that is set are made where they are missing. */
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
