import { z } from 'zod';
import { attempt } from '../problems/attempt.ts';
import { about } from '../values/described.ts';
import { lazy } from '../values/lazy.ts';

const ID = '{id}';

/** Returns true for a URL with `{id}`. The URL may come from an untrusted repository, so its origin must not depend on the id. */
function isTemplate(text: string): boolean {
  const [a, b] = ['a', 'b'].map((id) => attempt(() => new URL(text.replaceAll(ID, id))));
  if (!text.includes(ID) || a === undefined || b === undefined || /[\s\p{C}]/u.test(text)) return false;
  // User names are not allowed, because they can disguise an address.
  return /^https?:$/.test(a.protocol) && a.origin === b.origin && `${a.username}${a.password}` === '';
}

/** The schema of a URL with `{id}`. */
export const dashboardTemplate = lazy(() =>
  z
    .string()
    .max(500)
    .refine((text) => isTemplate(text), {
      error: 'expected an http or https URL with {id} after its host, such as https://app.example.com/agents/{id}',
    })
    .meta(about('URL of a record in the dashboard, with {id}.', 'https://app.example.com/agents/{id}')),
);

/**
 * Returns the dashboard URL of a record: an http or https URL in ASCII. Without an id, returns the part before `{id}`, which is the URL of
 * the list of records. Returns undefined if the template is invalid.
 */
export function dashboardUrl(template: string, id: string | null): string | undefined {
  if (!isTemplate(template)) return undefined;
  // An id of "." or ".." would change the path.
  const isSegment = id !== null && /[^.]/.test(id);
  const text = isSegment
    ? template.replaceAll(ID, () => encodeURIComponent(id))
    : template.slice(0, template.indexOf(ID)).replace(/[?&#/]+[^?&#/]*$/, '');
  // Escape characters with a meaning in Markdown or terminals.
  return attempt(() => new URL(text).href.replace(/[|()<>`'"\\]/g, percentEncoded));
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** Returns the host of an http or https link. Outputs show the host, because the link may come from an untrusted repository. */
export function linkHost(url: string | undefined): string | undefined {
  const parsed = url === undefined ? undefined : attempt(() => new URL(url));
  return parsed !== undefined && /^https?:$/.test(parsed.protocol) ? parsed.host : undefined;
}
