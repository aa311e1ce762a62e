import path from 'node:path';
import { applySplices, CannotEdit, type Splice } from '../manifests/editing/change.ts';
import { editText, isJson } from '../manifests/editing/edit-text.ts';
import { scalarText } from '../manifests/editing/new-value.ts';
import { type Layer, sourceText } from '../manifests/layers.ts';
import { lineAndColumn, realPath } from '../manifests/read-file.ts';
import { type Address, NAME_PATTERN, NAME_RULE, parseAddress, type Resource } from '../manifests/resource.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { ProjectConfig } from '../project/project.ts';
import { readState } from '../state/session.ts';
import { backendOf, createStore } from '../state/state-location.ts';
import { canonicalJson, type Json } from '../values/json.ts';
import { mapSymbolicLeaves, Reference, toForms } from '../values/value.ts';
import { VERSION } from '../version.ts';
import { addressAt, type FoundAddress, placesOf } from './find-references.ts';
import type { CheckedTexts, PlaceInFile, ProjectSnapshot, TextRange } from './snapshot.ts';

/** The name at a position, or the reason why the name cannot be changed. */
type Renamable = { readonly range: TextRange; readonly name: string } | { readonly refused: string };

interface PlacedText extends PlaceInFile {
  readonly text: string;
}

export type RenameResult =
  | {
      /** The edits, with offsets into the texts of the snapshot. */
      readonly edits: readonly PlacedText[];
      /** Messages about changed and unchanged rules. */
      readonly notes: readonly string[];
    }
  | { readonly refused: string };

/** Returns the name at an offset; undefined if there is no address. */
export function renamableAt(snapshot: ProjectSnapshot, file: string, offset: number): Renamable | undefined {
  const found = addressAt(snapshot, file, offset);
  return found && nameIn(snapshot, found);
}

function nameIn(snapshot: ProjectSnapshot, found: FoundAddress): Renamable {
  const address = `${found.kind}/${found.name}`;
  if (!snapshot.declarations.some((each) => each.address === address)) {
    return { refused: `no manifest declares ${address}` };
  }
  return found.nameRange === undefined
    ? { refused: 'the name is an alias or contains escapes; rename it at its anchor or declaration' }
    : { range: found.nameRange, name: found.name };
}

/** Returns the edits of a rename, which keeps the record. Refuses conflicts with a local state, and changes of `validate`. */
export async function renameAt(
  snapshot: ProjectSnapshot,
  { file, offset, newName }: { readonly file: string; readonly offset: number; readonly newName: string },
): Promise<RenameResult> {
  try {
    const place = addressAt(snapshot, file, offset);
    if (place === undefined) throw new CannotEdit('there is no resource name at this position');
    const found = nameIn(snapshot, place);
    if ('refused' in found) throw new CannotEdit(found.refused);
    const { kind = '', name } = place;
    const target = parseAddress(newName.trim());
    if (target !== undefined && target.kind !== kind) throw new CannotEdit(`a rename cannot change the kind ${kind}`);
    const to = target?.name ?? newName.trim();
    if (to === name) return { edits: [], notes: [] };
    if (!NAME_PATTERN.test(to)) throw new CannotEdit(`${JSON.stringify(to)} is not a valid name: ${NAME_RULE}`);
    return await renameEdits(snapshot, { kind, from: name, to });
  } catch (error) {
    if (error instanceof CannotEdit) return { refused: error.message };
    throw error;
  }
}

async function renameEdits(snapshot: ProjectSnapshot, change: NameChange): Promise<RenameResult> {
  const before = await snapshot.checkedWith(new Map());
  const { project, declarations, declaration } = readDeclaration(before, change);
  const { metadata, home } = declaration;
  const previous = previousNames(metadata.previous_names ?? [], change, await localAddresses(project));
  const { changed, notes } = choosePlaces(placesOf(snapshot, declaration.address), {
    snapshot,
    kind: change.kind,
    declared: declarations.map(({ address }) => address),
  });
  if (!changed.some(({ type }) => type === 'declaration')) {
    throw new CannotEdit(
      `${sourceText(declaration.source)} gets metadata.name from an anchor; write the name out first`,
    );
  }
  const edits: readonly PlacedText[] = [
    ...changed.map((place) => nameEdit(snapshot.textOf(place.file) ?? '', place, change)),
    ...previousNamesEdit(snapshot.textOf(home.file) ?? '', home, previous),
  ];
  const texts = [...Map.groupBy(edits, ({ file }) => file)].map(([file, ofFile]) => {
    const real = realPath(path.resolve(snapshot.folder, file));
    return [real, applySplices(snapshot.textOf(file) ?? '', ofFile)] as const;
  });
  refuseOtherChanges({ before, after: await snapshot.checkedWith(new Map(texts)), change, previous });
  return { edits, notes };
}

type ChangedPlace = ChosenPlaces['changed'][number];

/** Returns the edit that replaces the old name with the new one, with quotes if YAML requires them. */
function nameEdit(text: string, { file, type, nameRange }: ChangedPlace, { from, to }: NameChange): PlacedText {
  const { start, end } = nameRange;
  const plain = { file, start, end, text: to };
  if (type !== 'declaration' || isJson(text)) return plain;
  const isQuoted = /^(["'])[^"']*\1$/.test(text.slice(start - 1, end + 1));
  if (!isQuoted) return { ...plain, text: yamlName(to) };
  return yamlName(from) !== from && yamlName(to) === to ? { ...plain, start: start - 1, end: end + 1 } : plain;
}

function yamlName(name: string): string {
  return scalarText(name, { flow: true, json: false });
}

/** Returns the only manifest of the resource. @throws CannotEdit if the new name is taken, or if a file cannot be read. */
function readDeclaration({ read, project }: CheckedTexts, { kind, from, to }: NameChange) {
  if (project === undefined || read === undefined) {
    throw new CannotEdit('the project file has errors; fix them first');
  }
  const [unread] = read.unread;
  if (unread !== undefined) {
    const line = unread.line === undefined ? '' : `:${unread.line}`;
    throw new CannotEdit(`${unread.file}${line} cannot be read; fix it first`);
  }
  const declared = (name: string) => read.declarations.filter(({ address }) => address === `${kind}/${name}`);
  const [declaration, duplicate] = declared(from);
  if (declaration === undefined) throw new CannotEdit(`no manifest declares ${kind}/${from}`);
  const { address } = declaration;
  if (duplicate !== undefined)
    throw new CannotEdit(`${address} is declared twice, again at ${sourceText(duplicate.source)}`);
  const [taken] = declared(to);
  if (taken !== undefined) throw new CannotEdit(`${taken.address} is already declared at ${sourceText(taken.source)}`);
  return { project, declarations: read.declarations, declaration };
}

/** Returns the edit of `previous_names`, if any. @throws CannotEdit */
function previousNamesEdit(
  text: string,
  { file, document }: Pick<Layer, 'file' | 'document'>,
  previous: readonly string[],
): readonly PlacedText[] {
  const edit = {
    document,
    path: ['metadata', 'previous_names'],
    value: previous.length === 0 ? undefined : previous,
  };
  const { text: edited, refused } = editText(text, [edit], { json: isJson(text) });
  if (refused[0] !== undefined) throw new CannotEdit(`previous_names: ${refused[0].why}`);
  const difference = differenceOf(text, edited);
  return difference === undefined ? [] : [{ file, ...difference }];
}

/** Adds the current name to the previous names. If a previous name is restored, adds the current name only if a state may contain it. */
function previousNames(
  listed: readonly string[],
  { kind, from, to }: NameChange,
  known: StateAddresses,
): readonly string[] {
  const { workspaces, isComplete } = known;
  const isRestored = listed.includes(to);
  const workspace = workspaces.get(`${kind}/${to}`);
  if (workspace !== undefined && !isRestored) {
    throw new CannotEdit(`the state of ${workspace} has another record under ${kind}/${to}; choose another name`);
  }
  const others = listed.filter((name) => name !== to);
  const isKnown = !isRestored || !isComplete || workspaces.has(`${kind}/${from}`);
  return isKnown ? [...new Set([...others, from])] : others;
}

interface ChooseOptions {
  readonly snapshot: ProjectSnapshot;
  readonly kind: string;
  readonly declared: readonly Address[];
}

interface ChosenPlaces {
  readonly changed: readonly (FoundAddress & { readonly nameRange: TextRange })[];
  readonly notes: readonly string[];
}

/** Returns the ranges to change. In rules, changes only literals that certainly refer to the resource. */
function choosePlaces(places: readonly FoundAddress[], { snapshot, kind, declared }: ChooseOptions): ChosenPlaces {
  const notes: string[] = [];
  const changed = places.flatMap((place) => {
    const { file, type, name, nameRange, range, rule, isShared } = place;
    const { line } = lineAndColumn(snapshot.textOf(file) ?? '', range.start);
    if (type === 'previous-name' || isShared) return [];
    const others = declared.filter((address) => parseAddress(address)?.name === name).length > 1;
    const isCertain = rule === undefined || (rule.isCompared && (place.kind === kind || !others));
    if (rule !== undefined) {
      const word = isCertain && nameRange !== undefined ? 'renamed' : 'unchanged';
      notes.push(`${file}:${line}: ${name} in the rule ${rule.name} was ${word}.`);
    } else if (nameRange === undefined) {
      throw new CannotEdit(`${file}:${line}: ${name} contains escapes; write it without escapes first`);
    }
    return isCertain && nameRange !== undefined ? [{ ...place, nameRange }] : [];
  });
  return { changed, notes };
}

/** Returns the smallest splice that turns one text into the other; undefined if they are equal. */
function differenceOf(before: string, after: string): Splice | undefined {
  if (before === after) return undefined;
  const maxLength = Math.min(before.length, after.length);
  let start = 0;
  while (start < maxLength && before[start] === after[start]) start++;
  let commonEnd = 0;
  while (commonEnd < maxLength - start && before[before.length - 1 - commonEnd] === after[after.length - 1 - commonEnd])
    commonEnd++;
  return { start, end: before.length - commonEnd, text: after.slice(start, after.length - commonEnd) };
}

interface NameChange {
  readonly kind: string;
  readonly from: string;
  readonly to: string;
}

interface RenameCheck {
  readonly before: CheckedTexts;
  readonly after: CheckedTexts;
  readonly change: NameChange;
  /** The new `previous_names` of the resource. */
  readonly previous: readonly string[];
}

/**
 * Refuses an edit that would add or remove resources, change values other than the name, or cause new problems in a workspace.
 * @throws CannotEdit
 */
function refuseOtherChanges({ before, after, change, previous }: RenameCheck): void {
  const { kind, from, to } = change;
  const known = new Set(
    before.workspaces.flatMap(({ diagnostics }) => diagnostics.map((each) => problemKey(each, change))),
  );
  for (const { name, resources, diagnostics } of after.workspaces) {
    const old = before.workspaces.find((each) => each.name === name)?.resources ?? [];
    const isPresent = resources.some(({ address }) => address === `${kind}/${to}`);
    if (isPresent !== old.some(({ address }) => address === `${kind}/${from}`)) {
      const words = isPresent ? 'matches the old name and not the new one' : 'matches the new name and not the old one';
      throw new CannotEdit(`workspaces.${name}.skip ${words}; change it first`);
    }
    const newProblem = diagnostics.find((each) => !known.has(problemKey(each, change)));
    if (newProblem !== undefined)
      throw new CannotEdit(
        `${newProblem.file}${newProblem.line === undefined ? '' : `:${newProblem.line}`}: ${newProblem.message}`,
      );
    const expected = new Set(old.map((each) => contentKey(withName(each, { change, previous }))));
    const unexpected = resources.find((each) => !expected.has(contentKey(each)));
    if (unexpected !== undefined)
      throw new CannotEdit(
        `${unexpected.address} at ${unexpected.source.file}:${unexpected.source.line} gets its name from the same anchor or $var; write the name out first`,
      );
  }
}

function problemKey({ severity, code, file, path = '' }: Diagnostic, { kind, from, to }: NameChange): string {
  return JSON.stringify([severity, code, file, path.replaceAll(`${kind}/${from}`, `${kind}/${to}`)]);
}

function withName(resource: Resource, { change, previous }: Pick<RenameCheck, 'change' | 'previous'>): Resource {
  const [from, to] = [`${change.kind}/${change.from}`, `${change.kind}/${change.to}`];
  const spec = mapSymbolicLeaves(resource.spec, (leaf) =>
    leaf instanceof Reference && leaf.address === from ? new Reference(change.kind, change.to) : leaf,
  ) as Resource['spec'];
  if (resource.address !== from) return { ...resource, spec };
  return { ...resource, spec, address: to, name: change.to, previousNames: previous };
}

/** Returns a string that is equal for resources with equal contents. */
function contentKey({ source: _, spec, ...resource }: Resource): string {
  return canonicalJson(JSON.parse(JSON.stringify({ ...resource, spec: toForms(spec) })) as Json);
}

/** The addresses in local states. */
interface StateAddresses {
  /** Maps each address to a workspace whose state contains it. */
  readonly workspaces: ReadonlyMap<Address, string>;
  /** False if a state is not local or cannot be read. */
  readonly isComplete: boolean;
}

async function localAddresses({ root, workspaces }: ProjectConfig): Promise<StateAddresses> {
  const found = new Map<Address, string>();
  let isComplete = true;
  for (const { name, state: location, workspaceId } of Object.values(workspaces)) {
    if (backendOf(location).fileOf === undefined) {
      isComplete = false;
      continue;
    }
    const now = () => new Date();
    const holder = { root, host: '', user: '', pid: process.pid, version: VERSION, now, failPoint: undefined };
    try {
      const state = await readState(createStore(location, holder), {
        workspaceId,
        fresh: { lineage: '', salt: '' },
      });
      for (const address of [...state.resources.keys(), ...state.pending.keys()]) found.set(address, name);
    } catch {
      isComplete = false;
    }
  }
  return { workspaces: found, isComplete };
}
