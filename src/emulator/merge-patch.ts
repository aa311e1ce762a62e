import { isObject, setOwn } from '../values/json.ts';

/** The value with a JSON merge patch (RFC 7396) laid over it; neither is changed. A key that is undefined is no change. */
export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete merged[key];
    else if (change !== undefined) {
      setOwn(merged, key, mergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, change));
    }
  }
  return merged;
}
