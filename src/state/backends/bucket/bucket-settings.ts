import { z } from 'zod';
import { about } from '../../../values/described.ts';

/** The setting that the objects of a state are below. */
export function objectKey(description: string) {
  return z
    .string()
    .max(900)
    .regex(/^[^/\p{Cc}](?:[^\p{Cc}]*[^/\p{Cc}])?$/u, { error: 'expected a text without "/" at its ends' })
    .meta(about(description, 'voices/{workspace}'));
}

/** The address of a store. */
export function storeEndpoint(description: string, example: string) {
  return z
    .string()
    .refine(isEndpoint, { error: 'expected an http or https URL without user name, password and query' })
    .meta(about(description, example));
}

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + search + hash === '';
}

/** The keys of all workspaces: `{workspace}` is between these texts. Absent if the setting does not contain it exactly once. */
export interface Siblings {
  readonly before: string;
  readonly after: string;
}

export function siblingsOf(setting: string): Siblings | undefined {
  const [before = '', after, ...more] = setting.split('{workspace}');
  return after === undefined || more.length > 0 ? undefined : { before, after };
}

/**
 * The keys of states, from the folders that begin with `before`.
 * @param folders with a slash at the end, e.g. `voices/staging/` for `voices/{workspace}`.
 */
export function keysIn(folders: readonly string[], { before, after }: Siblings): string[] {
  const end = after.split('/')[0] ?? '';
  return folders.flatMap((folder) => {
    const name = folder.slice(before.length, -1);
    if (!folder.startsWith(before) || !name.endsWith(end) || name.length === end.length) return [];
    return [`${before}${name.slice(0, name.length - end.length)}${after}`];
  });
}
