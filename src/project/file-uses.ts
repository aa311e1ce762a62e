import path from 'node:path';
import type { Declaration } from '../manifests/declaration.ts';
import { type DocumentPath, formatPath } from '../manifests/finding.ts';
import { formsIn } from '../manifests/layers.ts';
import { parseDocuments } from '../manifests/parse-documents.ts';
import { readTextFile, realPath } from '../manifests/read-file.ts';
import type { Json } from '../values/json.ts';
import type { ProjectConfig } from './project.ts';

/** A `$file` form somewhere in the project. */
export interface FileUse {
  /** Unique among all uses. */
  readonly key: string;
  /** The owner of the text, for messages. */
  readonly name: string;
}

interface FormPlace {
  readonly file: string;
  readonly document: number;
  readonly path: DocumentPath;
}

export function useKey({ file, document, path: at }: FormPlace): string {
  return JSON.stringify([file, document, ...at]);
}

/** All uses of `$file` in the project, for all workspaces, by the real path of the file. */
export function fileUses(
  { root, file }: ProjectConfig,
  declarations: readonly Declaration[],
): ReadonlyMap<string, readonly FileUse[]> {
  const uses = new Map<string, FileUse[]>();
  const collect = (value: Json, place: FormPlace, owner: string): void => {
    for (const { form, path: at } of formsIn(value)) {
      if (typeof form.$file !== 'string') continue;
      const real = realPath(path.resolve(root, path.dirname(place.file), form.$file));
      const inside = [...place.path, ...at];
      const use = { key: useKey({ ...place, path: inside }), name: `${owner} ${formatPath(inside)}` };
      uses.set(real, [...(uses.get(real) ?? []), use]);
    }
  };
  for (const { home, address } of declarations) collect(home.value, { ...home, path: home.base }, address);
  const read = file === undefined ? undefined : readTextFile(path.join(root, file), root);
  if (file !== undefined && read !== undefined && 'text' in read) {
    for (const { index, value = null } of parseDocuments(read.text).documents) {
      collect(value, { file, document: index, path: [] }, file);
    }
  }
  return uses;
}
