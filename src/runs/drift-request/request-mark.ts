import { createHash } from 'node:crypto';
import { attempt } from '../../problems/attempt.ts';

/*
 * A request carries all that a later run must know of it: its text says which drift it is about, and its commits which
 * workspace they are of and what the branch has with them.
 */

const END = '<!-- /voxform drift -->';
const SECTION = /<!-- voxform drift ([0-9a-z]+) -->[\s\S]*<!-- \/voxform drift -->/;
/** A mark in a text of the platform, which must not end ours. */
const FALSE_MARK = /<!--(?=\s*\/?voxform)/gi;
const TRAILER = /^Voxform-Drift: (\S+) ([0-9a-f]{64})$/m;

/** Instead of the digest of a drift. */
export const ENDED = 'ended';

/** @param drift its digest, or `ended`. */
export function markedText(drift: string, text: string): string {
  return `<!-- voxform drift ${drift} -->\n${text.trim().replace(FALSE_MARK, '<! -')}\n\n${END}`;
}

/** The drift that the text of a request is about; undefined for a request that a person opened. */
export function driftIn(body: string): string | undefined {
  return SECTION.exec(body)?.[1];
}

/** The text with our part of it replaced. What people wrote around it stays. */
export function withText(body: string, marked: string): string {
  const plain = body.replaceAll('\r\n', '\n');
  if (SECTION.test(plain)) return plain.replace(SECTION, () => marked);
  return plain.trim() === '' ? marked : `${marked}\n\n${plain}`;
}

interface CommitMark {
  readonly workspace: string;
  /** Of what the branch has. */
  readonly content: string;
}

export function markedMessage(title: string, { workspace, content }: CommitMark): string {
  return `${title}\n\nVoxform-Drift: ${encodeURIComponent(workspace)} ${content}`;
}

/** Undefined for a commit that a person made. */
export function markIn(message: string): CommitMark | undefined {
  const [, workspace = '', content = ''] = TRAILER.exec(message.replaceAll('\r\n', '\n')) ?? [];
  return content === ''
    ? undefined
    : { workspace: attempt(() => decodeURIComponent(workspace)) ?? '', content };
}

/** The same for the same files with the same content. @param blobs ids by path; undefined for a file that is not there. */
export function contentDigest(blobs: Iterable<readonly [path: string, blob: string | undefined]>): string {
  const sorted = [...blobs].sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
}

/** The id that Git gives a text. @param like an id of the same repository. */
export function blobId(text: string, like: string): string {
  const bytes = Buffer.from(text);
  const hash = createHash(like.length === 64 ? 'sha256' : 'sha1');
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}
