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

/** The desired new value of a manifest field. */
export interface WantedValue {
  readonly address: Address;
  readonly path: LeafPath;
  /** The value as the platform stores it, with ids for references. Undefined removes the field. */
  readonly value: Json | undefined;
}

export interface PlanEditsOptions extends Omit<LoadDesiredOptions, 'mode'> {
  readonly lookups: ReadonlyMap<string, LookupName>;
  readonly wanted: readonly WantedValue[];
  /** Ids of possible `$ref` targets by address. Ambiguous names are excluded. */
  readonly records: ReadonlyMap<Address, string>;
}

/** The current and the new text of a file, with byte order marks. */
export interface FileEdit {
  /** The path relative to the project folder, with forward slashes. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

export interface RefusedEdit {
  readonly address: Address;
  readonly path: LeafPath;
  /** The reason, as a clause. */
  readonly why: string;
}

export interface EditPlan {
  readonly files: readonly FileEdit[];
  readonly refused: readonly RefusedEdit[];
}

/** A text file of the project that may be written. */
export interface EditableFile {
  /** The path relative to the project folder, with forward slashes. */
  readonly file: string;
  /** The real path. */
  readonly absolute: string;
  /** The byte order mark, or an empty string. */
  readonly mark: string;
  /** The text without the byte order mark. */
  readonly text: string;
}

/**
 * Reads a file of the project for editing.
 * @param absolute a path. A symbolic link is followed only inside the project.
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

/** Applies edits to a file of the project, without writing it. @throws CannotEdit */
export function editedFile(root: string, file: string, edits: readonly TextEdit[]): FileEdit {
  const { mark, text } = editableFile(root, path.join(root, file));
  const { text: edited, refused } = editText(text, edits, { json: isJson(text) });
  if (refused[0] !== undefined) throw new CannotEdit(refused[0].why);
  return { file, before: mark + text, after: mark + edited };
}
