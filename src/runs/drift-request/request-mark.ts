import { createHash } from 'node:crypto';
import { attempt } from '../../problems/attempt.ts';

/*
 * A request stores the data that later runs need: its description contains a digest of the drift, and its commit message contains the
 * workspace, the parent commit and a digest of the changes.
 */

const END = '<!-- /voxform drift -->';
const SECTION = /<!-- voxform drift ([0-9a-z]+) -->[\s\S]*<!-- \/voxform drift -->/;
/** The start of a mark in the text itself, which must not end our section. */
const FALSE_MARK = /<!--(?=\s*\/?voxform)/gi;
const TRAILER = /^Voxform-Drift: (\S+) ([0-9a-f]+) ([0-9a-f]{64})$/m;

/** The value in place of the digest once the drift has ended. */
export const ENDED = 'ended';

/** @param drift the digest of the drift, or `ended`. */
export function markedText(drift: string, text: string): string {
  return `<!-- voxform drift ${drift} -->\n${text.trim().replace(FALSE_MARK, '<! -')}\n\n${END}`;
}

/** Returns the digest of the drift, or `ended`, from a description; undefined if a person opened the request. */
export function driftIn(body: string): string | undefined {
  return SECTION.exec(body)?.[1];
}

/** Replaces our section of a description. Text that people wrote around it is kept. */
export function withText(body: string, marked: string): string {
  const plain = body.replaceAll('\r\n', '\n');
  if (SECTION.test(plain)) return plain.replace(SECTION, () => marked);
  return plain.trim() === '' ? marked : `${marked}\n\n${plain}`;
}

interface CommitMark {
  readonly workspace: string;
  readonly parent: string;
  readonly changes: string;
}

export function markedMessage(title: string, { workspace, parent, changes }: CommitMark): string {
  return `${title}\n\nVoxform-Drift: ${encodeURIComponent(workspace)} ${parent} ${changes}`;
}

/** Returns the mark in a commit message; undefined for a commit that voxform did not make. */
export function markIn(message: string): CommitMark | undefined {
  const [, workspace, parent, changes] = TRAILER.exec(message.replaceAll('\r\n', '\n')) ?? [];
  if (workspace === undefined || parent === undefined || changes === undefined) return undefined;
  return { workspace: attempt(() => decodeURIComponent(workspace)) ?? '', parent, changes };
}

/** @param changes the result of `BranchRepository.changes`. */
export function changesDigest(changes: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(changes)).digest('hex');
}

/**
 * Returns the Git blob id of a text.
 * @param like any id of the same repository. Its length determines the hash function.
 */
export function blobId(text: string, like: string): string {
  const bytes = Buffer.from(text);
  const hash = createHash(like.length === 64 ? 'sha256' : 'sha1');
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}
