/** These characters stay encoded: decoding them could change how a server splits the path. */
const DELIMITERS = '/\\%;';
const MAPPED_IPV4 = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/**
 * A base URL in its normal form, which is compared and sent (RFC 3986, section 6.2.2, in addition to the URL parser). A text that is not
 * a base URL is returned unchanged; its reader reports it.
 */
export function normalizedBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return text;
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '') return text;
  url.hostname = hostOf(url.hostname);
  url.pathname = url.pathname.replace(/%[0-9a-f]{2}/gi, decoded);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Scheme, host and port of a base URL; the text itself if it is not an address. */
export function originOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.origin ?? baseUrl;
}

/** The host without the dot of the DNS root, and with IPv4 in its own form. */
function hostOf(hostname: string): string {
  const mapped = MAPPED_IPV4.exec(hostname);
  if (mapped === null) return hostname.replace(/\.+$/, '');
  return mapped
    .slice(1)
    .map((part) => Number.parseInt(part, 16))
    .flatMap((word) => [word >> 8, word & 255])
    .join('.');
}

/** The URL parser encodes characters again that a path cannot contain. */
function decoded(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[!-~]/.test(character) && !DELIMITERS.includes(character) ? character : encoded.toUpperCase();
}
