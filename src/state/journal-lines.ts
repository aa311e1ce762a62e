import { z } from 'zod';
import { shellWord } from '../problems/shell-word.ts';
import { advice, UserError } from '../problems/user-error.ts';
import { lazyStrictObject } from '../values/described.ts';
import { type Immutable, tryParseJson } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';
import { orphan, pendingCreate, resourceEntry } from './state-document.ts';
import { LostState, RECOVER } from './state-errors.ts';

interface JournalContent {
  readonly entries: readonly StoredEntry[];
  /** Size of the complete lines in bytes. The rest is an incomplete line, whose writer died. */
  readonly goodLength: number;
}

/** The text after the checksum of each line, because `lineage` is the first key of an entry. */
const OPENING = ' {"lineage":"';

/** Returns the line for an entry: a checksum and the JSON of the entry. */
export function journalLine(entry: StoredEntry): string {
  const json = JSON.stringify(entry);
  return `${checksum(json)} ${json}\n`;
}

/**
 * Parses the lines of `journalLine`. Ignores an incomplete last line, because its append was never confirmed. If the journal is empty, no
 * create was sent, because the first append is synced before the first request.
 * @throws UserError with the line number for any other damage, such as null bytes.
 */
export function parseJournal(bytes: Buffer, path: string): JournalContent {
  const entries: StoredEntry[] = [];
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf(0x0a, start);
    // If the line is valid up to its last byte, it was written completely, and its newline was damaged later.
    const isComplete = end !== -1 || contentOf(bytes.subarray(start, -1)) !== undefined;
    if (!isComplete && isPartialLine(bytes.subarray(start))) break;
    const json = contentOf(bytes.subarray(start, end));
    if (end === -1 || json === undefined) throw damageAt(path, entries.length + 1, isComplete ? undefined : start);
    entries.push(parseEntry(json, path, entries.length + 1));
    start = end + 1;
  }
  return { entries, goodLength: start };
}

/** Returns all valid entries, and skips everything else. Never throws. */
export function validEntries(bytes: Buffer): StoredEntry[] {
  const entries: StoredEntry[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(0x0a, start);
    const end = newline === -1 ? bytes.length : newline;
    // The newline of the last line may be damaged.
    const json = contentOf(bytes.subarray(start, end)) ?? contentOf(bytes.subarray(start, end - 1));
    if (json !== undefined) {
      const parsed = storedEntry().safeParse(JSON.parse(json));
      if (parsed.success) entries.push(parsed.data);
    }
    start = end + 1;
  }
  return entries;
}

/** Returns the JSON of a line; undefined if the checksum does not match. */
function contentOf(line: Buffer): string | undefined {
  const json = line.subarray(9);
  const isValid = line.length > 9 && line[8] === 0x20 && line.toString('latin1', 0, 8) === checksum(json);
  return isValid ? json.toString('utf8') : undefined;
}

/** True for the start of a line of `journalLine`. An interrupted write leaves an incomplete line. */
function isPartialLine(tail: Buffer): boolean {
  let text: string;
  try {
    // The line may end inside a character.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(tail, { stream: true });
  } catch {
    return false;
  }
  const rest = text.slice(8);
  const hasOpening = OPENING.startsWith(rest) || rest.startsWith(OPENING);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them.
  return hasOpening && /^[0-9a-f]*$/.test(text.slice(0, 8)) && !/[\0-\x1f]/.test(text);
}

function parseEntry(json: string, path: string, line: number): StoredEntry {
  const parsed = storedEntry().safeParse(tryParseJson(json));
  if (parsed.success) return parsed.data;
  throw new UserError(
    `${path}:${line}  unknown entry in the journal of the state; a newer voxform may have written it`,
    { hint: 'Upgrade voxform, or restore the journal from a backup.' },
  );
}

/** @param tailStart the offset of damage that reaches the end of the file, if any. A power failure may have undone an append. */
function damageAt(path: string, line: number, tailStart?: number): UserError {
  const truncation =
    tailStart === undefined
      ? ''
      : ` If no apply was running when the machine stopped, remove the damaged end: truncate -s ${tailStart} ${shellWord(path)}`;
  return new LostState(`${path}:${line}  the journal of the state is damaged`, {
    hint: advice`Restore the journal from a backup. ${RECOVER}${truncation}`,
  });
}

function checksum(json: string | Buffer): string {
  // Loaded only if there is a journal.
  const { crc32 } = process.getBuiltinModule('node:zlib');
  return crc32(json).toString(16).padStart(8, '0');
}

/*
 * The events between two writes of the document, one per line. `fold.ts` defines their effects.
 */

const journalEvent = lazy(() =>
  z.discriminatedUnion('type', [
    /** A create is about to be sent. Unless a `saved` or `not-done` event follows, the create is pending. */
    z.strictObject({ type: z.literal('creating'), address: z.string(), pending: pendingCreate() }),
    /** An update of these paths is about to be sent. Unless a `saved` or `not-done` event follows, their recorded values are unknown. */
    z.strictObject({ type: z.literal('updating'), address: z.string(), paths: z.array(z.string()) }),
    /** The write certainly did not happen: the previous entry is restored. */
    z.strictObject({ type: z.literal('not-done'), address: z.string() }),
    /**
     * The new entry of the resource, after a create, an update, an import or a correction. If its id differs from the previous id, the
     * previous record was missing from the platform, unless `orphan` gives another reason.
     */
    z.strictObject({
      type: z.literal('saved'),
      address: z.string(),
      /** Without `recorded`, the values of the pending create are used. */
      entry: resourceEntry().partial({ recorded: true }),
      orphan: orphan().optional(),
    }),
    /** The record was released. */
    z.strictObject({ type: z.literal('forgotten'), address: z.string(), orphan: orphan().optional() }),
    /** An orphan was closed. */
    z.strictObject({ type: z.literal('closed'), orphan: orphan() }),
    z.strictObject({ type: z.literal('renamed'), from: z.string(), to: z.string() }),
    /** An apply of the manifests at this commit begins to write. */
    z.strictObject({ type: z.literal('applying'), commit: z.string() }),
    /** A person confirmed that a pending create did not happen. */
    z.strictObject({ type: z.literal('resolved'), address: z.string() }),
  ]),
);

export type JournalEvent = Immutable<z.infer<ReturnType<typeof journalEvent>>>;

const position = lazy(() => ({
  lineage: z.string(),
  /** Serial of the document to which the event applies. */
  serial: z.int(),
  /** Starts at 1 and has no gaps. */
  sequence: z.int(),
  at: z.string().describe('ISO 8601.'),
}));

const journalEntry = lazyStrictObject(() => ({ ...position(), event: journalEvent() }));

/** An entry whose event is encrypted. */
const sealedEntry = lazyStrictObject(() => ({ ...position(), sealed: z.string() }));

const storedEntry = lazy(() => z.union([journalEntry(), sealedEntry()]));

export type JournalEntry = Immutable<z.infer<ReturnType<typeof journalEntry>>>;
/** An entry in its stored form: in plain text or sealed. */
export type StoredEntry = JournalEntry | Immutable<z.infer<ReturnType<typeof sealedEntry>>>;

/** @throws ZodError if the content is not an event. */
export function parseEvent(text: string): JournalEvent {
  return journalEvent().parse(JSON.parse(text));
}
