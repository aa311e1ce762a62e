import { z } from 'zod';
import { attempt } from '../problems/attempt.ts';
import { about } from '../values/described.ts';
import { lazily } from '../values/lazily.ts';

const ID = '{id}';

/** An address with `{id}` in it. A repository that nobody trusts may have written it, so that it must lead to one place on the web. */
export const dashboardTemplate = lazily(() =>
  z
    .string()
    .max(500)
    .refine((text) => isTemplate(text), {
      error:
        'expected an http or https URL with {id} after its host, such as https://app.example.com/agents/{id}',
    })
    .meta(about('Address of a record in the dashboard, with {id}.', 'https://app.example.com/agents/{id}')),
);

function isTemplate(text: string): boolean {
  const [a, b] = ['a', 'b'].map((id) => attempt(() => new URL(text.replaceAll(ID, id))));
  if (!text.includes(ID) || a === undefined || b === undefined || /[\s\p{C}]/u.test(text)) return false;
  // Without user names: they make an address look like another.
  return /^https?:$/.test(a.protocol) && a.origin === b.origin && `${a.username}${a.password}` === '';
}

/**
 * The address of a record in the dashboard: ASCII, http or https. Without an id, of what stands before `{id}`: the list of such records.
 * Undefined where the template is none.
 */
export function dashboardUrl(template: string, id: string | null): string | undefined {
  if (!isTemplate(template)) return undefined;
  // The id of "." or ".." would lead elsewhere.
  const isSegment = id !== null && /[^.]/.test(id);
  const text = isSegment
    ? template.replaceAll(ID, () => encodeURIComponent(id))
    : template.slice(0, template.indexOf(ID)).replace(/[?&#/]+[^?&#/]*$/, '');
  // What Markdown or a terminal might take for more than an address.
  return attempt(() => new URL(text).href.replace(/[|()<>`'"\\]/g, percentEncoded));
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** The host of a link, which names it, because a repository may have chosen it; undefined for what is no http or https address. */
export function linkHost(url: string | undefined): string | undefined {
  const parsed = url === undefined ? undefined : attempt(() => new URL(url));
  return parsed !== undefined && /^https?:$/.test(parsed.protocol) ? parsed.host : undefined;
}
