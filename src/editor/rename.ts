import { sourceText } from '../manifests/declaration.ts';
import { lineAndColumn } from '../manifests/read-file.ts';
import { type Address, NAME_PATTERN, NAME_RULE, parseAddress } from '../manifests/resource.ts';
import { CannotEdit } from '../manifests/write-back/change.ts';
import { editText, isJson } from '../manifests/write-back/edit-text.ts';
import { type Splice, spliced } from '../manifests/write-back/text-source.ts';
import { addressAt, type FoundAddress, placesOf } from './find-references.ts';
import { type HeldAddresses, heldAddresses } from './held-addresses.ts';
import { type NameChange, refuseOtherChanges } from './rename-checks.ts';
import type { PlaceInFile, ProjectSnapshot, TextRange } from './snapshot.ts';

/** A name that can be changed, or why it cannot. */
type Renamable = { readonly range: TextRange; readonly name: string } | { readonly refused: string };

/** A text in place of another. */
export interface PlacedText extends PlaceInFile {
  readonly text: string;
}

export type Renaming =
  | {
      /** In the texts as the snapshot has them. */
      readonly edits: readonly PlacedText[];
      /** Sentences: what of the rules was changed, and what was left. */
      readonly notes: readonly string[];
    }
  | { readonly refused: string };

/** The name at an offset; undefined where no address stands. */
export function renamableAt(snapshot: ProjectSnapshot, file: string, offset: number): Renamable | undefined {
  const found = addressAt(snapshot, file, offset);
  if (found === undefined) return undefined;
  const address = `${found.kind}/${found.name}`;
  if (!snapshot.declarations.some((each) => each.address === address)) {
    return { refused: `no manifest declares ${address}` };
  }
  return found.nameRange === undefined
    ? { refused: 'this is an alias or written with escapes; rename where the name is written' }
    : { range: found.nameRange, name: found.name };
}

/**
 * What must change in which files so that the resource at an offset has another name and keeps its record. Nothing is written: what `validate`
 * and the states on this machine say to it decides whether it can be.
 */
export async function renameAt(
  snapshot: ProjectSnapshot,
  { file, offset, newName }: { readonly file: string; readonly offset: number; readonly newName: string },
): Promise<Renaming> {
  try {
    const found = renamableAt(snapshot, file, offset);
    const place = addressAt(snapshot, file, offset);
    if (found === undefined || place === undefined) throw new CannotEdit('no name of a resource stands here');
    if ('refused' in found) throw new CannotEdit(found.refused);
    const { kind = '', name } = place;
    const given = parseAddress(newName.trim());
    if (given !== undefined && given.kind !== kind)
      throw new CannotEdit(`a rename cannot change the kind ${kind}`);
    const to = given?.name ?? newName.trim();
    if (to === name) return { edits: [], notes: [] };
    if (!NAME_PATTERN.test(to)) throw new CannotEdit(`${JSON.stringify(to)} is no valid name: ${NAME_RULE}`);
    return await renamed(snapshot, { kind, from: name, to });
  } catch (error) {
    if (error instanceof CannotEdit) return { refused: error.message };
    throw error;
  }
}

async function renamed(snapshot: ProjectSnapshot, change: NameChange): Promise<Renaming> {
  const { kind, from, to } = change;
  const address = `${kind}/${from}`;
  const before = await snapshot.checkedWith(new Map());
  const { read, project } = before;
  if (project === undefined || read === undefined)
    throw new CannotEdit(`${snapshot.project?.file ?? 'the project file'} has errors; fix them first`);
  const [unread] = read.unread;
  if (unread !== undefined)
    throw new CannotEdit(
      `${unread.file}${unread.line === undefined ? '' : `:${unread.line}`} cannot be read; fix it first`,
    );
  const [declaration, again] = read.declarations.filter((each) => each.address === address);
  if (declaration === undefined) throw new CannotEdit(`no manifest declares ${address}`);
  if (again !== undefined)
    throw new CannotEdit(`${address} is declared twice, again at ${sourceText(again.source)}`);
  const taken = read.declarations.find((each) => each.address === `${kind}/${to}`);
  if (taken !== undefined)
    throw new CannotEdit(`${taken.address} is already declared at ${sourceText(taken.source)}`);

  const { metadata, home } = declaration;
  const held = await heldAddresses(project);
  const previous = previousNames(metadata.previous_names ?? [], change, held);
  const places = placesOf(snapshot, address);
  const { changed, notes } = chosen(places, {
    snapshot,
    kind,
    declared: read.declarations.map((each) => each.address),
  });
  const splices = Map.groupBy(
    changed.map(({ file, nameRange }) => ({ file, ...nameRange, text: to })),
    ({ file }) => file,
  );
  const text = snapshot.textOf(home.file) ?? '';
  const value = previous.length === 0 ? undefined : previous;
  const edit = { document: home.document, path: ['metadata', 'previous_names'], value };
  const { text: edited, refused } = editText(text, [edit], { json: isJson(text) });
  if (refused[0] !== undefined) throw new CannotEdit(`previous_names: ${refused[0].why}`);
  const listed = differenceOf(text, edited);
  const all = new Map(splices);
  if (listed !== undefined)
    all.set(home.file, [...(splices.get(home.file) ?? []), { file: home.file, ...listed }]);
  const texts = new Map(
    [...all].map(([file, ofFile]) => [file, spliced(snapshot.textOf(file) ?? '', ofFile)]),
  );
  refuseOtherChanges({ before, after: await snapshot.checkedWith(texts), change, previous });
  return { edits: [...all.values()].flat(), notes };
}

/** A former name is kept; on the way back to one, the name that is given up only where a state may know it. */
function previousNames(
  listed: readonly string[],
  { kind, from, to }: NameChange,
  held: HeldAddresses,
): readonly string[] {
  const { workspaces, isComplete } = held;
  const isBack = listed.includes(to);
  const holder = workspaces.get(`${kind}/${to}`);
  if (holder !== undefined && !isBack) {
    throw new CannotEdit(
      `the state of ${holder} has another record under ${kind}/${to}; choose another name`,
    );
  }
  const kept = listed.filter((name) => name !== to);
  const isKnown = !isBack || !isComplete || workspaces.has(`${kind}/${from}`);
  return isKnown ? [...kept, from] : kept;
}

interface Choosing {
  readonly snapshot: ProjectSnapshot;
  readonly kind: string;
  readonly declared: readonly Address[];
}

interface Chosen {
  readonly changed: readonly (FoundAddress & { readonly nameRange: TextRange })[];
  readonly notes: readonly string[];
}

/** The places whose text is changed. Of a rule, those that can mean nothing but the resource. */
function chosen(places: readonly FoundAddress[], { snapshot, kind, declared }: Choosing): Chosen {
  const notes: string[] = [];
  const changed = places.flatMap((place) => {
    const { file, is, name, nameRange, range, rule, isShared } = place;
    const { line } = lineAndColumn(snapshot.textOf(file) ?? '', range.start);
    if (is === 'previous-name' || isShared) return [];
    const others = declared.filter((address) => parseAddress(address)?.name === name).length > 1;
    const isCertain = rule === undefined || (rule.isCompared && (place.kind === kind || !others));
    if (rule !== undefined) {
      const word = isCertain && nameRange !== undefined ? 'renamed' : 'left as it is';
      notes.push(`${file}:${line}: ${name} in the rule ${rule.name} was ${word}.`);
    } else if (nameRange === undefined) {
      throw new CannotEdit(`${file}:${line}: ${name} is written with escapes; write it without them first`);
    }
    return isCertain && nameRange !== undefined ? [{ ...place, nameRange }] : [];
  });
  return { changed, notes };
}

/** The stretch of a text that differs from another one; undefined where none does. */
function differenceOf(before: string, after: string): Splice | undefined {
  if (before === after) return undefined;
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let same = 0;
  while (same < most - start && before[before.length - 1 - same] === after[after.length - 1 - same]) same++;
  return { start, end: before.length - same, text: after.slice(start, after.length - same) };
}
