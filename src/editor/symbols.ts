import { isMap, isScalar, isSeq, type Scalar } from 'yaml';
import { addressPlaces } from './address-places.ts';
import { documentsIn, rangeIn } from './document-at.ts';
import { placesIn } from './find-references.ts';
import { knownFile, type PlaceInFile, type ProjectSnapshot, type TextRange } from './snapshot.ts';

export interface FileSymbol {
  readonly name: string;
  readonly is: 'resource' | 'section' | 'entry';
  readonly range: TextRange;
  readonly nameRange: TextRange;
  readonly children: readonly FileSymbol[];
}

/** Returns the outline of a file: its resources, or its settings with the named items below them. */
export function symbolsIn(snapshot: ProjectSnapshot, file: string): readonly FileSymbol[] {
  const known = knownFile(snapshot, file);
  if (known === undefined) return [];
  const { text, role } = known;
  if (role !== 'manifest') return documentsIn(text).flatMap(({ contents }) => entriesOf(contents, 'section'));
  const declared = addressPlaces(text, role).filter(({ type }) => type === 'declaration');
  return documentsIn(text).flatMap(({ contents }): FileSymbol[] => {
    if (!isMap(contents)) return [];
    const range = rangeIn(contents);
    return declared
      .filter(({ range: { start } }) => range.start <= start && start < range.end)
      .map(({ kind, name, range: nameRange }) => ({
        name: `${kind}/${name}`,
        is: 'resource',
        range,
        nameRange,
        children: entriesOf(contents.get('spec'), 'entry'),
      }));
  });
}

/** Returns the keys of an object, or the names of the objects in a list. A section also contains the entries one level below. */
function entriesOf(node: unknown, is: FileSymbol['is']): FileSymbol[] {
  const below = (value: unknown) => (is === 'section' ? entriesOf(value, 'entry') : []);
  if (isSeq(node)) {
    return node.items.flatMap((item) => {
      const name: unknown = isMap(item) ? item.get('name', true) : undefined;
      return isMap(item) && isScalar(name) ? [entry(name, rangeIn(item), { is, children: [] })] : [];
    });
  }
  if (!isMap(node)) return [];
  return node.items.flatMap(({ key, value }) => {
    if (!isScalar(key)) return [];
    const { start, end } = rangeIn(key);
    const range = { start, end: Math.max(end, rangeEnd(value)) };
    return [entry(key, range, { is, children: below(value) })];
  });
}

function entry(name: Scalar, range: TextRange, more: Pick<FileSymbol, 'is' | 'children'>): FileSymbol {
  // Editors reject an empty name.
  return { name: String(name.value) || '(empty)', range, nameRange: rangeIn(name), ...more };
}

function rangeEnd(node: unknown): number {
  return isScalar(node) || isMap(node) || isSeq(node) ? rangeIn(node).end : 0;
}

/** Returns declared resources whose address contains all letters of the query in the same order. */
export function resourcesNamed(
  snapshot: ProjectSnapshot,
  query: string,
  max: number,
): readonly (PlaceInFile & { readonly name: string })[] {
  const matching = snapshot.declarations.filter(({ address }) =>
    hasLetters(address.toLowerCase(), query.toLowerCase()),
  );
  const files = Map.groupBy(matching.slice(0, max), ({ source }) => source.file);
  return [...files].flatMap(([file, declared]) => {
    const names = new Set(declared.map(({ address }) => address));
    return placesIn(snapshot, file).flatMap(({ type, kind, name, range }) =>
      type === 'declaration' && names.has(`${kind}/${name}`) ? [{ name: `${kind}/${name}`, file, ...range }] : [],
    );
  });
}

function hasLetters(text: string, letters: string): boolean {
  let at = 0;
  for (const letter of letters) {
    at = text.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
