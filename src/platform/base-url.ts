/** These characters stay encoded: decoding them could change how a server splits the path. */
const DELIMITERS = '/\\%;';
const MAPPED_IPV4 = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/**
 * Normalizes a base URL with the URL parser and RFC 3986, section 6.2.2. The result is used in comparisons and requests. A string that is
 * not a base URL is returned unchanged, and `parseBaseUrl` rejects it.
 */
export function normalizedBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return text;
  if (`${url.username}${url.password}${url.search}${url.hash}` !== '') return text;
  url.hostname = hostOf(url.hostname);
  url.pathname = url.pathname.replace(/%[0-9a-f]{2}/gi, decodeUnreserved);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Returns the scheme, host and port of a base URL, or the string itself if it is not a URL. */
export function originOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.origin ?? baseUrl;
}

/** Normalizes a host: removes the final dot and converts IPv4 addresses in IPv6 notation to dotted decimals. */
function hostOf(hostname: string): string {
  const mapped = MAPPED_IPV4.exec(hostname);
  if (mapped === null) return hostname.replace(/\.+$/, '');
  return mapped
    .slice(1)
    .map((part) => Number.parseInt(part, 16))
    .flatMap((word) => [word >> 8, word & 255])
    .join('.');
}

/** Decodes characters that need no encoding. If a path cannot contain one of them, the URL parser encodes it again. */
function decodeUnreserved(encoded: string): string {
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
  return /[!-~]/.test(character) && !DELIMITERS.includes(character) ? character : encoded.toUpperCase();
}
