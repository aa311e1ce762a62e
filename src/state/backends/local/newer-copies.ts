import type { Files } from '../../../files/files.ts';
import { shellWord } from '../../../problems/shell-word.ts';
import type { StateDocument } from '../../document.ts';
import { parseState } from '../../document-text.ts';
import type { Mark, Marks } from '../../marks.ts';
import { missingFromDocument, type NewerState } from '../../newer-state.ts';
import { newerBackups } from './document-file.ts';
import { readIfThere } from './file-problem.ts';

export interface Around {
  readonly files: Files;
  /** Of the document. */
  readonly path: string;
  readonly marks: Marks | undefined;
  /** A run that died in a commit leaves a newer backup, and its journal: then the document is not older than it should be. */
  readonly hasJournal: boolean;
}

/** What the backups beside the document and the mark of this machine know of a write that the document does not have. */
export async function newerThan(document: StateDocument, around: Around): Promise<NewerState | undefined> {
  const { files, path, marks, hasJournal } = around;
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
    missing: missingFromDocument(document, copy),
  };
}

function isPassed({ serial, write }: StateDocument, mark: Mark): boolean {
  return mark.serial > serial || (mark.serial === serial && mark.write !== write);
}

function isLater(copy: StateDocument, document: StateDocument): boolean {
  const isSame = copy.lineage === document.lineage && copy.workspace_id === document.workspace_id;
  return isSame && isPassed(document, { ...copy, path: '' });
}

/** Undefined where it cannot be read: then it is no copy that anybody could push. */
async function documentIn(files: Files, place: string): Promise<StateDocument | undefined> {
  try {
    const bytes = await readIfThere(files, place);
    return bytes && parseState(bytes, place, '');
  } catch {
    return undefined;
  }
}
