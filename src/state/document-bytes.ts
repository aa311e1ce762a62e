import { createHash } from 'node:crypto';
import { UserError } from '../problems/user-error.ts';
import { type Json, sortKeys } from '../values/json.ts';
import type { StoredDocument } from './state-document.ts';

/** The maximum size in bytes; a string of Node can have little more. */
export const LARGEST = 512_000_000;

/* The text before the digest, the last key of the document. JSON strings contain no line breaks. */
const BEFORE_DIGEST = ',\n  "write_digest": ';
const AFTER_DIGEST = '\n}\n';

/** The document as written: sorted keys, two spaces, a final newline, and the digest of everything before it. */
export function stateBytes(document: StoredDocument): Buffer {
  const content = contentOf(document);
  const bytes = Buffer.from(content + endAfter(content));
  refuseTooLarge(bytes.length);
  return bytes;
}

/** The digest that the document has when it is written. */
export function digestOf(document: StoredDocument): string {
  return digestAfter(contentOf(document));
}

/** True if the bytes are exactly those of `stateBytes`. The content of another layout may still be right. */
export function isAsWritten(bytes: Uint8Array): boolean {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = all.lastIndexOf(BEFORE_DIGEST);
  return end !== -1 && all.subarray(end).equals(Buffer.from(endAfter(all.subarray(0, end))));
}

export function refuseTooLarge(bytes: number): void {
  if (bytes <= LARGEST) return;
  throw new UserError(`the state is larger than ${LARGEST / 1_000_000} MB`, {
    hint: 'Divide the workspace: release some of its resources, and import them in another project.',
  });
}

function contentOf(document: StoredDocument): string {
  try {
    return JSON.stringify(sortKeys(document as unknown as Json), null, 2).slice(0, -'\n}'.length);
  } catch (error) {
    if (error instanceof RangeError) refuseTooLarge(Number.POSITIVE_INFINITY);
    throw error;
  }
}

function endAfter(content: string | Uint8Array): string {
  return `${BEFORE_DIGEST}${JSON.stringify(digestAfter(content))}${AFTER_DIGEST}`;
}

function digestAfter(content: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
