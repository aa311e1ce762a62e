import { attempt } from '../problems/attempt.ts';

const ID = '{id}';

/** True for an address with `{id}`. It may come from an untrusted repository, so its origin must not depend on the id. */
export function isTemplate(text: string): boolean {
  const [a, b] = ['a', 'b'].map((id) => attempt(() => new URL(text.replaceAll(ID, id))));
  if (!text.includes(ID) || a === undefined || b === undefined || /[\s\p{C}]/u.test(text)) return false;
  // Without user names, which can disguise an address.
  return /^https?:$/.test(a.protocol) && a.origin === b.origin && `${a.username}${a.password}` === '';
}

/**
 * The dashboard address of a record: ASCII, http or https. Without an id, the part before `{id}`, which is the list of records. Undefined
 * if the template is invalid.
 */
export function dashboardUrl(template: string, id: string | null): string | undefined {
  if (!isTemplate(template)) return undefined;
  // An id of "." or ".." would change the path.
  const isSegment = id !== null && /[^.]/.test(id);
  const text = isSegment
    ? template.replaceAll(ID, () => encodeURIComponent(id))
    : template.slice(0, template.indexOf(ID)).replace(/[?&#/]+[^?&#/]*$/, '');
  // Escapes characters with a meaning in Markdown or terminals.
  return attempt(() => new URL(text).href.replace(/[|()<>`'"\\]/g, percentEncoded));
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** The host of a link, shown because an untrusted repository may have chosen it; undefined if the address is not http or https. */
export function linkHost(url: string | undefined): string | undefined {
  const parsed = url === undefined ? undefined : attempt(() => new URL(url));
  return parsed !== undefined && /^https?:$/.test(parsed.protocol) ? parsed.host : undefined;
}
