import { type Document, isAlias, isCollection, isNode, isScalar, parseDocument, visit } from 'yaml';
import { type Json, jsonEqual, tryParseJson } from '../../values/json.ts';
import { type DocumentPath, follow } from '../finding.ts';
import { parseYaml, yamlOptions } from '../parse-documents.ts';
import { plainValue } from '../plain-value.ts';
import { applySplices, CannotEdit, changed, type Proposal, UNSAFE } from './change.ts';
import { nextChange } from './next-change.ts';
import { TextSource } from './node-place.ts';

export interface TextEdit {
  /** Index of the document, as in `parseDocuments`. */
  readonly document: number;
  readonly path: DocumentPath;
  /** The new value as written, including value forms. Undefined removes the value. */
  readonly value: Json | undefined;
}

interface EditedText<Edit extends TextEdit = TextEdit> {
  readonly text: string;
  readonly refused: readonly { readonly edit: Edit; readonly why: string }[];
}

interface EditOptions {
  /** True if the text is JSON and must stay JSON. */
  readonly json: boolean;
}

/**
 * Sets, adds and removes single values in a YAML or JSON text. All other bytes are unchanged. The text is parsed again after each step, and
 * an edit with a side effect is refused completely.
 * @param text without a byte order mark.
 */
export function editText<Edit extends TextEdit>(
  text: string,
  edits: readonly Edit[],
  { json }: EditOptions,
): EditedText<Edit> {
  const slices = slicesOf(text);
  const refused: { edit: Edit; why: string }[] = [];
  const edited = [...slices];
  for (const edit of edits) {
    const slice = edited[edit.document];
    try {
      if (slice === undefined) throw new CannotEdit('the file has no such document');
      edited[edit.document] = editDocument(slice, edit, { json });
    } catch (error) {
      if (!(error instanceof CannotEdit)) throw error;
      refused.push({ edit, why: error.message });
    }
  }
  const result = edited.join('');
  if (edited.length === 1 || sameDocuments(result, edited)) return { text: result, refused };
  return { text, refused: edits.map((edit) => ({ edit, why: UNSAFE })) };
}

/** Returns the text of each document, with the marks and comments before it. */
export function slicesOf(text: string): string[] {
  const documents = parseYaml(text);
  const slices: string[] = [];
  let start = 0;
  for (const [index, { range }] of documents.entries()) {
    const end = index === documents.length - 1 ? text.length : range[2];
    slices.push(text.slice(start, end));
    start = end;
  }
  return slices;
}

/** Returns true if the complete text has the same documents as its slices. */
function sameDocuments(text: string, slices: readonly string[]): boolean {
  const documents = parseYaml(text);
  if (documents.length !== slices.length) return false;
  return documents.every((document, index) => {
    const alone = read(slices[index] ?? '', false);
    return alone !== undefined && jsonEqual(plainOf(document), alone.value);
  });
}

export interface ReadDocument {
  readonly text: string;
  readonly document: Document.Parsed;
  readonly value: Json;
}

/** Returns undefined if the text is invalid. */
function read(text: string, json: boolean): ReadDocument | undefined {
  const document = parseDocument(text, { ...yamlOptions, keepSourceTokens: true });
  const value = plainOf(document);
  if (value === undefined || (json && !isJson(text))) return undefined;
  return { text, document, value };
}

function plainOf(document: Document.Parsed): Json | undefined {
  if (document.errors.length > 0) return undefined;
  if (document.contents === null) return null;
  const { value, problems } = plainValue(document.contents);
  return problems.length > 0 ? undefined : value;
}

export function isJson(text: string): boolean {
  return tryParseJson(text) !== undefined;
}

/** The maximum number of steps of one edit. Lists in manifests have fewer items. */
const MAX_STEPS = 10_000;

function editDocument(text: string, edit: TextEdit, { json }: EditOptions): string {
  let state = read(text, json);
  if (state === undefined) throw new CannotEdit('the file has errors, or its format does not match its name');
  const goal = goalOf(state.value, edit);
  for (let step = 0; step < MAX_STEPS; step++) {
    if (jsonEqual(state.value, goal)) return state.text;
    const next: ReadDocument | undefined =
      nextState(state, { goal, path: edit.path, json, compact: false }) ??
      nextState(state, { goal, path: edit.path, json, compact: true });
    state = next ?? refuse(UNSAFE);
  }
  return refuse(UNSAFE);
}

interface EditStep {
  readonly goal: Json;
  readonly path: DocumentPath;
  readonly json: boolean;
  readonly compact: boolean;
}

/** Returns the document after its next change, or undefined if the change would have a different effect. */
function nextState(state: ReadDocument, { goal, path, json, compact }: EditStep): ReadDocument | undefined {
  const { text, document, value: current } = state;
  const source = new TextSource(text, { json, compact });
  const proposal = nextChange(document.contents, source, { current, value: goal, path });
  if (proposal === undefined) return undefined;
  refuseShared(document, proposal);
  const next = read(applySplices(text, proposal.splices), json);
  return next !== undefined && jsonEqual(next.value, changed(current, proposal.change)) ? next : undefined;
}

/** Returns the desired value of a document. */
function goalOf(current: Json, { path, value }: TextEdit): Json {
  if (value !== undefined) return changed(current, { kind: 'set', path, value });
  const exists = follow(current, path).depth === path.length;
  return exists ? changed(current, { kind: 'remove', path }) : current;
}

/** Refuses to change a value that aliases refer to, because the values of the aliases would change as well. */
function refuseShared(document: Document.Parsed, { change }: Proposal): void {
  const used = new Map<string, number>();
  visit(document, {
    Alias(_, { source }) {
      used.set(source, (used.get(source) ?? 0) + 1);
    },
  });
  if (used.size === 0) return;
  let node: unknown = document.contents;
  for (const part of [...change.path, undefined]) {
    if (isAlias(node) || !isNode(node)) return;
    const anchor = isScalar(node) || isCollection(node) ? node.anchor : undefined;
    const count = anchor === undefined ? undefined : used.get(anchor);
    if (count !== undefined) {
      const users = count === 1 ? '1 alias in the file refers' : `${count} aliases in the file refer`;
      refuse(`the value is part of &${anchor}, to which ${users}`);
    }
    if (part === undefined) return;
    node = isCollection(node) ? node.get(part, true) : undefined;
  }
}

function refuse(reason: string): never {
  throw new CannotEdit(reason);
}
