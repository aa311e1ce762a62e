import { advice, command } from '../../../problems/user-error.ts';
import { statePieces } from '../../document-pieces.ts';
import { parseState } from '../../document-text.ts';
import { fold, recordCount } from '../../fold.ts';
import { type JournalEntry, parseJournal } from '../../journal-lines.ts';
import { isPassed, type Marks } from '../../marks.ts';
import type { StateDocument } from '../../state-document.ts';
import { LostState, type MovedMark, MovedState, RECOVER } from '../../state-errors.ts';
import type { StateBackup, StateElsewhere, StoredState } from '../../store.ts';
import type { EarlierDocument, OtherContent, RemoteContent, RemotePlace } from './remote-place.ts';

/* What a place holds is the document and the journal as the local files have them. */

const EARLIER = advice`Push an earlier copy: ${command('state push FILE')}. ${RECOVER}`;

/** The document and the journal that goes with it. Throws as `parseState` and `parseJournal` do. */
export function storedIn(
  held: Pick<RemoteContent, 'state' | 'journal'>,
  { location }: Pick<RemotePlace, 'location'>,
  parse = parseState,
): StoredState {
  const document = held.state && parse(held.state, location, EARLIER);
  const journal = journalIn(held.journal, location);
  const isWhole = journal.every(
    (entry, index) =>
      entry.lineage === document?.lineage && entry.serial === document.serial && entry.sequence === index + 1,
  );
  if (!isWhole) {
    throw new LostState(`the journal of the state ${location} does not go with its document`, {
      hint: EARLIER,
    });
  }
  return { document, journal };
}

/** A place stores whole lines or none: one that was cut was stored, and somebody was told so. */
function journalIn(held: Uint8Array, location: string): readonly JournalEntry[] {
  try {
    const { entries, goodLength } = parseJournal(Buffer.from(held), `${location} journal`);
    if (goodLength === held.length) return entries;
  } catch (error) {
    if (!(error instanceof LostState)) throw error;
  }
  throw new LostState(`the journal of the state ${location} is damaged`, { hint: EARLIER });
}

/** The serial of the document in force; undefined where there is none, or where a state of that lineage was moved away: it may come back. */
export function serialIn(
  held: RemoteContent,
  { location }: Pick<RemotePlace, 'location'>,
  lineage: string,
): number | undefined {
  try {
    return held.state && parseState(held.state, location, EARLIER).serial;
  } catch (error) {
    if (error instanceof MovedState && error.mark.lineage === lineage) return undefined;
    throw error;
  }
}

/** With the later write that this machine knows of, where somebody put an older one in its place. */
export async function withNewer(stored: StoredState, marks: Marks | undefined): Promise<StoredState> {
  const { document } = stored;
  const mark = document && (await marks?.read(document));
  if (document === undefined || mark === undefined) return stored;
  return isPassed(document, mark)
    ? { ...stored, newer: { serial: mark.serial, copy: undefined, missing: [] } }
    : stored;
}

export function textOfDocument(document: StateDocument): Uint8Array {
  return Buffer.concat([...statePieces(document)]);
}

export function textOfMark(mark: MovedMark): Uint8Array {
  return Buffer.from(`${JSON.stringify(mark, null, 2)}\n`);
}

/** The state as another one of the workspace; undefined if it is of another workspace, was moved away, or is empty and no run uses it. */
export function otherStateIn(other: OtherContent, workspaceId: string): StateElsewhere | undefined {
  const { location, from, isLocked = false } = other;
  try {
    const { document, journal } = storedIn(other, other);
    if (document?.workspace_id !== workspaceId) return undefined;
    const records = recordCount(fold(document, journal));
    return records === 0 && !isLocked ? undefined : { location, from, records };
  } catch (error) {
    return error instanceof MovedState ? undefined : { location, from, records: undefined };
  }
}

/** What a document tells; nothing where it cannot be read. */
export function backupOf({ source, bytes }: EarlierDocument, isInForce: boolean): StateBackup[] {
  try {
    const document = parseState(bytes, source, EARLIER);
    const { resources, pending, orphans, workspaceId } = fold(document, []);
    return [{ resources, pending, orphans, workspaceId, source, isInForce }];
  } catch {
    return [];
  }
}
