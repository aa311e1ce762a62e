import { readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { readTextFile } from '../../manifests/read-file.ts';
import { CannotEdit } from '../../manifests/write-back/change.ts';

/** A text file of the project that may be written. */
export interface EditableFile {
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
  /** Its real path. */
  readonly absolute: string;
  /** The byte order mark that it begins with, or nothing. */
  readonly mark: string;
  /** Without the mark. */
  readonly text: string;
}

/**
 * @param absolute where it can be read; a symbolic link is followed inside the project only.
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
