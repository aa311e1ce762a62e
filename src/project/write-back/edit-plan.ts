import { readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { CannotEdit } from '../../manifests/editing/change.ts';
import { editText, isJson, type TextEdit } from '../../manifests/editing/edit-text.ts';
import type { LookupName } from '../../manifests/kind-schema.ts';
import { readTextFile } from '../../manifests/read-file.ts';
import type { Address } from '../../manifests/resource.ts';
import type { Json } from '../../values/json.ts';
import type { LeafPath } from '../../values/path.ts';
import type { LoadDesiredOptions } from '../load-desired.ts';

/** The wanted value of a leaf in the manifests. */
export interface WantedValue {
  readonly address: Address;
  readonly path: LeafPath;
  /** As the platform stores it, with ids for references; undefined removes the field. */
  readonly value: Json | undefined;
}

export interface PlanEditsOptions extends Omit<LoadDesiredOptions, 'mode'> {
  readonly lookups: ReadonlyMap<string, LookupName>;
  readonly wanted: readonly WantedValue[];
  /** Ids of possible `$ref` targets by address, without ambiguous names. */
  readonly records: ReadonlyMap<Address, string>;
}

/** The current and the new text of a file, with byte order marks. */
export interface FileEdit {
  /** Relative to the project folder, with forward slashes. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

export interface RefusedEdit {
  readonly address: Address;
  readonly path: LeafPath;
  /** A clause. */
  readonly why: string;
}

export interface EditPlan {
  readonly files: readonly FileEdit[];
  readonly refused: readonly RefusedEdit[];
}

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
