import { isScalar } from 'yaml';
import type { DocumentPath } from '../manifests/finding.ts';
import type { PlacedAddress } from './address-places.ts';
import { documentAround, documentsIn, placedNodes, rangeIn } from './document-at.ts';
import { roleOf } from './file-role.ts';
import { addressAt, placesIn } from './find-references.ts';
import { namedFile } from './known-secrets.ts';
import type { PlaceInFile, ProjectSnapshot } from './snapshot.ts';

/** Where what stands at an offset is defined: an address at its `metadata.name`, a variable in the project file, a file at its beginning. */
export function definitionsAt(
  snapshot: ProjectSnapshot,
  file: string,
  offset: number,
): readonly PlaceInFile[] {
  const address = addressAt(snapshot, file, offset);
  if (address !== undefined) {
    return declarationsOf(snapshot, address);
  }
  const text = snapshot.textOf(file);
  const role = text === undefined ? undefined : roleOf(snapshot, file, text);
  if (text === undefined || role === undefined) return [];
  const { start, text: whole } = documentAround(text, offset);
  const placed = [...placedNodes(documentsIn(whole).at(-1)?.contents)].find(({ node, at }) => {
    const range = rangeIn(node);
    return at === 'value' && range.start <= offset - start && offset - start <= range.end;
  });
  if (placed === undefined || !isScalar(placed.node) || typeof placed.node.value !== 'string') return [];
  const { value } = placed.node;
  switch (placed.path.at(-1)) {
    case '$file': {
      const target = namedFile(snapshot, { file, role, name: value });
      if (target === undefined) return [];
      return snapshot.textOf(target) === undefined ? [] : [{ file: target, start: 0, end: 0 }];
    }
    case '$var':
      return variableAt(snapshot, value);
    case 'default_workspace':
      return keyAt(snapshot, ['workspaces', value]);
    default:
      return [];
  }
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

/** In each workspace that has it, the selected one first. */
function variableAt(snapshot: ProjectSnapshot, name: string): readonly PlaceInFile[] {
  const { project, workspace } = snapshot;
  const names = new Set([workspace?.name ?? '', ...Object.keys(project?.workspaces ?? {})]);
  return [...names].flatMap((each) => keyAt(snapshot, ['workspaces', each, 'vars', name]));
}

/** A key of the project file. */
function keyAt({ project, textOf }: ProjectSnapshot, path: DocumentPath): readonly PlaceInFile[] {
  const file = project?.file;
  const text = file === undefined ? undefined : textOf(file);
  if (file === undefined || text === undefined) return [];
  const [key, holder] = [path.at(-1), path.slice(0, -1)];
  return [...placedNodes(documentsIn(text).at(-1)?.contents)]
    .filter(
      ({ node, at, path: found }) =>
        at === 'key' && isScalar(node) && node.value === key && isSame(found, holder),
    )
    .map(({ node }) => ({ file, ...rangeIn(node) }));
}

function isSame(a: DocumentPath, b: DocumentPath): boolean {
  return a.length === b.length && a.every((part, index) => part === b[index]);
}
