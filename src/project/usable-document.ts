import type { z } from 'zod';
import type { DocumentPath } from '../manifests/finding.ts';
import { isObject, mapParts } from '../values/json.ts';
import { isSpecial } from '../values/value.ts';
import { usablePolicies } from './policy-schema.ts';
import { type ProjectDocument, projectSchema } from './project-schema.ts';
import { STAND_INS } from './workspace-settings.ts';

/** The replacement of an invalid list item, so that the positions of later items stay. It matches no file and no address. */
const NO_ITEM = '-';

/** Each round repairs all problems found by the schema, which may reveal others. */
const MAX_ROUNDS = 8;

/**
 * A project file without its invalid parts, for finding further problems. Required parts get stand-ins.
 * @returns undefined if nothing is left.
 */
export function usableDocument(raw: unknown): ProjectDocument | undefined {
  if (!isObject(raw)) return undefined;
  const copy = copyOf(raw);
  const policies = usablePolicies(raw.policies);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const parsed = projectSchema().safeParse(copy);
    if (parsed.success) return { ...parsed.data, policies };
    for (const issue of parsed.error.issues) repair(copy, issue);
  }
  return undefined;
}

/** Secrets are not copied. */
function copyOf(value: unknown): unknown {
  return isSpecial(value) ? value : mapParts(value, copyOf);
}

function repair(root: unknown, issue: z.core.$ZodIssue): void {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  const wrong = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
  const [top] = path;
  // Removed as a whole: nothing else in the file depends on it.
  if (top === 'watch' || top === 'notify' || top === 'policies') put(root, [top], undefined);
  else for (const each of wrong) put(root, each, standIn(each));
}

function standIn(path: DocumentPath): unknown {
  const [top, , setting, ...more] = path;
  const last = path.at(-1);
  if (path.length === 1 && top === 'version') return 1;
  if (path.length === 1 && top === 'workspaces') return { 'stand-in': { ...STAND_INS } };
  if (top === 'workspaces' && more.length === 0 && (setting === 'base_url' || setting === 'workspace_id')) {
    return STAND_INS[setting];
  }
  return typeof last === 'number' ? NO_ITEM : undefined;
}

/** Removes the key if there is no value. */
function put(root: unknown, path: DocumentPath, value: unknown): void {
  const last = path.at(-1);
  if (last === undefined) return;
  let holder: unknown = root;
  for (const part of path.slice(0, -1)) {
    if (typeof holder !== 'object' || holder === null) return;
    holder = Reflect.get(holder, part);
  }
  if (typeof holder !== 'object' || holder === null) return;
  if (value === undefined) Reflect.deleteProperty(holder, last);
  else Reflect.set(holder, last, value);
}
