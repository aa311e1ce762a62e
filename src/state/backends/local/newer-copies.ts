import type { Files } from '../../../files/files.ts';
import { shellWord } from '../../../problems/shell-word.ts';
import { parseState } from '../../document-text.ts';
import { missingFrom } from '../../held-ids.ts';
import { isPassed, type Marks } from '../../marks.ts';
import type { StateDocument } from '../../state-document.ts';
import type { NewerState } from '../../state-errors.ts';
import type { StoredState } from '../../store.ts';
import { newerBackups } from './document-file.ts';
import { readIfThere } from './file-problem.ts';
import { readStored } from './read-stored.ts';

interface StatePlaces {
  readonly files: Files;
  /** Of the document. */
  readonly path: string;
  readonly marks: Marks | undefined;
}

/** The state, and what the backups beside it and the mark of this machine know of a write that it does not have. */
export async function readWithNewer(around: StatePlaces): Promise<StoredState> {
  const { stored, journalFile } = await readStored(around.files, around.path);
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
