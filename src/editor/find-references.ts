import path from 'node:path';
import { isScalar } from 'yaml';
import type { DocumentPath } from '../manifests/finding.ts';
import { type Address, parseAddress } from '../manifests/resource.ts';
import { addressPlaces, type PlacedAddress } from './address-places.ts';
import { documentAround, documentsIn, placedNodes, rangeIn } from './document-at.ts';
import { knownFile, namedFile, type PlaceInFile, type ProjectSnapshot, roleOf, type TextRange } from './snapshot.ts';

export interface FoundAddress extends PlacedAddress {
  /** Relative to the project folder. */
  readonly file: string;
}

/** Returns the address at an offset; undefined if there is no address or its kind is unknown. */
export function addressAt(snapshot: ProjectSnapshot, file: string, offset: number): FoundAddress | undefined {
  const known = knownFile(snapshot, file);
  if (known === undefined) return undefined;
  const { text, role } = known;
  const { start, text: document } = documentAround(text, offset);
  const position = offset - start;
  const found = addressPlaces(document, role).find(
    ({ range, kind }) => kind !== undefined && range.start <= position && position <= range.end,
  );
  if (found === undefined) return undefined;
  const shift = (range: TextRange): TextRange => ({ start: start + range.start, end: start + range.end });
  return { ...found, file, range: shift(found.range), nameRange: found.nameRange && shift(found.nameRange) };
}

/** Returns all occurrences of an address in the project, in file order. In rules, a name may also belong to another kind. */
export function placesOf(snapshot: ProjectSnapshot, address: Address): readonly FoundAddress[] {
  const target = parseAddress(address);
  if (target === undefined) return [];
  return filesOf(snapshot).flatMap((file) => {
    // A file with escapes may contain the name in another notation.
    const text = snapshot.textOf(file) ?? '';
    if (!text.includes(target.name) && !text.includes('\\')) return [];
    return placesIn(snapshot, file)
      .filter(({ name, kind }) => name === target.name && (kind === undefined || kind === target.kind))
      .map((place) => ({ ...place, file }));
  });
}

/** Returns the files that can contain names. */
function filesOf({ project, files }: ProjectSnapshot): readonly string[] {
  return project?.file === undefined || files.includes(project.file) ? files : [...files, project.file];
}

/** Returns the variable, file or workspace at an offset. */
function valueAt(
  snapshot: ProjectSnapshot,
  file: string,
  offset: number,
): Pick<PlacedValue, 'is' | 'name'> | undefined {
  const text = snapshot.textOf(file);
  if (text === undefined) return undefined;
  return namedValuesIn(snapshot, file, documentAround(text, offset)).find(
    ({ range }) => range.start <= offset && offset <= range.end,
  );
}

/** Returns the file that `$file` names at an offset, relative to the project folder. */
export function namedFileAt(snapshot: ProjectSnapshot, file: string, offset: number): string | undefined {
  const value = valueAt(snapshot, file, offset);
  return value?.is === 'file' ? value.name : undefined;
}

/** Returns all occurrences of the name of a variable, file or workspace. */
function placesOfValue(
  snapshot: ProjectSnapshot,
  { is, name }: Pick<PlacedValue, 'is' | 'name'>,
): readonly (PlacedValue & { readonly file: string })[] {
  const word = path.basename(name);
  return filesOf(snapshot).flatMap((file) => {
    const text = snapshot.textOf(file) ?? '';
    if (!text.includes(word) && !text.includes('\\')) return [];
    return namedValuesIn(snapshot, file, { text, start: 0 })
      .filter((each) => each.is === is && each.name === name)
      .map((each) => ({ ...each, file }));
  });
}

/** Returns all occurrences of the address, variable, file or workspace at an offset. */
export function referencesAt(
  snapshot: ProjectSnapshot,
  {
    file,
    offset,
    withDeclaration,
  }: { readonly file: string; readonly offset: number; readonly withDeclaration: boolean },
): readonly PlaceInFile[] {
  const found = addressAt(snapshot, file, offset);
  if (found === undefined) {
    const isPrompt = roleOf(snapshot, file, snapshot.textOf(file) ?? '') === undefined;
    const value = isPrompt ? ({ is: 'file', name: file } as const) : valueAt(snapshot, file, offset);
    const places = value === undefined ? [] : placesOfValue(snapshot, value);
    return places
      .filter(({ declaredFor }) => withDeclaration || declaredFor === undefined)
      .map(({ file: at, range }) => ({ file: at, ...range }));
  }
  return placesOf(snapshot, `${found.kind}/${found.name}`)
    .filter(({ type, kind }) => kind !== undefined && (withDeclaration || type !== 'declaration'))
    .map(({ file: at, range }) => ({ file: at, ...range }));
}

export function placesIn(snapshot: ProjectSnapshot, file: string): readonly PlacedAddress[] {
  const known = knownFile(snapshot, file);
  return known === undefined ? [] : addressPlaces(known.text, known.role);
}

/** An occurrence of the name of a variable, file or workspace in a text. */
interface PlacedValue {
  readonly is: 'variable' | 'file' | 'workspace';
  /** The name. A file is relative to the project folder. */
  readonly name: string;
  readonly range: TextRange;
  /** The workspace for which this occurrence declares the value; undefined for a use. */
  readonly declaredFor: string | undefined;
}

/** Returns the names of variables, files and workspaces in a text, which may be invalid. @param start the text's offset in the file. */
function namedValuesIn(
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
    if (at === 'key') return role === 'project' ? declarationIn(path, word, range) : [];
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

/** Returns the declaration in a key of the project file, if any. */
function declarationIn(path: DocumentPath, name: string, range: TextRange): PlacedValue[] {
  const [first, workspace, third] = path;
  if (first !== 'workspaces') return [];
  if (path.length === 1) return [{ is: 'workspace', name, range, declaredFor: name }];
  return path.length === 3 && third === 'vars' ? [{ is: 'variable', name, range, declaredFor: String(workspace) }] : [];
}

/** Returns the definitions of the name at an offset: `metadata.name`, a variable in the project file, or the start of a file. */
export function definitionsAt(snapshot: ProjectSnapshot, file: string, offset: number): readonly PlaceInFile[] {
  const address = addressAt(snapshot, file, offset);
  if (address !== undefined) return declarationsOf(snapshot, address);
  const value = valueAt(snapshot, file, offset);
  if (value === undefined) return [];
  if (value.is === 'file')
    return snapshot.textOf(value.name) === undefined ? [] : [{ file: value.name, start: 0, end: 0 }];
  // Return the definitions in all workspaces, the selected one first.
  const isSelected = ({ declaredFor }: { readonly declaredFor: string | undefined }): number =>
    Number(declaredFor === snapshot.workspace?.name);
  return placesOfValue(snapshot, value)
    .filter(({ declaredFor }) => declaredFor !== undefined)
    .sort((a, b) => isSelected(b) - isSelected(a))
    .map(({ file: at, range }) => ({ file: at, ...range }));
}

/** Returns the declarations of a current or previous name; several if the name is declared twice. */
function declarationsOf(snapshot: ProjectSnapshot, { kind, name }: PlacedAddress): readonly PlaceInFile[] {
  const declared = snapshot.declarations.filter(
    ({ kind: of, metadata }) => of.name === kind && (metadata.name === name || metadata.previous_names?.includes(name)),
  );
  const names = new Set(declared.map(({ metadata }) => metadata.name));
  return [...new Set(declared.map(({ source }) => source.file))].flatMap((file) =>
    placesIn(snapshot, file)
      .filter((place) => place.type === 'declaration' && place.kind === kind && names.has(place.name))
      .map(({ range }) => ({ file, ...range })),
  );
}
