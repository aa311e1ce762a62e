import path from 'node:path';
import { CannotEdit } from '../../manifests/editing/change.ts';
import { editText, isJson, type TextEdit } from '../../manifests/editing/edit-text.ts';
import { type DocumentPath, formatPath } from '../../manifests/finding.ts';
import { type Declaration, determinesValue, formsIn, isForm, type Layer } from '../../manifests/layers.ts';
import { parseDocuments } from '../../manifests/parse-documents.ts';
import { positionIn } from '../../manifests/positions.ts';
import { readTextFile, realPath } from '../../manifests/read-file.ts';
import { type Address, parseAddress } from '../../manifests/resource.ts';
import { evaluateForms, type Inputs } from '../../manifests/value-forms.ts';
import { isObject, type Json, type JsonObject, jsonEqual } from '../../values/json.ts';
import { isPlain, withReferences } from '../../values/value.ts';
import { inputsFor } from '../load-desired.ts';
import { Overlays } from '../overlays.ts';
import type { ProjectConfig } from '../project.ts';
import { type DraftTexts, fieldProblem } from './check-edits.ts';
import {
  type EditableFile,
  editableFile,
  type FileEdit,
  type PlanEditsOptions,
  type WantedValue,
} from './edit-plan.ts';
import { formReason, type OwnedValue, ownerOf, writtenValue } from './written-value.ts';

/** A possible way to write one value. */
export interface ProposedEdit {
  readonly wanted: WantedValue;
  /** Undefined if only the text of a `$file` changes. */
  readonly edit: (TextEdit & { readonly file: string }) | undefined;
  readonly texts: readonly TextWrite[];
}

/** The new text of the file that a `$file` form includes. */
interface TextWrite {
  readonly absolute: string;
  readonly text: string;
  /** The key of the form that names the file. */
  readonly key: string;
}

interface PendingFile extends EditableFile {
  readonly after: string;
}

interface AppliedEdits {
  readonly files: readonly FileEdit[];
  readonly drafts: DraftTexts;
  readonly problems: ReadonlyMap<WantedValue, string>;
}

/** Proposes edits that write values, and applies them to texts. Writes no files. */
export class EditPlanner {
  readonly #options: PlanEditsOptions;
  readonly #declarations: ReadonlyMap<Address, Declaration>;
  readonly #overlays: Overlays;
  readonly #inputs: Inputs;
  readonly #uses: ReadonlyMap<string, readonly FileUse[]>;
  readonly #addresses: ReadonlyMap<string, Address>;

  constructor(options: PlanEditsOptions, declarations: readonly Declaration[]) {
    this.#options = options;
    this.#declarations = new Map(declarations.map((each) => [each.address, each]));
    this.#overlays = new Overlays(options);
    this.#inputs = inputsFor({ ...options, mode: 'offline' });
    this.#uses = fileUses(options.project, declarations);
    // If a record has several addresses, edits use the first one.
    this.#addresses = new Map(
      [...options.records].reverse().map(([address, id]) => [`${parseAddress(address)?.kind}/${id}`, address]),
    );
  }

  /** @throws CannotEdit */
  propose(wanted: WantedValue): ProposedEdit {
    const { address, path: leaf, value } = wanted;
    const declaration = this.#declarations.get(address);
    if (declaration === undefined) throw new CannotEdit('no manifest declares the resource');
    if (this.#overlays.skips(address)) throw new CannotEdit('the workspace skips the resource');
    const problem = value === undefined ? undefined : fieldProblem(declaration.kind, leaf, value);
    if (problem !== undefined) throw new CannotEdit(`the value is not valid in a manifest: ${problem}`);
    const { sources } = this.#overlays.merged(declaration);
    const owned = ownerOf(sources, leaf);
    if (value === undefined) return { wanted, edit: this.#removal(owned, sources.layers), texts: [] };

    const texts: TextWrite[] = [];
    const written = this.#written(owned, { declaration, leaf, value, texts });
    const { layer, raw, isPatch } = owned;
    if (raw !== undefined && jsonEqual(written, raw)) return { wanted, edit: undefined, texts };
    const literal = isPatch && containsNull(written) ? { $literal: value } : written;
    return { wanted, edit: editAt(owned, layer, literal), texts };
  }

  #written(
    { layer, path: at, raw }: OwnedValue,
    { declaration, leaf, value, texts }: { declaration: Declaration; leaf: string; value: Json; texts: TextWrite[] },
  ): Json {
    const { root } = this.#options.project;
    const folder = path.join(root, path.dirname(layer.file));
    const fields = declaration.kind.fields;
    const pathOf = (form: JsonObject): DocumentPath => [
      ...layer.base,
      ...at,
      ...([...formsIn(raw)].find((each) => each.form === form)?.path ?? []),
    ];
    return writtenValue(raw, value, {
      rule: fields[leaf] ?? fields[leaf.split('.')[0] ?? ''] ?? {},
      addressOf: (kind, id) => this.#addresses.get(`${kind}/${id}`),
      plainValueOf: (part) => this.#plainValueOf(part, folder),
      joinReason: (form, text) =>
        joinReason(form, text, {
          plainValueOf: (part) => this.#plainValueOf(part, folder),
          placeOf: (index, offset) => {
            const place = { document: layer.document, path: [...pathOf(form), '$join', index], offset };
            const position = positionIn(path.join(root, layer.file), { ...place, at: 'value' });
            return position === undefined ? layer.file : `${layer.file}:${position.line}`;
          },
          fileOf: (name) => path.relative(root, path.resolve(folder, name)).replaceAll(path.sep, '/'),
        }),
      toFile: (form, text) => {
        const absolute = realPath(path.resolve(folder, String(form.$file)));
        texts.push({ absolute, text, key: useKey({ ...layer, path: pathOf(form) }) });
      },
    });
  }

  #plainValueOf(raw: Json, folder: string): Json | undefined {
    const { lookupNames } = this.#options.workspace;
    const context = { inputs: this.#inputs, refKinds: undefined, lookupNames, folderOf: () => folder };
    const { value, problems } = evaluateForms(raw, context);
    if (problems.length > 0) return undefined;
    const known = withReferences(value, ({ address }) => this.#options.records.get(address));
    return isPlain(known) ? (known as Json) : undefined;
  }

  #removal(owned: OwnedValue, layers: readonly Layer[]): ProposedEdit['edit'] {
    const { layer, path: at, raw, isPatch } = owned;
    if (raw === undefined) return undefined;
    const below = layers.slice(layers.indexOf(layer) + 1);
    const isSetBelow = below.some(({ value }) => determinesValue(value, at));
    if (isSetBelow && !isPatch) throw new CannotEdit('without the field, the default of its kind would apply');
    return editAt(owned, layer, isSetBelow ? null : undefined);
  }

  /** Returns the files with all proposed edits applied, and the values whose edits conflict or fail. */
  apply(proposals: readonly ProposedEdit[]): AppliedEdits {
    const { root } = this.#options.project;
    const problems = new Map<WantedValue, string>();
    const files = new Map<string, PendingFile>();
    const tryEdit = (
      absolute: string,
      wanted: readonly WantedValue[],
      changed: (file: PendingFile) => string,
    ): void => {
      try {
        const known = files.get(realPath(absolute));
        const file = known ?? editableFile(root, absolute);
        files.set(file.absolute, { ...file, after: changed({ after: file.text, ...file }) });
      } catch (error) {
        if (!(error instanceof CannotEdit)) throw error;
        for (const each of wanted) problems.set(each, error.message);
      }
    };
    const texts = proposals.flatMap(({ wanted, texts: own }) => own.map((text) => ({ ...text, wanted })));
    for (const [absolute, writes] of Map.groupBy(texts, ({ absolute: of }) => of)) {
      const wanted = writes.map((write) => write.wanted);
      tryEdit(absolute, wanted, (file) => {
        const text = this.#agreedText(absolute, writes);
        return text + (/\r?\n$/.exec(file.text)?.[0] ?? (text.endsWith('\n') ? '\n' : ''));
      });
    }
    const edits = proposals.flatMap(({ wanted, edit }) => (edit === undefined ? [] : [{ ...edit, wanted }]));
    for (const [name, fileEdits] of Map.groupBy(edits, ({ file }) => file)) {
      const wanted = fileEdits.map((edit) => edit.wanted);
      tryEdit(path.join(root, name), wanted, ({ after }) => {
        const { text, refused } = editText(after, fileEdits, { json: isJson(after) });
        for (const { edit, why } of refused) problems.set(edit.wanted, why);
        return text;
      });
    }
    return resultOf([...files.values()], problems);
  }

  /** @throws CannotEdit if other fields that use the file need another text. */
  #agreedText(absolute: string, writes: readonly (TextWrite & { readonly wanted: WantedValue })[]): string {
    const { root } = this.#options.project;
    const name = path.relative(root, absolute).replaceAll(path.sep, '/');
    const [first] = writes;
    if (first === undefined || writes.some(({ text }) => text !== first.text)) {
      throw new CannotEdit(
        `the text is in ${name}, but the fields that use this file now have different texts on the platform`,
      );
    }
    const written = new Set(writes.map(({ key }) => key));
    const other = this.#uses.get(absolute)?.find(({ key }) => !written.has(key));
    if (other === undefined) return first.text;
    throw new CannotEdit(`the text is in ${name}, which ${other.name} also uses`);
  }
}

function resultOf(files: readonly PendingFile[], problems: ReadonlyMap<WantedValue, string>): AppliedEdits {
  const changed = files.filter(({ text, after }) => text !== after);
  return {
    files: changed
      .map(({ file, mark, text, after }) => ({ file, before: mark + text, after: mark + after }))
      .sort((a, b) => (a.file < b.file ? -1 : 1)),
    drafts: new Map(changed.map(({ absolute, after }) => [absolute, after])),
    problems,
  };
}

function editAt({ path: at }: OwnedValue, { file, document, base }: OwnedValue['layer'], value: Json | undefined) {
  return { file, document, path: [...base, ...at], value };
}

/** Returns true if the value contains null, which removes a field in a merge patch. */
function containsNull(value: Json): boolean {
  if (value === null) return true;
  return isObject(value) && Object.values(value).some((item) => containsNull(item as Json));
}

interface JoinFacts {
  /** Returns the value of a part; undefined if it is unknown or secret. */
  plainValueOf(part: Json): Json | undefined;
  /** Returns the file and line of a character in a part. */
  placeOf(index: number, offset: number): string;
  /** Returns the path of a part's file, relative to the project folder. */
  fileOf(name: string): string;
}

/** Returns the reason why a `$join` cannot be changed automatically, with the part to edit instead. */
function joinReason(form: JsonObject, value: Json, { plainValueOf, placeOf, fileOf }: JoinFacts): string {
  const parts: readonly Json[] = Array.isArray(form.$join) ? form.$join : [];
  const separator = typeof form.separator === 'string' ? form.separator : '\n\n';
  const texts = parts.map((part) => {
    const text = plainValueOf(part);
    return text === undefined || text === null ? undefined : String(text);
  });
  const possibleParts = typeof value === 'string' ? partsThatExplain(texts, separator, value) : [];
  // Text that was added between two parts may belong to either part. Prefer parts whose text is in the manifest.
  const ranks = possibleParts.map((each) => ({ ...each, rank: rankOf(parts[each.index]) }));
  const [found] = ranks.sort((a, b) => a.rank - b.rank);
  if (found === undefined)
    return `the value is joined from parts ($join), of which several changed; the first is at ${placeOf(0, 0)}`;
  const part = parts[found.index];
  const isFile = isForm(part) && typeof part.$file === 'string';
  const place = isFile
    ? `${fileOf(String(part.$file))}:${found.before.slice(0, found.offset).split('\n').length}`
    : placeOf(found.index, found.offset);
  const reason = isForm(part) && !isFile && !Object.hasOwn(part, '$literal') ? `: ${formReason(part)}` : '';
  return `the value is joined from parts ($join); edit the part at ${place}${reason}`;
}

function rankOf(part: Json | undefined): number {
  if (!isForm(part)) return 0;
  return Object.hasOwn(part, '$file') ? 1 : 2;
}

/** Returns the parts that alone can explain the change, with the offset of the first character that changed. */
function partsThatExplain(texts: readonly (string | undefined)[], separator: string, value: string) {
  return texts.flatMap((before = '', index) => {
    const others = texts.toSpliced(index, 1);
    if (others.includes(undefined)) return [];
    const start = texts
      .slice(0, index)
      .map((text) => text + separator)
      .join('');
    const end = texts
      .slice(index + 1)
      .map((text) => separator + text)
      .join('');
    if (value.length < start.length + end.length || !value.startsWith(start) || !value.endsWith(end)) return [];
    const after = value.slice(start.length, value.length - end.length);
    let offset = 0;
    while (offset < before.length && before[offset] === after[offset]) offset++;
    return [{ index, before, offset }];
  });
}

/** A use of a file by a `$file` form of the project. */
interface FileUse {
  /** A key that is unique among all uses. */
  readonly key: string;
  /** The name of the field that uses the file, for messages. */
  readonly name: string;
}

interface FormLocation {
  readonly file: string;
  readonly document: number;
  readonly path: DocumentPath;
}

function useKey({ file, document, path: at }: FormLocation): string {
  return JSON.stringify([file, document, ...at]);
}

/** Returns all uses of `$file` in the project, for all workspaces, by the real path of the included file. */
export function fileUses(
  { root, file }: ProjectConfig,
  declarations: readonly Declaration[],
): ReadonlyMap<string, readonly FileUse[]> {
  const uses = new Map<string, FileUse[]>();
  const collect = (value: Json, place: FormLocation, owner: string): void => {
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
