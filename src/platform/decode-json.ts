import { isUtf8 } from 'node:buffer';
import { isDeeperThan } from '../values/json.ts';
import { looksLikeMarkup, textOfMarkup } from './plain-text.ts';

/** The decoded body of a response, or the reason why it is not JSON. The reason is not yet safe for a terminal. */
type DecodeResult = { readonly value: unknown } | { readonly problem: string };

/** The maximum depth of a response. No manifest is nested that deeply, and recursion is safe up to this depth. */
const MAX_DEPTH = 200;

/** Decodes the body of a successful response. The content type appears only in problems. */
export function decodeJson(
  body: Buffer,
  { contentType, redact }: { readonly contentType: string | undefined; redact(text: string): string },
): DecodeResult {
  if (body.length === 0) return { problem: 'the response is empty' };
  // Decoding invalid UTF-8 would insert replacement characters, which the next update would send to the platform.
  if (!isUtf8(body)) return { problem: 'the response is not UTF-8' };
  const text = body.toString('utf8');
  try {
    const value: unknown = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
    return isDeeperThan(value, MAX_DEPTH) ? { problem: 'the response is nested too deeply' } : { value };
  } catch {
    return { problem: problemWith(redact(text), contentType) };
  }
}

function problemWith(text: string, contentType: string | undefined): string {
  if (text.trim() === '') return 'the response is empty';
  if (looksLikeMarkup(text)) {
    const title = textOfMarkup(text);
    return `the response is an HTML page, not JSON${title === '' ? '' : `: ${title}`}`;
  }
  const type = contentType?.split(';')[0]?.trim() ?? '';
  if (/^\s*[[{]/.test(text)) return 'the response is invalid or truncated JSON';
  return `the response is not JSON${type === '' || /json/i.test(type) ? '' : ` but ${type}`}`;
}
