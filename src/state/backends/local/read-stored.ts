import type { Files } from '../../../files/files.ts';
import { shellWord } from '../../../problems/shell-word.ts';
import { advice } from '../../../problems/user-error.ts';
import { parseState } from '../../document-text.ts';
import { fold } from '../../fold.ts';
import { missingFrom } from '../../held-ids.ts';
import { type JournalEntry, parseJournal } from '../../journal-lines.ts';
import { isPassed, type Marks } from '../../marks.ts';
import type { StateDocument } from '../../state-document.ts';
import { LostState, type NewerState, RECOVER } from '../../state-errors.ts';
import type { StoredState } from '../../store.ts';
import { newerBackups, readDocument } from './document-file.ts';
import { readIfThere } from './file-problem.ts';

interface StoredFiles {
  readonly stored: StoredState;
  readonly journalFile: {
    readonly size: number;
    /** Bytes of the whole lines. */
    readonly goodLength: number;
    /** Entries that belong to another document than the one in force. */
    readonly leftover: readonly JournalEntry[];
  };
}

export function journalPathOf(path: string): string {
  return `${path}.journal`;
}

/**
 * The document and the journal that goes with it. The journal is read first: one that is folded in between is then seen as
 * the older, and never as missing.
 * @throws UserError where either cannot be used, or where they do not belong together.
 */
export async function readStored(files: Files, path: string, parse = parseState): Promise<StoredFiles> {
  const journalPath = journalPathOf(path);
  const bytes = (await readIfThere(files, journalPath)) ?? Buffer.alloc(0);
  const document = await readDocument(files, path, parse);
  if (document === undefined && bytes.length > 0) {
    throw new LostState(`the state ${path} is missing, but its journal exists`, {
      hint: advice`Restore the state from version control or another backup. ${RECOVER} Move ${journalPath} away only if none of its records exist.`,
    });
  }
  const { entries, goodLength } = parseJournal(bytes, journalPath);
  const journal = entries.filter((entry) => document !== undefined && belongs(entry, document, journalPath));
  journal.forEach((entry, index) => {
    if (entry.sequence !== index + 1) throw gap(journalPath, index + 1, entry.sequence);
  });
  return {
    stored: { document, journal },
    journalFile: {
      size: bytes.length,
      goodLength,
      leftover: entries.filter((entry) => !journal.includes(entry)),
    },
  };
}

/** What the entries tell of and the document does not know: addresses, with their ids where there are any. */
export function unknownTo(document: StateDocument, entries: readonly JournalEntry[]): string[] {
  const none = { ...document, resources: {}, pending: {}, orphans: [] };
  return missingFrom(document, fold(none, entries).toDocument(document));
}

/** An older entry is in the document already: a commit was cut short after it had replaced the document. */
function belongs(entry: JournalEntry, document: StateDocument, journalPath: string): boolean {
  if (entry.lineage !== document.lineage || entry.serial < document.serial) return false;
  if (entry.serial === document.serial) return true;
  throw new LostState(
    `the journal ${journalPath} continues serial ${entry.serial}, but the state has serial ${document.serial}: it was replaced by an older one`,
    {
      hint: advice`Restore the state with serial ${String(entry.serial)} from version control or from its backup ending in .backup-${String(entry.serial)}. ${RECOVER}`,
    },
  );
}

function gap(journalPath: string, expected: number, found: number): LostState {
  return new LostState(`the journal ${journalPath} is damaged: found entry ${found} instead of ${expected}`, {
    hint: advice`Restore the journal from a backup. ${RECOVER}`,
  });
}

interface StatePlaces {
  readonly files: Files;
  /** Of the document. */
  readonly path: string;
  readonly marks: Marks | undefined;
  readonly parse?: typeof parseState | undefined;
}

/** The state, and what the backups beside it and the mark of this machine know of a write that it does not have. */
export async function readWithNewer(around: StatePlaces): Promise<StoredState> {
  const { stored, journalFile } = await readStored(around.files, around.path, around.parse);
  const { document } = stored;
  const hasJournal = journalFile.size > 0;
  return { ...stored, newer: document && (await newerThan(document, { ...around, hasJournal })) };
}

/** @param around tells of a journal too: a run that died in a commit leaves one with a newer backup, and then nothing is amiss. */
async function newerThan(
  document: StateDocument,
  { files, path, marks, hasJournal }: StatePlaces & { readonly hasJournal: boolean },
): Promise<NewerState | undefined> {
  const mark = await marks?.read(document);
  const passed = mark !== undefined && isPassed(document, mark) ? mark : undefined;
  const places = hasJournal ? [] : await newerBackups(files, path, document.serial);
  if (passed !== undefined && passed.path !== path) places.push(passed.path);
  let newest: { readonly place: string; readonly copy: StateDocument } | undefined;
  for (const place of places) {
    const copy = await documentIn(files, place);
    if (copy === undefined || !isLater(copy, document)) continue;
    if (newest === undefined || copy.serial > newest.copy.serial) newest = { place, copy };
  }
  if (newest === undefined) return passed && { serial: passed.serial, copy: undefined, missing: [] };
  const { place, copy } = newest;
  return {
    serial: Math.max(copy.serial, passed?.serial ?? 0),
    copy: shellWord(place),
    missing: missingFrom(document, copy),
  };
}

function isLater(copy: StateDocument, document: StateDocument): boolean {
  const isSame = copy.lineage === document.lineage && copy.workspace_id === document.workspace_id;
  return isSame && isPassed(document, copy);
}

/** The document in a file; undefined where it cannot be read: then it is no copy that anybody could push. */
export async function documentIn(files: Files, file: string): Promise<StateDocument | undefined> {
  try {
    const bytes = await readIfThere(files, file);
    return bytes && parseState(bytes, file, '');
  } catch {
    return undefined;
  }
}
