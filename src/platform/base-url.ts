/** Left encoded, because decoding them could change how a server divides the path. */
const DELIMITERS = '/\\%;';
const MAPPED_IPV4 = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/**
 * A base URL in the one spelling that is compared and sent: all spellings that reach the same place give the same text (RFC 3986,
 * section 6.2.2, on top of what the URL parser does). What cannot be a base URL is returned unchanged; its reader reports it.
 */
export function normalizedBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return text;
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '') return text;
  url.hostname = hostOf(url.hostname);
  url.pathname = url.pathname.replace(/%[0-9a-f]{2}/gi, decoded);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Scheme, host and port of a base URL; the text itself if it is no address. */
export function originOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.origin ?? baseUrl;
}

/** Without the dot of the DNS root, and with IPv4 in its own form. */
function hostOf(hostname: string): string {
  const mapped = MAPPED_IPV4.exec(hostname);
  if (mapped === null) return hostname.replace(/\.+$/, '');
  return mapped
    .slice(1)
    .map((part) => Number.parseInt(part, 16))
    .flatMap((word) => [word >> 8, word & 255])
    .join('.');
}

/** The URL parser encodes again what a path cannot contain. */
function decoded(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[!-~]/.test(character) && !DELIMITERS.includes(character) ? character : encoded.toUpperCase();
}
