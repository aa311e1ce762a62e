import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { link, readFile, rm } from 'node:fs/promises';
import { z } from 'zod';
import { removeDrafts, writeBeside } from '../files/drafts.ts';
import { UserError } from '../problems/user-error.ts';

/*
 * The data file is sealed, so that no secret stands in it: a payload or a prompt is kept as it was sent. The key is in a file
 * of its own beside it, because a copy, a backup or a commit of the one is rarely meant to carry the other.
 */

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** What GCM is made for; each text is sealed with a new one. */
const NONCE_BYTES = 12;

export const SEALED_FORMAT_VERSION = 2;

export const sealedText = z.strictObject({
  format_version: z.literal(SEALED_FORMAT_VERSION),
  cipher: z.literal(CIPHER),
  /** Which key it is, to tell another key from damage. */
  key: z.string(),
  nonce: z.base64(),
  tag: z.base64(),
  content: z.base64(),
});
export type SealedText = Readonly<z.infer<typeof sealedText>>;

export function keyPathOf(path: string): string {
  return `${path}.key`;
}

export function seal(text: string, key: Buffer): SealedText {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce);
  const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]).toString('base64');
  return {
    format_version: SEALED_FORMAT_VERSION,
    cipher: CIPHER,
    key: nameOf(key),
    nonce: nonce.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    content,
  };
}

/**
 * The text that was sealed in the data file of this path.
 * @throws UserError where its key is missing or is another one, and where the file was changed.
 */
export async function unseal({ key: name, nonce, tag, content }: SealedText, path: string): Promise<string> {
  const keyPath = keyPathOf(path);
  const key = await readKey(keyPath);
  if (key === undefined) {
    throw new UserError(`the key of ${path} is missing: ${keyPath}`, {
      hint: `Restore the key, or move ${path} away to start with an empty workspace.`,
    });
  }
  if (nameOf(key) !== name) {
    throw new UserError(`${path} was sealed with another key than ${keyPath}`, {
      hint: `Restore its key, or move ${path} away to start with an empty workspace.`,
    });
  }
  try {
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(nonce, 'base64'), { authTagLength: 16 });
    decipher.setAuthTag(Buffer.from(tag, 'base64'));
    return decipher.update(content, 'base64', 'utf8') + decipher.final('utf8');
  } catch (cause) {
    throw new UserError(`${path} was damaged or edited: its signature does not match`, {
      hint: 'Restore a copy, or move it away to start with an empty workspace.',
      cause,
    });
  }
}

/** The key beside the data file of this path, made where there is none. Throws a UserError for one that is no key. */
export async function openKey(path: string): Promise<Buffer> {
  const keyPath = keyPathOf(path);
  await removeDrafts([path, keyPath]);
  return (await readKey(keyPath)) ?? (await makeKey(keyPath));
}

async function readKey(keyPath: string): Promise<Buffer | undefined> {
  let text: string;
  try {
    text = await readFile(keyPath, 'utf8');
  } catch (cause) {
    if (isCode(cause, 'ENOENT')) return undefined;
    throw new UserError(`cannot read the key of the emulator's data file, ${keyPath}: ${why(cause)}`, {
      cause,
    });
  }
  const key = Buffer.from(text, 'base64');
  if (key.length === KEY_BYTES && key.toString('base64') === text.trim()) return key;
  throw new UserError(`${keyPath} is not the key of an emulator's data file`, {
    hint: 'Restore the key, or move both files away to start with an empty workspace.',
  });
}

/** Whole or not at all, and never in the place of another: of two emulators that start at once, both get the same. */
async function makeKey(keyPath: string): Promise<Buffer> {
  const key = randomBytes(KEY_BYTES);
  let draft: string | undefined;
  try {
    draft = await writeBeside(keyPath, `${key.toString('base64')}\n`);
    await link(draft, keyPath);
    return key;
  } catch (cause) {
    const theirs = isCode(cause, 'EEXIST') ? await readKey(keyPath) : undefined;
    if (theirs !== undefined) return theirs;
    const reason = isCode(cause, 'ENOENT') ? 'no such folder' : why(cause);
    throw new UserError(`cannot write the key of the emulator's data file, ${keyPath}: ${reason}`, {
      hint: 'The key is kept beside the data file. Create the folder, or pass another file with --data.',
      cause,
    });
  } finally {
    if (draft !== undefined) await rm(draft, { force: true });
  }
}

function nameOf(key: Buffer): string {
  return createHash('sha256').update('key of a data file').update(key).digest('hex').slice(0, 16);
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function why(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
