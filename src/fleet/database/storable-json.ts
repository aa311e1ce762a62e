/**
 * JSON that PostgreSQL accepts. NUL and unpaired surrogates, which it refuses, become U+FFFD, so that one text cannot fail a whole batch
 * of rows.
 */
export function storableJson(value: unknown): string {
  return JSON.stringify(value).replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1\ufffd');
}
