import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Declaration } from '../manifests/declaration.ts';
import { type DocumentPath, formatPath } from '../manifests/finding.ts';
import { isForm } from '../manifests/layers.ts';
import { parseDocuments } from '../manifests/parse-documents.ts';
import { readTextFile } from '../manifests/read-file.ts';
import { isObject, type Json } from '../values/json.ts';
import type { Project } from './project.ts';

/** A `$file` form somewhere in the project. */
export interface FileUse {
  /** Tells it from every other one. */
  readonly key: string;
  /** For a person: whose text the file is. */
  readonly name: string;
}

/** Where a form stands. */
export interface FormPlace {
  readonly file: string;
  readonly document: number;
  readonly path: DocumentPath;
}

export function useKey({ file, document, path: at }: FormPlace): string {
  return JSON.stringify([file, document, ...at]);
}

/** Every `$file` of the project, those for other workspaces included, by the real path of the file that it names. */
export function fileUses(
  project: Project,
  declarations: readonly Declaration[],
): ReadonlyMap<string, readonly FileUse[]> {
  const uses = new Map<string, FileUse[]>();
  const collect = (value: Json, place: FormPlace, owner: string): void => {
    if (isForm(value) && typeof value.$file === 'string') {
      const real = realPath(path.resolve(project.root, path.dirname(place.file), value.$file));
      const known = uses.get(real) ?? [];
      known.push({ key: useKey(place), name: `${owner} ${formatPath(place.path)}` });
      uses.set(real, known);
    }
    const entries = Array.isArray(value) ? value.entries() : isObject(value) ? Object.entries(value) : [];
    for (const [key, item] of entries) collect(item as Json, { ...place, path: [...place.path, key] }, owner);
  };
  for (const { home, address } of declarations) {
    collect(home.value, { file: home.file, document: home.document, path: home.base }, address);
  }
  const { file } = project;
  const read = file === undefined ? undefined : readTextFile(path.join(project.root, file), project.root);
  if (file !== undefined && read !== undefined && 'text' in read) {
    for (const { index, value } of parseDocuments(read.text).documents) {
      if (value !== undefined) collect(value, { file, document: index, path: [] }, file);
    }
  }
  return uses;
}

export function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
