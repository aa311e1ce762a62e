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
