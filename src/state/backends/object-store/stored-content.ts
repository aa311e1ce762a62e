import { advice, command } from '../../../problems/user-error.ts';
import { parseState } from '../../document-text.ts';
import { fold, recordCount } from '../../fold.ts';
import { parseJournal, type StoredEntry } from '../../journal-lines.ts';
import { isSuperseded } from '../../marks.ts';
import { noSeal, type Seal } from '../../seal.ts';
import { isSealed, type StoredDocument } from '../../state-document.ts';
import { LostState, type MovedMark, MovedState, RECOVER } from '../../state-errors.ts';
import type { FoundState, StateBackup, StoredState } from '../../store.ts';
import type { StoreUser } from '../backend.ts';
import type { ContentFiles, EarlierDocument, ObjectStore, OtherContent, StoredContent } from './object-store.ts';

/* Parses the stored content: the document and the journal. */

const EARLIER = advice`Push an earlier copy: ${command('state push FILE')}. ${RECOVER}`;

type ContentParts = Pick<StoredContent, 'state' | 'journal' | 'files'>;

/** The document and the journal entries since its last write. Both may be sealed. */
interface ReadContent {
  readonly document: StoredDocument | undefined;
  readonly journal: readonly StoredEntry[];
}

/** Decrypts the document and its journal. @throws UserError if the settings require the other form, or if the decryption fails. */
export async function decryptContent(
  { document, journal }: ReadContent,
  location: string,
  seal: Seal = noSeal,
): Promise<Pick<StoredState, 'document' | 'journal'>> {
  const state = document && (await seal.decrypt(document, location));
  const entries = journal.map((entry) => ('sealed' in entry ? seal.decryptEntry(entry, location) : entry));
  return { document: state, journal: await Promise.all(entries) };
}

/** Returns the number of records; undefined if the state is sealed, and 0 if there is no state. */
export function recordsIn({ document, journal }: ReadContent): number | undefined {
  if (document === undefined) return 0;
  const entries = journal.filter((entry) => 'event' in entry);
  return isSealed(document) || entries.length < journal.length ? undefined : recordCount(fold(document, entries));
}

/** @throws UserError if the document or the journal is damaged, or if they do not belong together. */
export function parseContent(content: ContentParts, location: string, parse = parseState): ReadContent {
  const { files } = content;
  if (files?.lost !== undefined) throw files.lost;
  const document = documentIn(content, location, parse);
  const entries = journalIn(content, location);
  const journal =
    files === undefined ? entries : entries.filter((entry) => document && continues(entry, document, files));
  const isConsistent = journal.every(
    (entry, index) =>
      entry.lineage === document?.lineage && entry.serial === document.serial && entry.sequence === index + 1,
  );
  if (!isConsistent) {
    throw new LostState(`the journal of the state ${files?.document ?? location} does not belong to its document`, {
      hint: files?.restore ?? EARLIER,
    });
  }
  return { document, journal };
}

function documentIn(
  { state, files }: ContentParts,
  location: string,
  parse: typeof parseState,
): StoredDocument | undefined {
  return state && parse(state, files?.document ?? location, files?.restore ?? EARLIER);
}

/** A remote store keeps only complete lines. An incomplete line means damage, because its entry was reported as stored. */
function journalIn({ journal, files }: ContentParts, location: string): readonly StoredEntry[] {
  const bytes = Buffer.from(journal.buffer, journal.byteOffset, journal.byteLength);
  if (files !== undefined) return parseJournal(bytes, files.journal).entries;
  try {
    const { entries, goodLength } = parseJournal(bytes, `${location} journal`);
    if (goodLength === bytes.length) return entries;
  } catch (error) {
    if (!(error instanceof LostState)) throw error;
  }
  throw new LostState(`the journal of the state ${location} is damaged`, { hint: EARLIER });
}

/** False for an entry that is already in the document, because a commit was interrupted after it had replaced the document. */
function continues(entry: StoredEntry, document: StoredDocument, files: ContentFiles): boolean {
  if (entry.lineage !== document.lineage || entry.serial < document.serial) return false;
  if (entry.serial === document.serial) return true;
  throw new LostState(
    `the journal ${files.journal} continues serial ${entry.serial}, but the state has serial ${document.serial}: the state was replaced by an older one`,
    {
      hint: advice`Restore the state with serial ${String(entry.serial)} from version control or from its backup ending in .backup-${String(entry.serial)}. ${RECOVER}`,
    },
  );
}

/** Returns the serial of the document; undefined if there is no document, or only the mark of a moved state of the lineage. */
export function serialIn(content: ContentParts, location: string, lineage: string): number | undefined {
  if (content.files?.lost !== undefined) throw content.files.lost;
  try {
    return documentIn(content, location, parseState)?.serial;
  } catch (error) {
    if (error instanceof MovedState && error.mark.lineage === lineage) return undefined;
    throw error;
  }
}

/** Adds `newer` if this machine knows a later write than the state, which happens after an older state was restored. */
export async function withNewer(
  stored: StoredState,
  { store, user, content }: { readonly store: ObjectStore; readonly user: StoreUser; readonly content: ContentParts },
): Promise<StoredState> {
  const { document } = stored;
  if (document === undefined) return stored;
  if (store.local !== undefined) {
    const newer = await store.local.newer(document, content.journal.length > 0);
    return { ...stored, newer };
  }
  const mark = await user.marks?.read(document);
  return mark !== undefined && isSuperseded(document, mark)
    ? { ...stored, newer: { serial: mark.serial, copy: undefined, missing: [] } }
    : stored;
}

export function textOfMark(mark: MovedMark): Uint8Array {
  return Buffer.from(`${JSON.stringify(mark, null, 2)}\n`);
}

/** Describes another state of the workspace. Returns undefined for states of other workspaces, moved states, and empty unlocked states. */
export function otherStateIn(other: OtherContent, workspaceId: string): FoundState | undefined {
  const { location, from, isLocked = false } = other;
  try {
    const { document, journal } = parseContent(other, location);
    if (document?.workspace_id !== workspaceId) return undefined;
    const records = recordsIn({ document, journal });
    return records === 0 && !isLocked ? undefined : { location, from, records };
  } catch (error) {
    return error instanceof MovedState ? undefined : { location, from, records: undefined };
  }
}

/** Returns the document as a backup, or an empty list if the document cannot be read. */
export async function backupOf(
  { source, bytes }: EarlierDocument,
  { seal = noSeal, isCurrent }: { readonly seal: Seal | undefined; readonly isCurrent: boolean },
): Promise<StateBackup[]> {
  try {
    const document = await seal.decryptCopy(parseState(bytes, source, EARLIER), source);
    const { resources, pending, orphans, workspaceId } = fold(document, []);
    return [{ resources, pending, orphans, workspaceId, source, isCurrent }];
  } catch {
    return [];
  }
}
