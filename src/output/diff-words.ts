import type { PlannedChange, PlannedResource } from '../engine/plan/plan-document.ts';
import { kinds } from '../kinds/index.ts';
import { nounOf } from '../manifests/resource.ts';
import type { DiffDocument, FieldDifference, ResourceDifference } from '../runs/diff/document.ts';
import type { Json } from '../values/json.ts';
import { FEWEST_SHARING } from './compact.ts';
import { escapeControls } from './escape-controls.ts';
import { createSecretNumbers, type FieldView, type FieldViewOptions, fieldViews } from './field-view.ts';
import { FEWEST_IN_TABLE } from './grouped-steps.ts';
import { plural } from './plural.ts';
import { valueText } from './value-text.ts';

interface DiffGroup {
  readonly heading: string;
  readonly explanation: string;
  readonly symbol: '~' | '-' | '+';
  readonly resources: readonly ResourceDifference[];
}

/** The differences, undeclared ones first. A resource with both kinds is in both groups. */
export function diffGroups(diff: DiffDocument): DiffGroup[] {
  const { first, second, resources } = diff;
  return [false, true]
    .flatMap((declared): DiffGroup[] => {
      const suffix = declared ? ' as declared' : '';
      const different = resources.flatMap((resource) => {
        const fields = resource.fields.filter(
          (field) => field.verdict === 'different' && field.declared === declared,
        );
        return fields.length === 0 ? [] : [{ ...resource, fields }];
      });
      const only = (name: string, verdict: ResourceDifference['verdict'], symbol: '-' | '+'): DiffGroup => ({
        heading: `Only in ${name}${suffix}`,
        explanation: declared
          ? 'skipped in the other workspace'
          : 'missing from the other workspace, which declares it',
        symbol,
        resources: resources.filter((each) => each.verdict === verdict && each.declared === declared),
      });
      return [
        {
          heading: `Different${suffix}`,
          explanation: declared ? 'the manifests differ between the two' : 'not as the manifests declare',
          symbol: '~',
          resources: different,
        },
        only(first.name, 'only_first', '-'),
        only(second.name, 'only_second', '+'),
      ];
    })
    .filter((group) => group.resources.length > 0);
}

export function unknownFields({ resources }: DiffDocument): { address: string; paths: string[] }[] {
  return resources.flatMap(({ address, fields }) => {
    const paths = fields.filter(({ verdict }) => verdict === 'unknown').map(({ path }) => path);
    return paths.length === 0 ? [] : [{ address, paths }];
  });
}

export const UNKNOWN_HEADING = 'Unknown';
export const UNKNOWN_EXPLANATION =
  'the platform does not show these fields, and the values last sent cannot be compared';

/** The closing sentences, such as `Diff: 2 resources differ, 1 of them as declared.` and `5 are the same.` */
export function diffSummary({ summary }: DiffDocument): string[] {
  const { same, different, only_first, only_second, neither, undeclared, unknown } = summary;
  const differing = different + only_first + only_second;
  const rest = [
    ...(same === 0 ? [] : [`${same} the same`]),
    ...(neither === 0 ? [] : [`${neither} in neither`]),
    ...(unknown === 0 ? [] : [`${plural(unknown, 'field')} unknown`]),
  ];
  const others = rest.length === 0 ? [] : [`${rest.join(', ')}.`];
  if (differing === 0) return ['No differences.', ...others];
  const how = undeclared === 0 ? 'all as declared' : `${undeclared} not as declared`;
  return [
    `Diff: ${plural(differing, 'resource')} ${differing === 1 ? 'differs' : 'differ'}, ${how}.`,
    ...others,
  ];
}

interface DiffViewOptions {
  readonly names: readonly [string, string];
  readonly verbose: boolean;
}

/** The resources of a group in the form of a plan, from the first workspace to the second. */
export function plannedLike(
  { resources }: DiffGroup,
  { names, verbose }: DiffViewOptions,
): { readonly resources: readonly PlannedResource[]; readonly views: FieldViewOptions } {
  const options = { secrets: createSecretNumbers(), verbose };
  const fields = new Map<PlannedResource, FieldView[]>();
  const planned = resources.map((difference): PlannedResource => {
    const { address, kind, source, first, reason = '', verdict, declared } = difference;
    const changes = difference.fields.map(changeOf);
    const like = {
      address,
      kind,
      source,
      reason,
      id: first,
      depends_on: [],
      action: 'update',
      changes,
    } as const;
    const isTold = declared && verdict !== 'different';
    const resource = { ...like, id: null, reason: isTold ? '' : reason };
    const views = fieldViews(like, options).map((view, index): FieldView => {
      const field = difference.fields[index];
      if (field === undefined) return view;
      const notes = notesOf(field, names);
      if (!field.sensitive) return { ...view, notes };
      return { ...view, body: { form: 'change', before: '(secret)', after: '(different secret)' }, notes };
    });
    fields.set(resource, views);
    return resource;
  });
  return { resources: planned, views: { ...options, fieldsOf: (resource) => fields.get(resource) ?? [] } };
}

/** Links that differ in many resources of a kind, one row each. */
export interface LinkTable {
  readonly heading: string;
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly resources: readonly PlannedResource[];
}

/** Resources that differ in links only, without those that differ alike. */
export function linkTables({ resources, views }: ReturnType<typeof plannedLike>): LinkTable[] {
  const linked = resources.filter(
    ({ kind, changes }) =>
      changes.length > 0 &&
      changes.every(({ path }) => kinds.get(kind)?.fields[path]?.refersTo !== undefined),
  );
  const alike = Map.groupBy(linked, ({ kind, changes }) => JSON.stringify([kind, changes]));
  const single = [...alike.values()].filter((same) => same.length < FEWEST_SHARING).flat();
  return [...Map.groupBy(single, ({ kind }) => kind)].flatMap(([kind, members]) => {
    if (members.length < FEWEST_IN_TABLE) return [];
    const paths = [...new Set(members.flatMap(({ changes }) => changes.map(({ path }) => path)))].sort();
    const rows = members.map((member) => {
      const cells = paths.map((path) => {
        const change = member.changes.find((each) => each.path === path);
        const notes = views.fieldsOf?.(member).find((view) => view.path === path)?.notes ?? [];
        return change === undefined ? '' : [linkText(change), ...notes.map((note) => `(${note})`)].join(' ');
      });
      return [member.address, ...cells];
    });
    const heading = `Links of ${plural(members.length, nounOf(kind))}`;
    return [{ heading, titles: ['Address', ...paths], rows, resources: members }];
  });
}

/** `Agent/a -> Agent/b`, and for a list the items of only one side: `- Agent/a, + Agent/b`. */
function linkText({ before, after }: PlannedChange): string {
  const said = (value: Json | undefined) =>
    value === undefined ? '(not set)' : value === null ? '(none)' : valueText(value);
  if (!Array.isArray(before) || !Array.isArray(after)) return `${said(before)} -> ${said(after)}`;
  const only = (items: readonly Json[], others: readonly Json[], sign: string) =>
    items.filter((item) => !others.includes(item)).map((item) => `${sign} ${said(item)}`);
  return [...only(before, after, '-'), ...only(after, before, '+')].join(', ');
}

function changeOf({ path, sensitive, first, second }: FieldDifference): PlannedChange {
  return {
    path,
    ...(first.value !== undefined && { before: first.value }),
    ...(second.value !== undefined && { after: second.value }),
    cause: 'manifest',
    verified: true,
    sensitive,
  };
}

/** Notes on a difference: the workspace that deviates from its manifests, and values from the state. */
function notesOf({ first, second, sensitive }: FieldDifference, names: readonly [string, string]): string[] {
  const sides = [
    { ...first, name: names[0] },
    { ...second, name: names[1] },
  ];
  return sides.flatMap(({ name, standing, verified }) => {
    const said = [
      ...(standing === 'declared' ? [] : [STANDINGS[standing]]),
      ...(verified || sensitive ? [] : ['unverified']),
    ];
    return said.length === 0 ? [] : [`${escapeControls(name)}: ${said.join(', ')}`];
  });
}

const STANDINGS = {
  pending: 'not applied yet',
  drifted: 'drifted',
  ignored: 'free to drift',
  unmanaged: 'not declared',
} as const;
