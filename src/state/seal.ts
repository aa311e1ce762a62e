import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { advice, command, UserError } from '../problems/user-error.ts';
import { lazyStrictObject } from '../values/described.ts';
import { isObject, tryParseJson } from '../values/json.ts';
import { revealed, secretSetting } from './backends/settings.ts';
import { MAX_STATE_BYTES, parseState, stateBytes } from './document-text.ts';
import { type JournalEntry, parseEvent, type StoredEntry } from './journal-lines.ts';
import { runIdOf } from './run-history.ts';
import {
  isSealed,
  SEALED_FORMAT_VERSION,
  type SealedDocument,
  type StateDocument,
  type StoredDocument,
} from './state-document.ts';
import { LostState } from './state-errors.ts';

/** `state.seal` of the project file. */
export const sealSettings = lazyStrictObject(() => ({
  recipients: z
    .array(z.string().regex(/^age1[02-9ac-hj-np-z]{58}$/, 'expected an age public key, as printed by age-keygen'))
    .min(1)
    .meta({
      description: 'Age public keys for which the state is encrypted.',
      examples: [['age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p']],
    }),
  identity: secretSetting({
    description: 'The private keys of one or more recipients, each on its own line.',
    examples: [{ $secret: 'STATE_IDENTITY' }],
  }),
}));

export type SealSettings = Readonly<z.infer<ReturnType<typeof sealSettings>>>;

/** A key that encrypts lines, and the same key encrypted for the recipients. */
interface LineKey {
  readonly key: KeyObject;
  readonly wrapped: string;
  /** Number of lines encrypted so far. It serves as the nonce of the next line, because a key must not be used twice with one nonce. */
  lines: number;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Caches decrypted documents, because a loop reads the same document many times. */
const decrypted = new WeakMap<SealedDocument, Promise<StateDocument>>();

/**
 * Encrypts a state before it leaves this process, and decrypts a stored state. Documents are age files. Lines are encrypted with a key that
 * the writing process generates, because age takes a millisecond for each line. Each line contains this key as an age file.
 */
export class Seal {
  readonly #settings: SealSettings | undefined;
  /** True to read a plain state although the settings require a sealed one, in order to convert it. */
  readonly #converts: boolean;
  readonly #isOff: boolean;
  #lineKey: Promise<LineKey> | undefined;
  readonly #lineKeys = new Map<string, Promise<Buffer>>();

  /**
   * @param settings absent for a state in plain text.
   * @param convertTo the form to write. If present, both forms can be read.
   */
  constructor(settings: SealSettings | undefined, convertTo?: 'sealed' | 'plain') {
    this.#settings = settings;
    this.#converts = convertTo !== undefined;
    this.#isOff = settings === undefined || convertTo === 'plain';
  }

  /** Returns the document in its stored form. */
  async encrypt(document: StateDocument): Promise<StoredDocument> {
    if (this.#isOff) return document;
    const { lineage, serial, workspace_id, write, voxform_version } = document;
    const { recipients } = this.#required();
    const envelope = { lineage, serial, workspace_id, write, voxform_version, recipients };
    return {
      format_version: SEALED_FORMAT_VERSION,
      ...envelope,
      // Compression reduces the size to a tenth. Encrypted text can no longer be compressed, e.g. by Git.
      sealed: await this.encryptFile(zlib().gzipSync(stateBytes(document), { level: 1 })),
    };
  }

  /**
   * Returns the document in plain text.
   * @param location the location of the state, for messages.
   * @throws UserError if the settings require the other form, or if the identity cannot decrypt the document.
   */
  decrypt(document: StoredDocument, location: string): Promise<StateDocument> | StateDocument {
    if (!isSealed(document)) {
      if (this.#isOff || this.#converts) return document;
      throw new UserError(`the state ${location} is not sealed, but state.seal is set`, {
        hint: advice`Seal it: ${command('state seal')}`,
      });
    }
    if (this.#settings === undefined) {
      throw new UserError(
        `the state ${location} is sealed for ${document.recipients.join(', ')}, but state.seal is not set`,
        {
          hint: advice`Set state.seal with recipients and identity, or seal in the settings of --from. To decrypt the state afterwards: ${command('state unseal')}`,
        },
      );
    }
    const known = decrypted.get(document) ?? this.#decryptDocument(document, location);
    decrypted.set(document, known);
    known.catch(() => decrypted.delete(document));
    return known;
  }

  /** Returns the document of a backup, which may be in plain text although the settings require a sealed state. */
  decryptCopy(document: StoredDocument, source: string): Promise<StateDocument> | StateDocument {
    return isSealed(document) ? this.decrypt(document, source) : document;
  }

  /** Returns the content as an age file in ASCII armor, or as plain text if the state is in plain text. */
  async encryptFile(content: string | Uint8Array): Promise<string> {
    const bytes = Buffer.from(content);
    return this.#isOff ? bytes.toString() : armor(await this.#encrypt(bytes));
  }

  /** Returns the content of a file. Decrypts an age file in ASCII armor. */
  async decryptFile(bytes: Buffer, name: string): Promise<Buffer> {
    return isAgeFile(bytes) ? this.#decrypt(unarmor(bytes.toString('latin1')), name) : bytes;
  }

  async #decryptDocument(document: SealedDocument, location: string): Promise<StateDocument> {
    const content = await this.#decrypt(unarmor(document.sealed), `the state ${location}`, document.recipients);
    const bytes = decompress(content, location);
    const inside = parseState(bytes, location, '');
    const isSame = (['lineage', 'serial', 'workspace_id', 'write'] as const).every(
      (key) => inside[key] === document[key],
    );
    if (isSealed(inside) || !isSame) {
      throw new LostState(`the state ${location} was edited: its sealed content belongs to another state`, {
        hint: 'Restore it from a backup.',
      });
    }
    return inside;
  }

  async encryptEntry(entry: JournalEntry): Promise<StoredEntry> {
    if (this.#isOff) return entry;
    const { event, ...position } = entry;
    return { ...position, sealed: await this.encryptText(JSON.stringify(event), positionText(position)) };
  }

  async decryptEntry(entry: StoredEntry, location: string): Promise<JournalEntry> {
    if (!('sealed' in entry)) return entry;
    const { sealed, ...position } = entry;
    try {
      return { ...position, event: parseEvent(await this.decryptText(sealed, positionText(position))) };
    } catch (error) {
      if (error instanceof UserError) throw error;
      throw new LostState(`the journal of the state ${location} is damaged: an entry cannot be decrypted`, {
        hint: advice`Restore the journal from a backup.`,
        cause: error,
      });
    }
  }

  /** @param position the position of the text. Decryption needs the same position, so that a line cannot be moved. */
  async encryptText(text: string, position: string): Promise<string> {
    if (this.#isOff) return text;
    this.#lineKey ??= this.#newLineKey();
    const lineKey = await this.#lineKey;
    const { key, wrapped } = lineKey;
    const nonce = Buffer.alloc(NONCE_BYTES);
    nonce.writeUIntBE(lineKey.lines++, NONCE_BYTES - 6, 6);
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(position));
    const bytes = [nonce, cipher.update(Buffer.from(text)), cipher.final(), cipher.getAuthTag()];
    return `${wrapped}.${Buffer.concat(bytes).toString('base64')}`;
  }

  /** @throws Error if the text was changed, or was encrypted with another position. */
  async decryptText(sealed: string, position: string): Promise<string> {
    const [wrapped = '', text = ''] = sealed.split('.');
    const known =
      this.#lineKeys.get(wrapped) ??
      this.#decrypt(Buffer.from(wrapped, 'base64'), 'the journal and the history of the state');
    this.#lineKeys.set(wrapped, known);
    const bytes = Buffer.from(text, 'base64');
    const tagAt = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, await known, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(position))
      .setAuthTag(bytes.subarray(tagAt));
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, tagAt)), decipher.final()]).toString();
  }

  async #newLineKey(): Promise<LineKey> {
    const key = randomBytes(32);
    return { key: createSecretKey(key), wrapped: (await this.#encrypt(key)).toString('base64'), lines: 0 };
  }

  async #encrypt(bytes: Uint8Array): Promise<Buffer> {
    const { Encrypter } = await import('age-encryption');
    const encrypter = new Encrypter();
    for (const recipient of this.#required().recipients) encrypter.addRecipient(recipient);
    return Buffer.from(await encrypter.encrypt(bytes));
  }

  async #decrypt(bytes: Uint8Array, name: string, recipients?: readonly string[]): Promise<Buffer> {
    const { Decrypter } = await import('age-encryption');
    const { identity } = this.#required();
    const keys = revealed('seal.identity', identity).match(/^AGE-SECRET-KEY-1\w+/gm) ?? [];
    const decrypter = new Decrypter();
    try {
      for (const key of keys) decrypter.addIdentity(key);
      if (keys.length === 0) throw new Error('no key');
    } catch (cause) {
      throw new UserError(`${identity.name} is not an age identity`, {
        hint: 'An identity begins with AGE-SECRET-KEY-1; create one with age-keygen.',
        cause,
      });
    }
    try {
      return Buffer.from(await decrypter.decrypt(bytes));
    } catch (cause) {
      const sealedFor = recipients === undefined ? '' : `: it is sealed for ${recipients.join(', ')}`;
      throw new CannotDecrypt(`${identity.name} cannot decrypt ${name}${sealedFor}`, {
        hint: `Set ${identity.name} to the identity of one of its recipients. If the state was edited, restore it from a backup.`,
        cause,
      });
    }
  }

  #required(): SealSettings {
    if (this.#settings === undefined) {
      throw new CannotDecrypt('the content is sealed, but state.seal is not set', {
        hint: 'Set state.seal with recipients and identity.',
      });
    }
    return this.#settings;
  }
}

/** Returns a key for local files that contain values of the state; undefined if the identity is not set. */
export function fileKey({ identity }: SealSettings): Buffer | undefined {
  return identity.isSet ? Buffer.from(hkdfSync('sha256', identity.reveal(), '', 'voxform files', 32)) : undefined;
}

/** Returns a line of the history in its stored form. @param run the id of the run, which stays readable. */
export async function encryptLine(line: string, run: string, seal: Seal = noSeal): Promise<string> {
  const sealed = await seal.encryptText(line, run);
  return sealed === line ? line : JSON.stringify({ run, sealed });
}

/** No configured identity belongs to a recipient of the content. */
class CannotDecrypt extends UserError {}

/**
 * Decrypts the lines of a history. Skips damaged lines, and those of runs with other recipients.
 * @throws UserError if the identity is not set, or can decrypt no line.
 */
export async function decryptLines(lines: readonly string[], seal: Seal): Promise<string[]> {
  const opened: string[] = [];
  let refusal: CannotDecrypt | undefined;
  for (const line of lines) {
    if (line === '') continue;
    try {
      opened.push(await decryptLine(line, seal));
    } catch (error) {
      if (error instanceof CannotDecrypt) refusal = error;
      else if (error instanceof UserError) throw error;
    }
  }
  if (refusal !== undefined && opened.length === 0) throw refusal;
  return opened;
}

/** Returns a stored line of the history in the form that `seal` writes. A line that cannot be decrypted stays unchanged. */
export async function convertLine(line: string, seal: Seal): Promise<string> {
  const plain = await decryptLine(line, seal).catch(() => undefined);
  return plain === undefined ? line : encryptLine(plain, runIdOf(plain), seal);
}

async function decryptLine(line: string, seal: Seal): Promise<string> {
  const value = tryParseJson(line);
  return isObject(value) && typeof value.sealed === 'string' ? seal.decryptText(value.sealed, String(value.run)) : line;
}

/** The seal of states in plain text. */
export const noSeal = new Seal(undefined);

/** Loaded only for sealed states. */
function zlib() {
  return process.getBuiltinModule('node:zlib');
}

/** @throws LostState if the content cannot be decompressed. */
function decompress(content: Buffer, location: string): Buffer {
  try {
    return zlib().gunzipSync(content, { maxOutputLength: MAX_STATE_BYTES });
  } catch (cause) {
    throw new LostState(`the state ${location} is damaged: its sealed content cannot be decompressed`, {
      hint: 'Restore it from a backup.',
      cause,
    });
  }
}

function positionText({ lineage, serial, sequence, at }: Omit<JournalEntry, 'event'>): string {
  return `${lineage} ${serial} ${sequence} ${at}`;
}

const BEGIN = '-----BEGIN AGE ENCRYPTED FILE-----';
/** The number of characters per line of the ASCII armor. */
const LINE_LENGTH = 64;
const END = '-----END AGE ENCRYPTED FILE-----';

export function isAgeFile(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, BEGIN.length) === BEGIN;
}

function armor(bytes: Buffer): string {
  const text = Buffer.from(bytes.toString('base64'), 'latin1');
  const lines = Buffer.alloc(text.length + Math.ceil(text.length / LINE_LENGTH) - 1, '\n');
  for (let start = 0, at = 0; start < text.length; start += LINE_LENGTH, at += LINE_LENGTH + 1) {
    lines.set(text.subarray(start, start + LINE_LENGTH), at);
  }
  return `${BEGIN}\n${lines.toString('latin1')}\n${END}\n`;
}

/** Accepts any line breaks, because a tool may have converted those of a copy. */
function unarmor(text: string): Buffer {
  return Buffer.from(text.slice(BEGIN.length).split(END, 1)[0] ?? '', 'base64');
}
