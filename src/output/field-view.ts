import type { Action } from '../engine/plan/plan-actions.ts';
import type { PlannedChange, PlannedResource } from '../engine/plan/plan-document.ts';
import { namedId } from '../manifests/resource.ts';
import type { WorkspaceSelection } from '../problems/workspace-command.ts';
import type { Json } from '../values/json.ts';
import { listed } from './address-list.ts';
import { escapeControls, escapedLines } from './escape-controls.ts';
import { type DiffLine, diffTexts } from './text-diff.ts';
import { valueText, withoutForms } from './value-text.ts';
import { yamlText } from './yaml-text.ts';

/** A field of a plan, ready for display. All strings are escaped; renderers only arrange them. */
export interface FieldView {
  readonly path: string;
  readonly body: FieldBody;
  readonly notes: readonly string[];
}

export type FieldBody =
  | { readonly form: 'value'; readonly after: string }
  | { readonly form: 'change'; readonly before: string; readonly after: string }
  /** The first lines of a new long string. `before` is the old value, if any. */
  | {
      readonly form: 'text';
      readonly before: string | undefined;
      readonly lines: readonly string[];
      /** The number of omitted lines. */
      readonly more: number;
    }
  | { readonly form: 'diff'; readonly lines: readonly DiffLine[] };

export interface FieldViewOptions {
  readonly secrets: SecretNumbers;
  /** The direction of the arrow. For drift, it points from the manifest to the platform. */
  readonly towards?: 'manifest' | 'platform';
  /** True to include long strings in full, and differences in white space. */
  readonly verbose: boolean;
  /** True to include new strings and values in full, for an output format that can fold them. */
  readonly wholeTexts?: boolean;
  /** The workspace selection for the commands in steps. */
  readonly selection?: WorkspaceSelection;
  /** A cache of the views of equal changes, because comparing long strings is slow. */
  readonly known?: Map<string, FieldView>;
  /** Returns the fields of a resource. If this function is absent, the fields are derived from the planned changes. */
  readonly fieldsOf?: (resource: PlannedResource) => readonly FieldView[];
}

/** Returns the number of a secret's fingerprint. Distinct fingerprints are numbered from 1 in the order of the calls. */
type SecretNumbers = (fingerprint: string) => number;

export function createSecretNumbers(): SecretNumbers {
  const numbers = new Map<string, number>();
  return (fingerprint) => {
    const number = numbers.get(fingerprint) ?? numbers.size + 1;
    numbers.set(fingerprint, number);
    return number;
  };
}

/** Returns the options for displaying the changes of a report. */
export function viewsOf(
  { type }: { readonly type: 'plan' | 'drift' | 'apply' },
  options: Pick<FieldViewOptions, 'selection'> & Partial<FieldViewOptions>,
): FieldViewOptions {
  const towards = type === 'drift' ? 'platform' : 'manifest';
  return { secrets: createSecretNumbers(), towards, verbose: false, ...options };
}

/** The maximum number of characters of a value without a diff. Changes of longer values are displayed as a diff. */
const MAX_INLINE_LENGTH = 60;
const MAX_LINES = 4;
const MAX_CHARACTERS = 200;
const NOT_SHOWN = '(not shown)';

export function fieldViews(resource: PlannedResource, options: FieldViewOptions): FieldView[] {
  const isNew = resource.action === 'create' || resource.id === null;
  const isReversed = options.towards === 'platform';
  const { known } = options;
  const viewOf = (planned: PlannedChange): FieldView => {
    const change = withNames(isReversed ? reversed(planned) : planned);
    const body = change.sensitive ? secretBody(change, isNew, options) : plainBody(change, isNew, options);
    const driftNotes = change.cause === 'both' ? ['the manifest changed too'] : [];
    const notes = isReversed ? driftNotes : planNotes(change, body, resource.action);
    return { path: escapeControls(change.path), body, notes: [...notes, ...variableNotesOf(change)] };
  };
  return resource.changes.map((planned) => {
    if (known === undefined) return viewOf(planned);
    const key = JSON.stringify([resource.action, isNew, planned]);
    const view = known.get(key) ?? viewOf(planned);
    known.set(key, view);
    return view;
  });
}

/** Adds the address or name to each known id. */
function withNames({ before, after, names, ...rest }: PlannedChange): PlannedChange {
  return {
    ...rest,
    ...(before !== undefined && { before: namedValue(before, names) }),
    ...(after !== undefined && { after: namedValue(after, names) }),
  };
}

/** Adds the address or name to an id, or to each id of a list. */
export function namedValue(value: Json, names: Readonly<Record<string, string>> = {}): Json {
  const withName = (each: Json): Json =>
    typeof each === 'string' && Object.hasOwn(names, each) ? namedId(each, names[each]) : each;
  return Array.isArray(value) ? value.map(withName) : withName(value);
}

function reversed({ before, after, fingerprints, ...rest }: PlannedChange): PlannedChange {
  return {
    ...rest,
    ...(after !== undefined && { before: after }),
    ...(before !== undefined && { after: before }),
    ...(fingerprints && { fingerprints: { before: fingerprints.after, after: fingerprints.before } }),
  };
}

function secretBody({ fingerprints }: PlannedChange, isNew: boolean, { secrets }: FieldViewOptions): FieldBody {
  const { before, after } = fingerprints ?? {};
  const numbered = (fingerprint: string) => `(secret #${secrets(fingerprint)})`;
  if (before === undefined) {
    const shown = after === undefined ? '(secret)' : numbered(after);
    return isNew ? { form: 'value', after: shown } : { form: 'change', before: NOT_SHOWN, after: shown };
  }
  return {
    form: 'change',
    before: numbered(before),
    after: after === undefined ? '(not set)' : numbered(after),
  };
}

function plainBody({ before, after }: PlannedChange, isNew: boolean, options: FieldViewOptions): FieldBody {
  const from = before === undefined ? undefined : longForm(before, after);
  const to = after === undefined ? undefined : longForm(after, before);
  if (from !== undefined && to !== undefined && isComparable(from, to)) {
    const prose = typeof before === 'string' && typeof after === 'string';
    const lines = diffTexts(from.text, to.text, { whole: options.verbose, prose });
    if (lines.length > 0) return { form: 'diff', lines };
  }
  const whole = options.verbose || options.wholeTexts === true;
  const oldText = before === undefined ? (isNew ? undefined : NOT_SHOWN) : oneLineText(before, whole);
  if (to?.isBlock) {
    const lines = escapedLines(to.text);
    let shown = whole || lines.length <= MAX_LINES + 1 ? lines.length : MAX_LINES;
    // Omit trailing empty lines.
    while (shown > 1 && shown < lines.length && lines[shown - 1]?.trim() === '') shown--;
    return {
      form: 'text',
      before: oldText,
      lines: lines.slice(0, shown).map((line) => (whole ? line : clipped(line))),
      more: lines.length - shown,
    };
  }
  const newText = after === undefined ? '(not set)' : whole ? valueText(after) : clipped(valueText(after));
  return oldText === undefined
    ? { form: 'value', after: newText }
    : { form: 'change', before: oldText, after: newText };
}

interface LongForm {
  readonly text: string;
  /** True if the text has several lines. */
  readonly isBlock: boolean;
}

/** Returns a string unchanged, and a list or object as YAML if it, or `other` of the same type, is long; otherwise undefined. */
function longForm(value: Json, other: Json | undefined): LongForm | undefined {
  if (typeof value === 'string') return { text: value, isBlock: value.includes('\n') };
  if (typeof value !== 'object' || value === null) return undefined;
  const sides = Array.isArray(value) === Array.isArray(other) ? [value, other] : [value];
  if (!sides.some(isLong)) return undefined;
  const text = yamlText(withoutForms(value)).trimEnd();
  return { text, isBlock: text.includes('\n') };
}

function isLong(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && valueText(value).length > MAX_INLINE_LENGTH;
}

function isComparable(from: LongForm, to: LongForm): boolean {
  return from.isBlock || to.isBlock || (from.text.length > MAX_INLINE_LENGTH && to.text.length > MAX_INLINE_LENGTH);
}

function oneLineText(value: Json, verbose: boolean): string {
  if (typeof value === 'string' && value.includes('\n')) return `(text of ${value.split('\n').length} lines)`;
  const text = valueText(value);
  return verbose ? text : clipped(text);
}

function clipped(text: string): string {
  const more = text.length - MAX_CHARACTERS;
  return more <= 40 ? text : `${text.slice(0, MAX_CHARACTERS).toWellFormed()}… (${more} more characters)`;
}

function planNotes(change: PlannedChange, body: FieldBody, action: Action): string[] {
  const notes: string[] = [];
  if (change.manual && action !== 'manual') notes.push('manual step');
  if (change.cause === 'drift') notes.push('drifted');
  if (change.not_applied) notes.push('not applied last time');
  if (change.cause === 'both') notes.push("overwrites someone else's change");
  // Secrets and unknown values need no note.
  const isKnown = body.form !== 'value' && change.before !== undefined;
  if (!change.verified && !change.sensitive && isKnown) notes.push('unverified');
  return notes;
}

function variableNotesOf({ before, after, sensitive }: PlannedChange): string[] {
  if (sensitive || typeof before !== 'string' || typeof after !== 'string') return [];
  return variableNotes(before, after).map(escapeControls);
}

/** Variables that the platform replaces when a call begins, e.g. `{{customer_name}}`. */
const VARIABLE = /\{\{\s*([^{}\n]{1,80}?)\s*\}\}/g;
/** The maximum number of names to list. The others are only counted. */
const MAX_NAMED = 6;

/** Returns notes on the variables that were added to or removed from a string. */
export function variableNotes(before: string, after: string): string[] {
  const [old, now] = [variablesIn(before), variablesIn(after)];
  const added = [...now].filter((name) => !old.has(name));
  const removed = [...old].filter((name) => !now.has(name));
  return [
    ...(added.length === 0 ? [] : [`new ${listed(added, MAX_NAMED)}`]),
    ...(removed.length === 0 ? [] : [`no longer ${listed(removed, MAX_NAMED)}`]),
  ];
}

function variablesIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(VARIABLE)].map(([, name = '']) => `{{${name}}}`));
}
