import path from 'node:path';
import { FileView } from '../../files/file-view.ts';
import { UNSAFE } from '../../manifests/editing/change.ts';
import { formatPath } from '../../manifests/finding.ts';
import { expectation } from '../../manifests/issue-messages.ts';
import type { FieldRule, KindSchema } from '../../manifests/kind-schema.ts';
import { realPath } from '../../manifests/read-file.ts';
import type { Resource } from '../../manifests/resource.ts';
import { schemaAt } from '../../manifests/schema-fields.ts';
import type { Diagnostic } from '../../problems/diagnostic.ts';
import { canonicalJson, type Json, jsonEqual } from '../../values/json.ts';
import { flatten, unflatten } from '../../values/path.ts';
import { mapSymbolicLeaves, Reference, type Value, withReferences } from '../../values/value.ts';
import { InvalidProject } from '../invalid-project.ts';
import { loadDesired } from '../load-desired.ts';
import { parseProject } from '../load-project.ts';
import type { Desired } from '../project.ts';
import type { PlanEditsOptions, WantedValue } from './edit-plan.ts';

/** The new texts of files, by their real paths. */
export type DraftTexts = ReadonlyMap<string, string>;

export function fieldProblem(kind: KindSchema, leaf: string, value: Json): string | undefined {
  const spec = unflatten([[leaf, value]]);
  const parsed = kind.spec.safeParse(spec);
  const keys = leaf.split('.');
  const issue = parsed.error?.issues.find((each) => keys.every((key, index) => each.path[index] === key));
  if (issue === undefined) return undefined;
  const fieldPath = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  return `${formatPath(fieldPath)} must be ${expectation(schemaAt(kind.spec, fieldPath))}`;
}

/**
 * Loads the project with the drafts. Returns the wanted values that the drafts do not set, with the reason. If the drafts would change
 * anything else, returns all wanted values.
 * @param before the current project.
 */
export async function checkEdits(
  options: PlanEditsOptions,
  { wanted, drafts, before }: { wanted: readonly WantedValue[]; drafts: DraftTexts; before: Desired },
): Promise<Map<WantedValue, string>> {
  if (drafts.size === 0) return new Map();
  const after = await loadDrafts(options, drafts);
  const allUnsafe = new Map(wanted.map((each) => [each, UNSAFE]));
  if (after === undefined || hasNewError(before, after)) return allUnsafe;
  if (after.resources.length !== before.resources.length) return allUnsafe;

  const problems = new Map<WantedValue, string>();
  const changedByAddress = new Map(after.resources.map((resource) => [resource.address, resource]));
  const wantedByAddress = Map.groupBy(wanted, ({ address }) => address);
  for (const resource of before.resources) {
    const changed = changedByAddress.get(resource.address);
    if (changed === undefined || !sameMetadata(resource, changed)) return allUnsafe;
    const wantedHere = wantedByAddress.get(resource.address) ?? [];
    const kind = options.kinds.get(resource.kind);
    const [current, next] = [leavesOf(resource, kind), leavesOf(changed, kind)];
    const wantedPaths = new Set(wantedHere.map(({ path: leaf }) => leaf));
    for (const leaf of new Set([...current.keys(), ...next.keys()])) {
      if (!wantedPaths.has(leaf) && !jsonEqual(shape(current.get(leaf)), shape(next.get(leaf)))) return allUnsafe;
    }
    for (const value of wantedHere) {
      const rule = kind?.fields[value.path] ?? {};
      if (!isFulfilled(value, { current: next.get(value.path), rule, records: options.records }))
        problems.set(value, UNSAFE);
    }
  }
  return problems;
}

interface CurrentValue {
  readonly current: Value | undefined;
  readonly rule: FieldRule;
  readonly records: PlanEditsOptions['records'];
}

function isFulfilled({ value }: WantedValue, { current, rule, records }: CurrentValue): boolean {
  if (current === undefined || value === undefined) return current === value;
  const known = withReferences(current, ({ address }) => records.get(address));
  return sameForRule(rule, shape(known), shape(value));
}

async function loadDrafts(options: PlanEditsOptions, drafts: DraftTexts): Promise<Desired | undefined> {
  const { project, workspace, env } = options;
  const draft = project.file === undefined ? undefined : drafts.get(realPath(path.join(project.root, project.file)));
  return new FileView(drafts).during(async () => {
    if (draft === undefined) return loadDesired({ ...options, mode: 'offline' });
    try {
      const next = await parseProject(draft, { root: project.root, file: project.file, env });
      const patches = next.workspaces[workspace.name]?.patches ?? {};
      const changed = { project: next, workspace: { ...workspace, patches } };
      return await loadDesired({ ...options, ...changed, mode: 'offline' });
    } catch (error) {
      if (error instanceof InvalidProject) return undefined;
      throw error;
    }
  });
}

function hasNewError(before: Desired, after: Desired): boolean {
  const textOf = ({ code, message, file }: Diagnostic): string => JSON.stringify([code, message, file]);
  const known = new Set(before.diagnostics.map(textOf));
  return after.diagnostics.some((each) => each.severity === 'error' && !known.has(textOf(each)));
}

function leavesOf({ spec }: Resource, kind: KindSchema | undefined): Map<string, Value> {
  return flatten(spec, (leaf) => kind?.fields[leaf]?.opaque === true);
}

function sameMetadata(a: Resource, b: Resource): boolean {
  const rest = ({ spec, source, ...metadata }: Resource): unknown => [metadata, source.file];
  return jsonEqual(JSON.parse(JSON.stringify(rest(a))), JSON.parse(JSON.stringify(rest(b))));
}

function sameForRule(rule: FieldRule, a: unknown, b: unknown): boolean {
  if (!rule.set || !Array.isArray(a) || !Array.isArray(b)) return jsonEqual(a, b);
  const sorted = (items: readonly unknown[]): string[] => items.map((item) => canonicalJson(item as Json)).sort();
  return jsonEqual(sorted(a), sorted(b));
}

/** Converts a value to plain data in which symbolic values differ from all strings. */
function shape(value: Value | undefined): unknown {
  if (value === undefined) return undefined;
  return mapSymbolicLeaves(value, (leaf) => {
    const name = leaf instanceof Reference ? leaf.address : leaf.name;
    return `\u0000${leaf.constructor.name} ${name}\u0000`;
  });
}
