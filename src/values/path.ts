import { isObject, setOwn } from './json.ts';
import { isSymbolic, type Value } from './value.ts';

/** The path of a managed leaf in a spec: keys joined by dots, e.g. `llm_config.model`. No key of the API contains a dot. */
export type LeafPath = string;

export type Leaves = ReadonlyMap<LeafPath, Value>;

/** Returns the leaves of a spec by path: scalars, arrays, symbolic values and opaque objects. An empty object contains no leaf. */
export function flatten(
  spec: { readonly [key: string]: Value },
  isOpaque: (path: LeafPath) => boolean,
): Map<LeafPath, Value> {
  const leaves = new Map<LeafPath, Value>();
  const visit = (value: Value, path: string): void => {
    if (isObject(value) && !isSymbolic(value) && (path === '' || !isOpaque(path))) {
      for (const key of Object.keys(value)) visit(value[key] as Value, path === '' ? key : `${path}.${key}`);
    } else leaves.set(path, value);
  };
  visit(spec, '');
  return leaves;
}

/** Returns the nested object of these leaves: the inverse of `flatten`. */
export function unflatten<T>(leaves: Iterable<readonly [LeafPath, T]>): Record<string, T | Record<string, unknown>> {
  const root: Record<string, unknown> = {};
  for (const [path, value] of leaves) {
    const keys = path.split('.');
    const last = keys.pop() ?? path;
    let parent = root;
    for (const key of keys) {
      const next = Object.hasOwn(parent, key) ? parent[key] : undefined;
      if (isObject(next)) parent = next as Record<string, unknown>;
      else {
        const fresh: Record<string, unknown> = {};
        setOwn(parent, key, fresh);
        parent = fresh;
      }
    }
    setOwn(parent, last, value);
  }
  return root as Record<string, T | Record<string, unknown>>;
}

/** The maximum number of cached paths. The kinds have far fewer fields. */
const MAX_CACHED = 10_000;
const keysOfPath = new Map<LeafPath, readonly string[]>();

function keysOf(path: LeafPath): readonly string[] {
  const known = keysOfPath.get(path);
  if (known !== undefined) return known;
  if (keysOfPath.size >= MAX_CACHED) keysOfPath.clear();
  const keys = path.split('.');
  keysOfPath.set(path, keys);
  return keys;
}

/** Returns the value at a path, or undefined if a key is absent. */
export function valueAt(root: unknown, path: LeafPath): unknown {
  let value = root;
  for (const key of keysOf(path)) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

export function isUnder(path: LeafPath, prefix: LeafPath): boolean {
  return path === prefix || path.startsWith(`${prefix}.`);
}

/** Returns the top-level key of a path. */
export function rootOf(path: LeafPath): string {
  const dot = path.indexOf('.');
  return dot === -1 ? path : path.slice(0, dot);
}
