import { readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { readTextFile } from '../../manifests/read-file.ts';
import { CannotEdit } from '../../manifests/write-back/change.ts';
import { editText, isJson, type TextEdit } from '../../manifests/write-back/edit-text.ts';
import type { FileEdit } from './edit-plan.ts';

/** A text file of the project that may be written. */
export interface EditableFile {
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
  /** Its real path. */
  readonly absolute: string;
  /** Its byte order mark, if any. */
  readonly mark: string;
  /** Without the mark. */
  readonly text: string;
}

/**
 * @param absolute a readable path. A symbolic link is followed only inside the project.
 * @throws CannotEdit
 */
export function editableFile(root: string, absolute: string): EditableFile {
  const file = path.relative(root, absolute).replaceAll(path.sep, '/');
  const read = readTextFile(absolute, root);
  if (!('text' in read)) throw new CannotEdit(`${file}: ${read.problem.message}`);
  const { text } = read;
  const hasMark = readFileSync(absolute).length > Buffer.byteLength(text);
  return { file, absolute: realpathSync(absolute), mark: hasMark ? '\ufeff' : '', text };
}

/** A file of the project after these edits. @throws CannotEdit */
export function editedFile(root: string, file: string, edits: readonly TextEdit[]): FileEdit {
  const { mark, text } = editableFile(root, path.join(root, file));
  const { text: edited, refused } = editText(text, edits, { json: isJson(text) });
  if (refused[0] !== undefined) throw new CannotEdit(refused[0].why);
  return { file, before: mark + text, after: mark + edited };
}
