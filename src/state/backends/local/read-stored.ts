import type { Files } from '../../../files/files.ts';
import { fold } from '../../fold.ts';
import { missingFrom } from '../../held-ids.ts';
import type { JournalEntry } from '../../journal.ts';
import { parseJournal } from '../../journal-lines.ts';
import type { StateDocument } from '../../state-document.ts';
import { LostState, RECOVER } from '../../state-errors.ts';
import type { StoredState } from '../../store.ts';
import { readDocument } from './document-file.ts';
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
export async function readStored(files: Files, path: string): Promise<StoredFiles> {
  const journalPath = journalPathOf(path);
  const bytes = (await readIfThere(files, journalPath)) ?? Buffer.alloc(0);
  const document = await readDocument(files, path);
  if (document === undefined && bytes.length > 0) {
    throw new LostState(`the state ${path} is missing, but its journal exists`, {
      hint:
        `Restore the state from version control or another backup. ${RECOVER} ` +
        `Move ${journalPath} away only if none of its records exist.`,
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
      hint:
        `Restore the state with serial ${entry.serial} from version control or from its backup ending in .backup-${entry.serial}. ` +
        RECOVER,
    },
  );
}

function gap(journalPath: string, expected: number, found: number): LostState {
  return new LostState(`the journal ${journalPath} is damaged: found entry ${found} instead of ${expected}`, {
    hint: `Restore the journal from a backup. ${RECOVER}`,
  });
}
