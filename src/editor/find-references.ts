import { type Address, parseAddress } from '../manifests/resource.ts';
import { addressPlaces, type PlacedAddress } from './address-places.ts';
import { documentAround } from './document-at.ts';
import { roleOf } from './file-role.ts';
import type { PlaceInFile, ProjectSnapshot, TextRange } from './snapshot.ts';

/** A place of an address in a file of the project. */
export interface FoundAddress extends PlacedAddress {
  /** Relative to the project folder. */
  readonly file: string;
}

/** The address that stands at an offset; undefined where there is none, or one of no certain kind. */
export function addressAt(snapshot: ProjectSnapshot, file: string, offset: number): FoundAddress | undefined {
  const text = snapshot.textOf(file);
  const role = text === undefined ? undefined : roleOf(snapshot, file, text);
  if (text === undefined || role === undefined) return undefined;
  const { start, text: document } = documentAround(text, offset);
  const here = offset - start;
  const found = addressPlaces(document, role).find(
    ({ range, kind }) => kind !== undefined && range.start <= here && here <= range.end,
  );
  if (found === undefined) return undefined;
  const moved = (range: TextRange): TextRange => ({ start: start + range.start, end: start + range.end });
  return { ...found, file, range: moved(found.range), nameRange: found.nameRange && moved(found.nameRange) };
}

/** Every place of the project where an address stands, in the order of the files. In a rule, also what may be the name of another kind's. */
export function placesOf(snapshot: ProjectSnapshot, address: Address): readonly FoundAddress[] {
  const wanted = parseAddress(address);
  if (wanted === undefined) return [];
  const { project, files } = snapshot;
  const all = [
    ...files,
    ...(project?.file === undefined || files.includes(project.file) ? [] : [project.file]),
  ];
  return all.flatMap((file) => {
    // A file that is written with escapes may hold the name all the same.
    const text = snapshot.textOf(file) ?? '';
    if (!text.includes(wanted.name) && !text.includes('\\')) return [];
    return placesIn(snapshot, file)
      .filter(({ name, kind }) => name === wanted.name && (kind === undefined || kind === wanted.kind))
      .map((place) => ({ ...place, file }));
  });
}

/** All places where the address at an offset stands. */
export function referencesAt(
  snapshot: ProjectSnapshot,
  {
    file,
    offset,
    withDeclaration,
  }: { readonly file: string; readonly offset: number; readonly withDeclaration: boolean },
): readonly PlaceInFile[] {
  const found = addressAt(snapshot, file, offset);
  if (found === undefined) return [];
  return placesOf(snapshot, `${found.kind}/${found.name}`)
    .filter(({ is, kind }) => kind !== undefined && (withDeclaration || is !== 'declaration'))
    .map(({ file: at, range }) => ({ file: at, ...range }));
}

/** Every address in a file. */
export function placesIn(snapshot: ProjectSnapshot, file: string): readonly PlacedAddress[] {
  const text = snapshot.textOf(file);
  const role = text === undefined ? undefined : roleOf(snapshot, file, text);
  return text === undefined || role === undefined ? [] : addressPlaces(text, role);
}
