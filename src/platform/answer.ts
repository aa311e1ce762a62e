import { isUtf8 } from 'node:buffer';

/** What an answer's body is, or, where it is not JSON, what it is instead. */
export type Decoded = { readonly value: unknown } | { readonly problem: string };

/** Decodes the body of a success, whatever content type it claims. */
export function decodeJson(body: Buffer): Decoded {
  if (body.length === 0) return { problem: 'the answer is empty' };
  // Replacement characters would come back to the platform with the next update.
  if (!isUtf8(body)) return { problem: 'the answer is not UTF-8' };
  const text = body.toString('utf8');
  try {
    return { value: JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text) };
  } catch {
    return { problem: text.trim() === '' ? 'the answer is empty' : 'the answer is not JSON' };
  }
}
