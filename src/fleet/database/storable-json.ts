/**
 * A value as JSON that PostgreSQL stores. Texts of manifests and of the platform may hold a NUL or half of a surrogate pair, which
 * it refuses; each becomes U+FFFD, so that one text does not keep a whole batch of rows from being stored.
 */
export function storableJson(value: unknown): string {
  return JSON.stringify(value).replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1\ufffd');
}
