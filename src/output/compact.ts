import type { PlannedResource, PlannedRoute } from '../engine/plan/plan-document.ts';
import { addressList, mustNameAll } from './address-list.ts';
import { type Hunk, hunksOf, inAll } from './diff-hunks.ts';
import { type FieldView, type FieldViewOptions, fieldViews } from './field-view.ts';
import { stepText } from './next-steps.ts';

/** What is to be said of a resource, or once of several. */
export interface Statement {
  readonly resources: readonly PlannedResource[];
  readonly fields: readonly FieldView[];
  readonly reason: string;
  readonly routes: readonly PlannedRoute[] | undefined;
  readonly released: readonly string[];
  readonly notices: readonly string[];
  readonly steps: readonly string[];
  /** How many of its changes are said before, with those of others. */
  readonly elsewhere: number;
}

export interface CompactOptions {
  readonly views: FieldViewOptions;
  /** True where nothing is said once for several. */
  readonly full?: boolean | undefined;
}

/** So many must share something before it is said once. */
export const FEWEST_SHARING = 3;

/** All that is to be said of the resources, in their order, what several of them share before the rest. */
export function compacted(
  resources: readonly PlannedResource[],
  { views, full = false }: CompactOptions,
): Statement[] {
  const known = new Map<string, FieldView>();
  const alone = resources.map((resource) => statementOf(resource, { ...views, known }));
  if (full || resources.length < FEWEST_SHARING) return alone;
  const kept = alone.map((said) => ({ said, parts: partsOf(said) }));
  const shared = sharedIn(kept).sort((a, b) => rankOf(b) - rankOf(a));
  const taken = new Set(shared.flatMap(({ parts }) => parts.flat()));
  const rest = kept.flatMap(({ said, parts }) => {
    const left = parts.filter((part) => !taken.has(part));
    if (left.length === parts.length) return [said];
    if (left.length === 0 && said.resources[0]?.previous_address === undefined) return [];
    return [{ ...said, ...together(left), elsewhere: changesIn(parts) - changesIn(left) }];
  });
  return [...withoutTold(shared.map(({ said }) => said)), ...rest];
}

function changesIn(parts: readonly SharedPart[]): number {
  return parts.filter(isChange).length;
}

function isChange({ content: { type } }: SharedPart): boolean {
  return type === 'field' || type === 'hunk';
}

/** Changes before remarks, and those of most resources first. */
function rankOf({ said: { fields, resources } }: Shared): number {
  return (fields.length > 0 ? Number.MAX_SAFE_INTEGER / 2 : 0) + resources.length;
}

/** What leads to resources is said of all of them together, the first time that they are named. */
function withoutTold(shared: readonly Statement[]): Statement[] {
  const told = new Set<PlannedResource>();
  return shared.map((said) => {
    const isTold = said.resources.every((resource) => told.has(resource));
    for (const resource of said.resources) told.add(resource);
    return isTold ? { ...said, routes: undefined } : said;
  });
}

export function statementOf(resource: PlannedResource, views: FieldViewOptions): Statement {
  const { reason, routes, released = [], notices = [], steps = [] } = resource;
  const fields = fieldViews(resource, views);
  return {
    resources: [resource],
    fields,
    reason,
    routes,
    released,
    notices,
    steps: steps.map((step) => stepText(step, views.workspaceFlag ?? '')),
    elsewhere: 0,
  };
}

/** What may be said once for several: a change, a hunk of a text, a remark; of what is more than a change, all of it. */
interface SharedPart {
  /** The same for what is the same. */
  readonly key: string;
  /** About, as they are shown. */
  readonly lines: number;
  readonly content: PartContent;
}

type PartContent =
  | { readonly type: 'field'; readonly field: FieldView }
  | {
      readonly type: 'hunk';
      readonly path: string;
      readonly notes: readonly string[];
      readonly hunk: Hunk;
    }
  | { readonly type: 'released' | 'notice' | 'step'; readonly text: string };

function partsOf({ resources, fields, reason, released, notices, steps }: Statement): SharedPart[] {
  const [resource] = resources;
  if (resource === undefined) return [];
  // What happens to a record: only an update is said in parts, because each of its lines stands for itself.
  const isUpdate = resource.action === 'update';
  const about = [resource.action, resource.adopted ?? false, resource.missing ?? false];
  const changes = fields.flatMap((field, index): SharedPart[] => {
    const { path, body, notes } = field;
    if (body.form === 'diff') {
      return hunksOf(body.lines).map((hunk) => ({
        key: JSON.stringify([about, path, notes, hunk.key]),
        lines: hunk.lines.length + 1,
        content: { type: 'hunk', path, notes, hunk },
      }));
    }
    const lines = body.form === 'text' ? body.lines.length + 1 : 1;
    return [
      {
        key: JSON.stringify([about, resource.changes[index], notes]),
        lines,
        content: { type: 'field', field },
      },
    ];
  });
  const texts = (type: 'released' | 'notice' | 'step', all: readonly string[]): SharedPart[] =>
    all.map((text) => ({ key: JSON.stringify([about, type, text]), lines: 1, content: { type, text } }));
  const parts = [
    ...changes,
    ...texts('released', released),
    ...texts('notice', notices),
    ...texts('step', steps),
  ];
  const whole = isUpdate ? '' : JSON.stringify([about, reason, parts.map(({ key }) => key)]);
  const met = new Map<string, number>();
  return parts.map((part) => {
    // A text may change in the same way at two places.
    const times = (met.get(part.key) ?? 0) + 1;
    met.set(part.key, times);
    return { ...part, key: `${times} ${part.key} ${whole}` };
  });
}

interface KeptParts {
  readonly said: Statement;
  readonly parts: readonly SharedPart[];
}

interface Sharing {
  readonly members: readonly KeptParts[];
  /** Of each of them. */
  readonly parts: readonly (readonly SharedPart[])[];
}

interface Shared extends Pick<Sharing, 'parts'> {
  readonly said: Statement;
}

/** Parts that the same resources share, together, where saying them once is shorter. */
function sharedIn(kept: readonly KeptParts[]): Shared[] {
  const holders = new Map<string, number[]>();
  for (const [index, { parts }] of kept.entries()) {
    for (const key of new Set(parts.map((part) => part.key))) {
      const known = holders.get(key);
      if (known === undefined) holders.set(key, [index]);
      else known.push(index);
    }
  }
  const byHolders = Map.groupBy(
    [...holders].filter(([, indices]) => indices.length >= FEWEST_SHARING),
    ([, indices]) => indices.join(','),
  );
  let candidates = [...byHolders.values()].flatMap((same): Sharing[] => {
    const keys = new Set(same.map(([key]) => key));
    const members = (same[0]?.[1] ?? []).flatMap((index) => kept[index] ?? []);
    const parts = members.map((member) =>
      worthSharing(
        member.parts.filter(({ key }) => keys.has(key)),
        member,
      ),
    );
    return parts.every(({ length }) => length === 0) ? [] : [{ members, parts }];
  });
  // What is not shared after all leaves more to say of each, which another sharing may have counted on.
  for (let before = -1; before !== candidates.length; ) {
    before = candidates.length;
    const taken = new Set(candidates.flatMap(({ parts }) => parts.flat()));
    candidates = candidates.filter((each) => savedBy(each, taken) > 0);
  }
  return candidates.map(({ members, parts }) => ({ said: saidTogether(members, parts), parts }));
}

/** Of an update, steps alone are no reason for a box of several. */
function worthSharing(parts: readonly SharedPart[], { said }: KeptParts): readonly SharedPart[] {
  const isWhole = said.resources.every(({ action }) => action !== 'update');
  return isWhole || parts.some(isChange) ? parts : parts.filter(({ content }) => content.type === 'notice');
}

/** In columns, about: what a line of addresses holds. */
const LINE = 70;

/** How many lines, about, are saved where the parts are said once, if those that are taken are said elsewhere too. */
function savedBy({ members, parts }: Sharing, taken: ReadonlySet<SharedPart>): number {
  const resources = members.flatMap(({ said }) => said.resources);
  const lines = (parts[0] ?? []).reduce((sum, part) => sum + part.lines, 0);
  const names = Math.ceil(addressList(resources.map(({ address }) => address)).length / LINE);
  const isRemark = !parts.flat().some(isChange);
  const isUpdate = resources.every(({ action }) => action === 'update');
  if (isUpdate && isRemark) return lines * (members.length - 1 - names);
  const addresses = isUpdate && !mustNameAll(resources) ? names : members.length;
  const covered = members.filter((member) => member.parts.every((part) => taken.has(part))).length;
  const routes = members.some(({ said }) => (said.routes ?? []).length > 0) ? 2 : 0;
  // Two lines for the box of each that is not said alone, one for the reference to this one in each that is.
  return lines * (members.length - 1) + 2 * covered - (members.length - covered) - 2 - addresses - routes;
}

function saidTogether(members: readonly KeptParts[], parts: readonly (readonly SharedPart[])[]): Statement {
  const reasons = new Set(members.map(({ said }) => said.reason));
  const [reason = ''] = reasons;
  const [first = []] = parts;
  const byKey = Map.groupBy(parts.flat(), ({ key }) => key);
  const shown = first.map((part) => {
    const { content, key } = part;
    if (content.type !== 'hunk') return part;
    const hunks = (byKey.get(key) ?? []).flatMap((other) =>
      other.content.type === 'hunk' ? [other.content.hunk] : [],
    );
    return { ...part, content: { ...content, hunk: inAll(content.hunk, hunks) } };
  });
  return {
    resources: members.flatMap(({ said }) => said.resources),
    ...together(shown),
    reason: reasons.size === 1 ? reason : '',
    routes: routesOf(members.map(({ said }) => said)),
    elsewhere: 0,
  };
}

function together(
  parts: readonly SharedPart[],
): Pick<Statement, 'fields' | 'released' | 'notices' | 'steps'> {
  const texts = (type: PartContent['type']) =>
    parts.flatMap(({ content }) => (content.type === type && 'text' in content ? [content.text] : []));
  const fields: FieldView[] = [];
  for (const { content } of parts) {
    if (content.type === 'field') fields.push(content.field);
    if (content.type !== 'hunk') continue;
    const { path, notes, hunk } = content;
    const last = fields.at(-1);
    const goesOn = last?.path === path && last.body.form === 'diff';
    const before = goesOn && last.body.form === 'diff' ? last.body.lines : [];
    const field = { path, notes, body: { form: 'diff', lines: [...before, ...hunk.lines] } } as const;
    if (goesOn) fields.splice(-1, 1, field);
    else fields.push(field);
  }
  return {
    fields,
    released: texts('released'),
    notices: texts('notice'),
    steps: texts('step'),
  };
}

/** The routes to any of them; undefined where they were not read. */
function routesOf(members: readonly Statement[]): readonly PlannedRoute[] | undefined {
  const all = members.flatMap(({ routes = [] }) => routes);
  if (members.every(({ routes }) => routes === undefined)) return undefined;
  return [...new Map(all.map((route) => [JSON.stringify(route), route])).values()];
}
