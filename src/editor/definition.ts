import type { PlacedAddress } from './address-places.ts';
import { addressAt, placesIn, placesOfValue, valueAt } from './find-references.ts';
import type { PlaceInFile, ProjectSnapshot } from './snapshot.ts';

/** Where what stands at an offset is defined: an address at its `metadata.name`, a variable in the project file, a file at its beginning. */
export function definitionsAt(
  snapshot: ProjectSnapshot,
  file: string,
  offset: number,
): readonly PlaceInFile[] {
  const address = addressAt(snapshot, file, offset);
  if (address !== undefined) return declarationsOf(snapshot, address);
  const value = valueAt(snapshot, file, offset);
  if (value === undefined) return [];
  if (value.is === 'file')
    return snapshot.textOf(value.name) === undefined ? [] : [{ file: value.name, start: 0, end: 0 }];
  // In each workspace that has it, the selected one first.
  const isSelected = ({ declaredFor }: { readonly declaredFor: string | undefined }): number =>
    Number(declaredFor === snapshot.workspace?.name);
  return placesOfValue(snapshot, value)
    .filter(({ declaredFor }) => declaredFor !== undefined)
    .sort((a, b) => isSelected(b) - isSelected(a))
    .map(({ file: at, range }) => ({ file: at, ...range }));
}

/** The place of its name, also for a former one; several where it is declared twice. */
function declarationsOf(snapshot: ProjectSnapshot, { kind, name }: PlacedAddress): readonly PlaceInFile[] {
  const declared = snapshot.declarations.filter(
    ({ kind: of, metadata }) =>
      of.name === kind && (metadata.name === name || metadata.previous_names?.includes(name)),
  );
  const names = new Set(declared.map(({ metadata }) => metadata.name));
  return [...new Set(declared.map(({ source }) => source.file))].flatMap((file) =>
    placesIn(snapshot, file)
      .filter((place) => place.is === 'declaration' && place.kind === kind && names.has(place.name))
      .map(({ range }) => ({ file, ...range })),
  );
}
