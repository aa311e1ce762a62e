import { isObject, type JsonObject } from '../../values/json.ts';

export const PLAN_FORMAT_VERSION = 1;

export const actions = [
  'create',
  'update',
  'replace',
  'adopt',
  'forget',
  'manual',
  'blocked',
  'unknown',
  'noop',
] as const;

export type Action = (typeof actions)[number];
/** The actions that change the platform, the state, or both. */
export const writes: ReadonlySet<Action> = new Set(['create', 'update', 'replace', 'adopt', 'forget']);

/** True for a saved plan of any format version, which may be invalid. */
export function isPlanLike(data: unknown): data is JsonObject & { readonly format_version: number } {
  return isObject(data) && typeof data.format_version === 'number' && Array.isArray(data.resources);
}
