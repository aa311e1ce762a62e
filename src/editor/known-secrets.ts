import path from 'node:path';
import { isInside, realPath } from '../manifests/read-file.ts';
import { Redactor } from '../values/redactor.ts';
import { Secret, specials, type Value } from '../values/value.ts';
import type { FileRole } from './file-role.ts';
import type { ProjectSnapshot } from './snapshot.ts';

const redactors = new WeakMap<ProjectSnapshot['resources'], Redactor>();

/** Redacts the secrets of the workspace from a text. */
export function withoutSecrets({ resources, project }: ProjectSnapshot, text: string): string {
  const redactor = redactors.get(resources) ?? new Redactor();
  if (!redactors.has(resources)) {
    const workspaces = Object.values(project?.workspaces ?? {});
    const values: Value[] = [
      ...resources.map(({ spec }) => spec),
      ...workspaces.flatMap(({ vars, apiKey }) => [vars, apiKey]),
    ];
    for (const secret of values.flatMap(specials))
      if (secret instanceof Secret && secret.isSet) redactor.add(secret.reveal());
    redactors.set(resources, redactor);
  }
  return redactor.redact(text);
}

/** The file that `$file` names in another one; undefined outside of the project, and among secrets. */
export function namedFile(
  { folder, project }: ProjectSnapshot,
  { file, role, name }: { readonly file: string; readonly role: FileRole; readonly name: string },
): string | undefined {
  const real = realPath(path.resolve(folder, role === 'manifest' ? path.dirname(file) : '', name));
  const secret = Object.values(project?.workspaces ?? {}).flatMap(({ secrets }) => secrets.folders);
  const isHidden = secret.some((each) => each !== folder && isInside(real, realPath(each)));
  if (!isInside(real, folder) || isHidden || path.basename(real).startsWith('.env')) return undefined;
  return path.relative(folder, real).replaceAll(path.sep, '/');
}
