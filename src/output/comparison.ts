import type { PlannedChange, PlannedResource } from '../engine/plan/plan-document.ts';
import { kinds } from '../kinds/index.ts';
import { nounOf } from '../manifests/resource.ts';
import type { DiffDocument, FieldDifference, ResourceDifference } from '../runs/diff/document.ts';
import type { DraftDiffDocument } from '../runs/draft-diff.ts';
import type { Json } from '../values/json.ts';
import { FEWEST_SHARING } from './compact.ts';
import { escapeControls } from './escape-controls.ts';
import { createSecretNumbers, type FieldView, type FieldViewOptions, fieldViews } from './field-view.ts';
import { FEWEST_IN_TABLE } from './grouped-steps.ts';
import { plural } from './plural.ts';
import { timeText } from './records/record-values.ts';
import type { ReportGroup } from './report.ts';
import { valueText } from './value-text.ts';

/** The differences of two sides, for all formats. */
export interface Comparison {
  readonly title: string;
  /** Shows everything. */
  readonly command: string;
  readonly sides: readonly { readonly sign: '-' | '+'; readonly name: string; readonly about: string }[];
  readonly groups: readonly ComparedGroup[];
  readonly unknown: FieldList;
  readonly unverified: FieldList;
  readonly summary: readonly string[];
  readonly isClean: boolean;
}

interface ComparedGroup extends ReportGroup {
  readonly views: FieldViewOptions;
  readonly tables: readonly LinkTable[];
}

export interface FieldList {
  readonly title: string;
  readonly explanation: string;
  readonly fields: readonly { readonly address: string; readonly paths: readonly string[] }[];
}

/** Two workspaces. Undeclared differences come first; a resource with both kinds is in both groups. */
export function workspaceComparison(diff: DiffDocument, verbose = false): Comparison {
  const { first, second, resources, summary } = diff;
  const side = (sign: '-' | '+', { name, workspace_id, base_url }: DiffDocument['first']) =>
    ({ sign, name: escapeControls(name), about: `${workspace_id} at ${base_url}` }) as const;
  const groups = [false, true].flatMap((declared) => {
    const suffix = declared ? ' as declared' : '';
    const different = resources.flatMap((resource) => {
      const fields = resource.fields.filter((field) => field.verdict === 'different' && field.declared === declared);
      return fields.length === 0 ? [] : [{ ...resource, fields }];
    });
    const only = (verdict: ResourceDifference['verdict']) =>
      resources.filter((each) => each.verdict === verdict && each.declared === declared);
    const how = declared ? 'the manifests differ between the two' : 'not as the manifests declare';
    const why = declared ? 'skipped in the other workspace' : 'missing from the other workspace, which declares it';
    return [
      { symbol: '~', heading: `Different${suffix}`, explanation: how, found: different },
      { symbol: '-', heading: `Only in ${first.name}${suffix}`, explanation: why, found: only('only_first') },
      {
        symbol: '+',
        heading: `Only in ${second.name}${suffix}`,
        explanation: why,
        found: only('only_second'),
      },
    ] as const;
  });
  return {
    title: `diff from ${first.name.slice(0, 100)} to ${second.name.slice(0, 100)}`,
    command: `voxform diff ${first.name} ${second.name}`,
    sides: [side('-', first), side('+', second)],
    groups: groups
      .filter(({ found }) => found.length > 0)
      .map((group) => groupOf({ ...group, found: group.found.map((each) => planned(each, diff)) }, verbose)),
    unknown: fieldList(
      'Unknown',
      'the platform does not show these fields, and the values last sent cannot be compared',
      resources.map(({ address, fields }) => ({
        address,
        paths: fields.filter(({ verdict }) => verdict === 'unknown').map(({ path }) => path),
      })),
    ),
    unverified: fieldList(
      'Unverified',
      'the same, judged by the values last sent',
      resources.map(({ address, unverified: paths = [] }) => ({ address, paths })),
    ),
    summary: diffSummary(diff),
    isClean: summary.undeclared === 0,
  };
}

/** A draft, from its published version. */
export function draftComparison(diff: DraftDiffDocument, verbose = false): Comparison {
  const { address, kind, id, changes, published, updated_at: updated, unknown } = diff;
  const at = (time: string | null): string => (time === null ? '(not shown)' : timeText(time, 'local'));
  const before = published && {
    sign: '-' as const,
    name: `version ${published.version ?? 'latest'}`,
    about: `published ${at(published.published_at)}`,
  };
  const resource = { ...unplanned, address, kind, id, changes, source: null, reason: '' };
  const found = changes.length === 0 ? [] : [{ resource }];
  return {
    title: `versions ${address}`,
    command: `voxform versions ${address} --diff published`,
    sides: [...(before === null ? [] : [before]), { sign: '+', name: 'draft', about: `updated ${at(updated)}` }],
    groups: [groupOf({ symbol: '~', heading: 'Changed', found }, verbose)],
    unknown: fieldList('Unknown', 'the platform does not show these fields, so that publishing may change them too', [
      { address, paths: unknown },
    ]),
    unverified: fieldList('Unverified', '', []),
    summary: [draftSummary(diff)],
    isClean: changes.length === 0 && published !== null,
  };
}

function draftSummary({ address, published, changes, unknown }: DraftDiffDocument): string {
  if (published === null) return `${address} was never published: publishing makes its whole draft the first version.`;
  if (changes.length > 0) return `Publishing ${address} would change ${plural(changes.length, 'field')}.`;
  return `Publishing ${address} would change nothing${unknown.length === 0 ? '' : ' that can be compared'}.`;
}

/** Such as `Diff: 2 resources differ, 1 of them as declared.` and `5 are the same.` */
function diffSummary({ summary }: DiffDocument): string[] {
  const { same, different, only_first, only_second, neither, undeclared, unknown } = summary;
  const differing = different + only_first + only_second;
  const others = [
    same > 0 && `${same} the same`,
    neither > 0 && `${neither} in neither`,
    unknown > 0 && `${plural(unknown, 'field')} unknown`,
  ].filter((text) => text !== false);
  const how = undeclared === 0 ? 'all as declared' : `${undeclared} not as declared`;
  const differ = `${plural(differing, 'resource')} ${differing === 1 ? 'differs' : 'differ'}`;
  return [
    differing === 0 ? 'No differences.' : `Diff: ${differ}, ${how}.`,
    ...(others.length === 0 ? [] : [`${others.join(', ')}.`]),
  ];
}

function fieldList(title: string, explanation: string, all: FieldList['fields']): FieldList {
  const fields = all.filter(({ paths }) => paths.length > 0);
  const count = fields.reduce((sum, { paths }) => sum + paths.length, 0);
  return { title: `${title} (${count})`, explanation, fields };
}

interface ComparedResource {
  /** In the form of a plan, from the first side to the second. */
  readonly resource: PlannedResource;
  /** The statement for each field, in place of that of a plan. */
  readonly notes?: readonly (readonly string[])[];
}

const COLORS = { '+': 'create', '-': 'forget', '~': 'update' } as const;

interface FoundGroup extends Pick<ReportGroup, 'heading' | 'explanation'> {
  readonly symbol: keyof typeof COLORS;
  readonly found: readonly ComparedResource[];
}

function groupOf({ symbol, found, ...words }: FoundGroup, verbose: boolean): ComparedGroup {
  const options = { secrets: createSecretNumbers(), verbose };
  const fields = new Map(
    found.map(({ resource, notes }) => {
      // A record on only one side is shown like a changed one.
      const views = fieldViews({ ...resource, id: resource.id ?? '' }, options);
      const shown = views.map((view, index): FieldView => {
        const said = { ...view, notes: notes?.[index] ?? view.notes };
        if (!resource.changes[index]?.sensitive) return said;
        return { ...said, body: { form: 'change', before: '(secret)', after: '(different secret)' } };
      });
      return [resource, shown];
    }),
  );
  const resources = [...fields.keys()];
  const views = { ...options, fieldsOf: (resource: PlannedResource) => fields.get(resource) ?? [] };
  const heading = escapeControls(words.heading);
  const mark = { symbol, colorOf: COLORS[symbol], isPlain: () => false };
  return { ...words, ...mark, key: heading, heading, resources, views, tables: linkTables(resources, views) };
}

const unplanned = { action: 'update', depends_on: [] } as const;

function planned(difference: ResourceDifference, { first, second }: DiffDocument): ComparedResource {
  const { address, kind, source, verdict, declared, fields } = difference;
  const reason = declared && verdict !== 'different' ? '' : (difference.reason ?? '');
  return {
    resource: { ...unplanned, address, kind, source, reason, id: null, changes: fields.map(changeOf) },
    notes: fields.map((field) => notesOf(field, [first.name, second.name])),
  };
}

/** Links that differ in many resources of a kind, one row each. */
export interface LinkTable {
  readonly heading: string;
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly resources: readonly PlannedResource[];
}

/** Resources that differ in links only, without those that differ alike. */
function linkTables(resources: readonly PlannedResource[], views: FieldViewOptions): LinkTable[] {
  const linked = resources.filter(
    ({ kind, changes }) =>
      changes.length > 0 && changes.every(({ path }) => kinds.get(kind)?.fields[path]?.refersTo !== undefined),
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
  return [first, second].flatMap(({ standing, verified }, side) => {
    const said = [STANDINGS[standing], verified || sensitive ? '' : 'unverified'].filter((word) => word !== '');
    return said.length === 0 ? [] : [`${escapeControls(names[side] ?? '')}: ${said.join(', ')}`];
  });
}

const STANDINGS = {
  declared: '',
  pending: 'not applied yet',
  drifted: 'drifted',
  ignored: 'free to drift',
  unmanaged: 'not declared',
} as const;
