import type { PlannedResource, PlannedRoute } from '../engine/plan/plan-document.ts';
import type { NextStep } from '../problems/next-step.ts';
import { distinct } from '../values/json.ts';
import { addressList, mustListAll } from './address-list.ts';
import { type FieldView, type FieldViewOptions, fieldViews } from './field-view.ts';
import { isTask, stepText } from './next-steps.ts';
import type { DiffLine } from './text-diff.ts';

/** The information about one resource, or the information that is the same for several resources. */
export interface Statement {
  readonly resources: readonly PlannedResource[];
  readonly fields: readonly FieldView[];
  readonly reason: string;
  readonly routes: readonly PlannedRoute[] | undefined;
  readonly released: readonly string[];
  readonly notices: readonly string[];
  readonly steps: readonly string[];
  /** The number of changes of the resource that an earlier, shared statement contains. */
  readonly elsewhere: number;
}

interface CompactOptions {
  readonly views: FieldViewOptions;
  /** True to repeat shared information for each resource. */
  readonly full?: boolean | undefined;
}

/** The minimum number of resources for a shared statement. */
export const MIN_SHARING = 3;

/** Returns the statements about the resources. Shared statements come first, the others in the order of the resources. */
export function compact(resources: readonly PlannedResource[], { views, full = false }: CompactOptions): Statement[] {
  const known = new Map<string, FieldView>();
  const individual = resources.map((resource) => statementOf(resource, { ...views, known }));
  if (full || resources.length < MIN_SHARING) return individual;
  const members = individual.map((statement) => ({ statement, parts: partsOf(statement) }));
  const sharings = sharingsOf(members);
  const shared = new Set(sharings.flat().flatMap(({ parts }) => parts));
  const rest = members.flatMap(({ statement, parts }) => {
    const own = parts.filter((part) => !shared.has(part));
    if (own.length === parts.length) return [statement];
    if (own.length === 0 && statement.resources[0]?.previous_address === undefined) return [];
    const elsewhere = parts.filter(isChange).length - own.filter(isChange).length;
    return [{ ...statement, ...mergeParts(own), elsewhere }];
  });
  return [...withoutRepeatedRoutes(sharings.map(mergeStatements).sort((a, b) => rankOf(b) - rankOf(a))), ...rest];
}

/** Returns the sort key of a shared statement. Changes come before remarks, and larger groups before smaller groups. */
function rankOf({ fields, resources }: Statement): number {
  return (fields.length > 0 ? Number.MAX_SAFE_INTEGER / 2 : 0) + resources.length;
}

/** Keeps routes only in the first statement about a resource. */
function withoutRepeatedRoutes(shared: readonly Statement[]): Statement[] {
  const named = new Set<PlannedResource>();
  return shared.map((statement) => {
    const isRepeated = statement.resources.every((resource) => named.has(resource));
    for (const resource of statement.resources) named.add(resource);
    return isRepeated ? { ...statement, routes: undefined } : statement;
  });
}

export function statementOf(resource: PlannedResource, views: FieldViewOptions): Statement {
  const { reason, routes, released = [], notices = [], steps = [] } = resource;
  const wording = (step: NextStep) => stepText(step, views.selection);
  const fields = views.fieldsOf?.(resource) ?? fieldViews(resource, views);
  return {
    resources: [resource],
    fields,
    reason,
    routes,
    released,
    notices: [...notices, ...steps.filter((step) => !isTask(step)).map(wording)],
    steps: steps.filter(isTask).map(wording),
    elsewhere: 0,
  };
}

/** A change, a diff hunk or a remark, which several resources may share. */
interface StatementPart {
  /** Identifies the content. Equal parts have the same key. */
  readonly key: string;
  /** The approximate number of displayed lines. */
  readonly lines: number;
  readonly content: Partial<StatementContent>;
  /** The changed lines of a diff with their context and position. */
  readonly hunk?: readonly DiffLine[];
}

type StatementContent = Pick<Statement, 'fields' | 'released' | 'notices' | 'steps'>;

interface Sharer {
  readonly statement: Statement;
  readonly parts: readonly StatementPart[];
}

function isChange({ content }: StatementPart): boolean {
  return content.fields !== undefined;
}

/** Splits a statement into parts. Updates can share single parts. Resources with another action share all parts or none. */
function partsOf({ resources, fields, reason, released, notices, steps }: Statement): StatementPart[] {
  const [resource] = resources;
  if (resource === undefined) return [];
  const about = [resource.action, resource.adopted ?? false, resource.missing ?? false];
  const part = (content: Partial<StatementContent>, lines: number, ...key: readonly unknown[]): StatementPart => ({
    key: JSON.stringify([about, ...key]),
    lines,
    content,
  });
  const parts = [
    ...fields.flatMap((field, index) => {
      const { path, body, notes } = field;
      if (body.form !== 'diff') {
        const lines = body.form === 'text' ? body.lines.length + 1 : 1;
        return [part({ fields: [field] }, lines, resource.changes[index], notes)];
      }
      return hunksOf(body.lines).map((hunk) => {
        const core = hunk.slice(...coreOf(hunk)).map(({ sign, text }) => [sign, text]);
        return { ...part({ fields: [withLines(field, hunk)] }, hunk.length + 1, path, notes, core), hunk };
      });
    }),
    ...released.map((text) => part({ released: [text] }, 1, 'released', text)),
    ...notices.map((text) => part({ notices: [text] }, 1, 'notice', text)),
    ...steps.map((text) => part({ steps: [text] }, 1, 'step', text)),
  ];
  const whole = resource.action === 'update' ? [] : [reason, ...parts.map(({ key }) => key)];
  const occurrences = new Map<string, number>();
  return parts.map((each) => {
    // A diff may contain the same change twice.
    const occurrence = (occurrences.get(each.key) ?? 0) + 1;
    occurrences.set(each.key, occurrence);
    return { ...each, key: JSON.stringify([occurrence, each.key, whole]) };
  });
}

function withLines(field: FieldView, lines: readonly DiffLine[]): FieldView {
  return { ...field, body: { form: 'diff', lines } };
}

/** For each set of resources, returns the parts that exactly these resources have, if sharing the parts saves lines. */
function sharingsOf(members: readonly Sharer[]): Sharer[][] {
  const uses = members.flatMap(({ parts }, index) => parts.map(({ key }) => ({ key, index })));
  const frequent = [...Map.groupBy(uses, ({ key }) => key)]
    .filter(([, same]) => same.length >= MIN_SHARING)
    .map(([key, same]) => [key, same.map(({ index }) => index)] as const);
  const shareable = new Set(frequent.map(([key]) => key));
  return [...Map.groupBy(frequent, ([, indices]) => indices.join()).values()].flatMap((same) => {
    const keys = new Set(same.map(([key]) => key));
    const all = (same[0]?.[1] ?? []).flatMap((index) => members[index] ?? []);
    const sharing = all.map((member) => ({ ...member, parts: partsToShare(member, keys) }));
    const covered = all.filter(({ parts }) => parts.every(({ key }) => shareable.has(key))).length;
    return linesSaved(sharing, covered) > 0 ? [sharing] : [];
  });
}

/** Returns the parts to share. Updates without a shared change share only notices. */
function partsToShare({ statement, parts }: Sharer, keys: ReadonlySet<string>): readonly StatementPart[] {
  const shared = parts.filter(({ key }) => keys.has(key));
  const isWhole = statement.resources.every(({ action }) => action !== 'update');
  return isWhole || shared.some(isChange) ? shared : shared.filter((part) => part.content.notices !== undefined);
}

/** The approximate width of a line of addresses. */
const ADDRESS_LINE_WIDTH = 70;

/** Returns the approximate number of lines that sharing saves. `covered` is the number of resources that need no other statement. */
function linesSaved(sharing: readonly Sharer[], covered: number): number {
  const [{ parts = [] } = {}] = sharing;
  const resources = sharing.flatMap(({ statement }) => statement.resources);
  const lines = parts.reduce((sum, part) => sum + part.lines, 0);
  const names = Math.ceil(addressList(resources.map(({ address }) => address)).length / ADDRESS_LINE_WIDTH);
  const isUpdate = resources.every(({ action }) => action === 'update');
  if (isUpdate && !parts.some(isChange)) return lines * (sharing.length - 1 - names);
  const addresses = isUpdate && !mustListAll(resources) ? names : sharing.length;
  const routes = sharing.some(({ statement }) => (statement.routes ?? []).length > 0) ? 2 : 0;
  // Each statement has two additional lines. Lines that refer to a shared statement are not counted.
  return lines * (sharing.length - 1) + 2 * covered - 2 - addresses - routes;
}

function mergeStatements(sharing: readonly Sharer[]): Statement {
  const [{ parts = [] } = {}] = sharing;
  const all = sharing.map(({ statement }) => statement);
  const reasons = new Set(all.map(({ reason }) => reason));
  const allParts = sharing.flatMap((member) => member.parts);
  const alike = Map.groupBy(allParts, ({ key }) => key);
  const shown = parts.map((part) => {
    const { key, hunk, content } = part;
    if (hunk === undefined) return part;
    const lines = commonLines((alike.get(key) ?? []).map((each) => each.hunk ?? []));
    return { ...part, content: { fields: content.fields?.map((field) => withLines(field, lines)) ?? [] } };
  });
  return {
    resources: all.flatMap(({ resources }) => resources),
    ...mergeParts(shown),
    reason: reasons.size === 1 ? (all[0]?.reason ?? '') : '',
    routes: all.every(({ routes }) => routes === undefined)
      ? undefined
      : distinct(all.flatMap(({ routes = [] }) => routes)),
    elsewhere: 0,
  };
}

function mergeParts(parts: readonly StatementPart[]): StatementContent {
  const fields: FieldView[] = [];
  for (const field of parts.flatMap(({ content }) => content.fields ?? [])) {
    const last = fields.at(-1);
    if (last?.path === field.path && last.body.form === 'diff' && field.body.form === 'diff')
      fields[fields.length - 1] = withLines(last, [...last.body.lines, ...field.body.lines]);
    else fields.push(field);
  }
  return {
    fields,
    released: parts.flatMap(({ content }) => content.released ?? []),
    notices: parts.flatMap(({ content }) => content.notices ?? []),
    steps: parts.flatMap(({ content }) => content.steps ?? []),
  };
}

function hunksOf(lines: readonly DiffLine[]): DiffLine[][] {
  const starts = lines.flatMap(({ sign }, index) => (index === 0 || sign === '@' || sign === '~' ? [index] : []));
  return starts.map((start, index) => lines.slice(start, starts[index + 1]));
}

/** Returns the range of a hunk from its first to its last changed line. */
function coreOf(lines: readonly DiffLine[]): readonly [start: number, end: number] {
  const changes = ({ sign }: DiffLine) => sign === '+' || sign === '-' || sign === '~';
  return [lines.findIndex(changes), lines.findLastIndex(changes) + 1];
}

/** Merges equal changes of several diffs into one hunk, with only the context and the position that all of them share. */
function commonLines(hunks: readonly (readonly DiffLine[])[]): DiffLine[] {
  const [first = []] = hunks;
  const [start, end] = coreOf(first);
  const context = (lines: readonly DiffLine[]) => lines.filter(({ sign }) => sign === ' ');
  const around = (lines: readonly DiffLine[]) => {
    const [from, to] = coreOf(lines);
    return JSON.stringify([lines.slice(0, from), lines.slice(to)].map((each) => context(each).map(({ text }) => text)));
  };
  const isSame = new Set(hunks.map(around)).size === 1;
  const inner = isSame ? [...context(first.slice(0, start)), ...first.slice(start)] : first.slice(start, end);
  return [...commonPosition(hunks.map((lines) => lines.find(({ sign }) => sign === '@'))), ...inner];
}

function commonPosition(positions: readonly (DiffLine | undefined)[]): DiffLine[] {
  const [first] = positions;
  if (new Set(positions.map((position) => position?.text)).size === 1) return first === undefined ? [] : [first];
  const sections = new Set(positions.map((position) => position?.section ?? ''));
  const [section = ''] = sections;
  return [{ sign: '@', text: sections.size === 1 && section !== '' ? section : 'at different positions' }];
}
