import type { IncomingMessage } from 'node:http';
import { mapParts } from '../values/json.ts';

/** Larger than any valid request. */
const LARGEST = 16 * 1024 * 1024;

/** The body of a request: none, JSON, or why it is refused. */
export type ReceivedBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'wrong-type' | 'not-json' | 'too-large' };

/** Reads the raw body, also that of a GET, which a fetch `Request` cannot carry. Rejects when the connection breaks. */
export async function readBody(incoming: IncomingMessage): Promise<ReceivedBody> {
  const { headers } = incoming;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return { kind: 'none' };
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= LARGEST) chunks.push(chunk);
  }
  if (size === 0) return { kind: 'none' };
  if (size > LARGEST) return { kind: 'too-large' };
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) return { kind: 'wrong-type' };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return { kind: 'json', value: JSON.parse(text) as unknown };
  } catch {
    return { kind: 'not-json' };
  }
}

/** The body with all provider keys replaced. */
export function withoutKeys(body: unknown): unknown {
  return mapParts(body, (part, key) => (key === 'api_key' ? '(secret)' : withoutKeys(part)));
}
