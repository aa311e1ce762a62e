import { isScalar } from 'yaml';
import type { DocumentPath } from '../manifests/finding.ts';
import { documentsIn, placedNodes, rangeIn } from './document-at.ts';
import { roleOf } from './file-role.ts';
import { namedFile } from './known-secrets.ts';
import type { ProjectSnapshot, TextRange } from './snapshot.ts';

/** A variable, a file or a workspace, where a text names it. */
export interface PlacedValue {
  readonly is: 'variable' | 'file' | 'workspace';
  /** Of a file: relative to the project folder. */
  readonly name: string;
  readonly range: TextRange;
  /** The workspace whose setting declares it; undefined where it is used. */
  readonly declaredFor: string | undefined;
}

/** Every place of a text, which may be broken, that names one. @param start of the text in the file. */
export function namedValuesIn(
  snapshot: ProjectSnapshot,
  file: string,
  { text, start }: { readonly text: string; readonly start: number },
): readonly PlacedValue[] {
  const role = roleOf(snapshot, file, snapshot.textOf(file) ?? '');
  if (role === undefined) return [];
  const nodes = documentsIn(text).flatMap(({ contents }) => [...placedNodes(contents)]);
  return nodes.flatMap(({ node, path, at }): PlacedValue[] => {
    if (!isScalar(node) || path.includes('$literal')) return [];
    const { start: from, end } = rangeIn(node);
    const range = { start: start + from, end: start + end };
    const word = String(node.value);
    if (at === 'key') return role === 'project' ? declared(path, word, range) : [];
    const is = FORMS[String(path.at(-1))];
    if (is === undefined || (is === 'workspace' && !(role === 'project' && path.length === 1))) return [];
    const name = is === 'file' ? namedFile(snapshot, { file, role, name: word }) : word;
    return name === undefined ? [] : [{ is, name, range, declaredFor: undefined }];
  });
}

const FORMS: Readonly<Record<string, PlacedValue['is']>> = {
  $var: 'variable',
  $file: 'file',
  default_workspace: 'workspace',
};

/** A key of the project file. */
function declared(path: DocumentPath, name: string, range: TextRange): PlacedValue[] {
  const [first, workspace, third] = path;
  if (first !== 'workspaces') return [];
  if (path.length === 1) return [{ is: 'workspace', name, range, declaredFor: name }];
  return path.length === 3 && third === 'vars'
    ? [{ is: 'variable', name, range, declaredFor: String(workspace) }]
    : [];
}
