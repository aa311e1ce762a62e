import type { PlannedChange, PlannedResource } from '../engine/plan/plan-document.ts';
import { kinds } from '../kinds/index.ts';
import { nounOf } from '../manifests/resource.ts';
import type { DiffDocument, FieldDifference, ResourceDifference } from '../runs/diff/document.ts';
import type { DraftDiffDocument } from '../runs/draft-diff.ts';
import type { Json } from '../values/json.ts';
import { compact, MIN_SHARING } from './compact.ts';
import { escapeControls } from './escape-controls.ts';
import { createSecretNumbers, type FieldView, type FieldViewOptions, fieldViews } from './field-view.ts';
import { MIN_IN_TABLE } from './grouped-steps.ts';
import { MarkdownPage, markdownCode, markdownText } from './markdown.ts';
import { plural } from './plural.ts';
import { timeText } from './records/record-values.ts';
import type { ReportGroup } from './report.ts';
import { details, tableRow } from './resource-markdown.ts';
import { renderGroup } from './resource-text.ts';
import { paragraphs, type Style, section, sentences } from './style.ts';
import { noWrapColumns, renderIndented } from './table.ts';
import { displayWidth, pad } from './text-width.ts';
import { valueText } from './value-text.ts';

/** The differences between two sides, from which all formats are rendered. */
interface Comparison {
  readonly title: string;
  /** The command that prints all differences. */
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

interface FieldList {
  readonly title: string;
  readonly explanation: string;
  readonly fields: readonly { readonly address: string; readonly paths: readonly string[] }[];
}

/** Compares two workspaces. Undeclared differences come first. A resource with declared and undeclared differences is in both groups. */
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
    const changed = declared ? 'the manifests of the two workspaces differ' : 'not as declared in the manifests';
    const missing = declared ? 'skipped in the other workspace' : 'declared in the other workspace, but missing there';
    const group = (symbol: '~' | '-' | '+', heading: string, found: readonly ResourceDifference[]) =>
      ({ symbol, heading: heading + suffix, explanation: symbol === '~' ? changed : missing, found }) as const;
    return [
      group('~', 'Different', different),
      group('-', `Only in ${first.name}`, only('only_first')),
      group('+', `Only in ${second.name}`, only('only_second')),
    ];
  });
  return {
    title: `diff from ${first.name.slice(0, 100)} to ${second.name.slice(0, 100)}`,
    command: `voxform diff ${first.name} ${second.name}`,
    sides: [side('-', first), side('+', second)],
    groups: groups
      .filter(({ found }) => found.length > 0)
      .map((group) => groupOf({ ...group, found: group.found.map((each) => asPlanned(each, diff)) }, verbose)),
    unknown: fieldList(
      'Unknown',
      'the platform does not return these fields, and the values last sent cannot be compared',
      resources.map(({ address, fields }) => ({
        address,
        paths: fields.filter(({ verdict }) => verdict === 'unknown').map(({ path }) => path),
      })),
    ),
    unverified: fieldList(
      'Unverified',
      'the same, based on the values last sent',
      resources.map(({ address, unverified: paths = [] }) => ({ address, paths })),
    ),
    summary: diffSummary(diff),
    isClean: summary.undeclared === 0,
  };
}

/** Compares the published version of an agent with its draft. */
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
    unknown: fieldList('Unknown', 'the platform does not return these fields; publishing may change them too', [
      { address, paths: unknown },
    ]),
    unverified: fieldList('Unverified', '', []),
    summary: [draftSummary(diff)],
    isClean: changes.length === 0 && published !== null,
  };
}

function draftSummary({ address, published, changes, unknown }: DraftDiffDocument): string {
  if (published === null) return `${address} was never published. Publishing makes its draft the first version.`;
  if (changes.length > 0) return `Publishing ${address} would change ${plural(changes.length, 'field')}.`;
  return `Publishing ${address} would change nothing${unknown.length === 0 ? '' : ' that can be compared'}.`;
}

/** Returns the closing sentences, such as `Diff: 2 resources differ, 1 not as declared.` and `5 the same.` */
function diffSummary({ summary }: DiffDocument): string[] {
  const { same, different, only_first, only_second, neither, undeclared, unknown } = summary;
  const differing = different + only_first + only_second;
  const others = [
    same > 0 && `${same} the same`,
    neither > 0 && `${neither} in neither`,
    unknown > 0 && `${plural(unknown, 'field')} unknown`,
  ].filter(Boolean);
  const declared = undeclared === 0 ? 'all as declared' : `${undeclared} not as declared`;
  const differ = `${plural(differing, 'resource')} ${differing === 1 ? 'differs' : 'differ'}`;
  return [
    differing === 0 ? 'No differences.' : `Diff: ${differ}, ${declared}.`,
    ...(others.length === 0 ? [] : [`${others.join(', ')}.`]),
  ];
}

function fieldList(title: string, explanation: string, all: FieldList['fields']): FieldList {
  const fields = all.filter(({ paths }) => paths.length > 0);
  const count = fields.reduce((sum, { paths }) => sum + paths.length, 0);
  return { title: `${title} (${count})`, explanation, fields };
}

const COLORS = { '+': 'create', '-': 'forget', '~': 'update' } as const;

interface FoundGroup extends Pick<ReportGroup, 'heading' | 'explanation'> {
  readonly symbol: keyof typeof COLORS;
  /** The differences in the form of a plan from the first side to the second. `notes`, if present, replaces the notes on each field. */
  readonly found: readonly { readonly resource: PlannedResource; readonly notes?: readonly (readonly string[])[] }[];
}

function groupOf({ symbol, found, ...words }: FoundGroup, verbose: boolean): ComparedGroup {
  const options = { secrets: createSecretNumbers(), verbose };
  const fields = new Map(
    found.map(({ resource, notes }) => {
      // A record that exists on only one side gets an id, so that it is displayed like a changed record.
      const views = fieldViews({ ...resource, id: resource.id ?? '' }, options);
      const shown = views.map((view, index): FieldView => {
        const withNotes = { ...view, notes: notes?.[index] ?? view.notes };
        if (!resource.changes[index]?.sensitive) return withNotes;
        return { ...withNotes, body: { form: 'change', before: '(secret)', after: '(different secret)' } };
      });
      return [resource, shown];
    }),
  );
  const resources = [...fields.keys()];
  const views = { ...options, fieldsOf: (resource: PlannedResource) => fields.get(resource) ?? [] };
  const heading = escapeControls(words.heading);
  const mark = { symbol, colorOf: COLORS[symbol], omitsReason: () => false };
  return { ...words, ...mark, key: heading, heading, resources, views, tables: linkTables(resources, views) };
}

const unplanned = { action: 'update', depends_on: [] } as const;

function asPlanned(difference: ResourceDifference, { first, second }: DiffDocument): FoundGroup['found'][number] {
  const { address, kind, source, verdict, declared, fields } = difference;
  const reason = declared && verdict !== 'different' ? '' : (difference.reason ?? '');
  return {
    resource: { ...unplanned, address, kind, source, reason, id: null, changes: fields.map(changeOf) },
    notes: fields.map((field) => notesOf(field, [first.name, second.name])),
  };
}

/** A table of links that differ in many resources of a kind, with one row for each resource. */
interface LinkTable {
  readonly heading: string;
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly resources: readonly PlannedResource[];
}

/** Returns tables of the resources that differ only in links. Resources that share the same difference are not included. */
function linkTables(resources: readonly PlannedResource[], views: FieldViewOptions): LinkTable[] {
  const linked = resources.filter(
    ({ kind, changes }) =>
      changes.length > 0 && changes.every(({ path }) => kinds.get(kind)?.fields[path]?.refersTo !== undefined),
  );
  const alike = Map.groupBy(linked, ({ kind, changes }) => JSON.stringify([kind, changes]));
  const single = [...alike.values()].filter((same) => same.length < MIN_SHARING).flat();
  return [...Map.groupBy(single, ({ kind }) => kind)].flatMap(([kind, members]) => {
    if (members.length < MIN_IN_TABLE) return [];
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

/** Returns a string such as `Agent/a -> Agent/b`, or for lists, the items that only one side has: `- Agent/a, + Agent/b`. */
function linkText({ before, after }: PlannedChange): string {
  const textOf = (value: Json | undefined) =>
    value === undefined ? '(not set)' : value === null ? '(none)' : valueText(value);
  if (!Array.isArray(before) || !Array.isArray(after)) return `${textOf(before)} -> ${textOf(after)}`;
  const only = (items: readonly Json[], others: readonly Json[], sign: string) =>
    items.filter((item) => !others.includes(item)).map((item) => `${sign} ${textOf(item)}`);
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

/** Returns notes on a difference: which workspace deviates from its manifests, and which values come from the state. */
function notesOf({ first, second, sensitive }: FieldDifference, names: readonly [string, string]): string[] {
  return [first, second].flatMap(({ standing, verified }, side) => {
    const words = [STANDING_WORDS[standing], verified || sensitive ? '' : 'unverified'].filter((word) => word !== '');
    return words.length === 0 ? [] : [`${escapeControls(names[side] ?? '')}: ${words.join(', ')}`];
  });
}

const STANDING_WORDS = {
  declared: '',
  pending: 'not applied yet',
  drifted: 'drifted',
  ignored: 'drift ignored',
  unmanaged: 'not declared',
} as const;

interface ComparisonOptions {
  readonly verbose?: boolean;
  /** True to repeat shared statements for each resource. */
  readonly full?: boolean | undefined;
}

/** Returns the comparison as text, with each field as a change from the first side to the second. */
export function comparisonText(
  { sides, groups, unknown, unverified, summary, isClean }: Comparison,
  style: Style,
  { verbose = false, full = verbose }: ComparisonOptions = {},
): string {
  const width = Math.max(...sides.map(({ name }) => displayWidth(name)));
  const lines = sides.map(({ sign, name, about }) => {
    const lead = `${sign === '-' ? style.removed(sign) : style.added(sign)} ${pad(name, width)} `;
    return style.prose(about, { lead, format: style.dim });
  });
  return paragraphs([
    lines.join('\n'),
    ...groups.map(({ tables, ...group }) => {
      const shown = full ? [] : tables.map((table) => linksText(table, style));
      return renderGroup(group, { style, views: group.views, full, tables: shown });
    }),
    fieldsText(unknown, style),
    verbose ? fieldsText(unverified, style) : '',
    sentences(summary, style, { format: isClean ? style.good : style.bold }),
  ]);
}

function linksText({ heading, titles, rows, resources }: LinkTable, style: Style) {
  const [first = '', ...others] = titles;
  const columns = [...noWrapColumns(first.toUpperCase()), ...others];
  return { resources, text: `  ${heading}:\n${renderIndented(columns, rows, { style, indent: 4 })}` };
}

function fieldsText({ title, explanation, fields }: FieldList, style: Style): string {
  const lines = fields.map(({ address, paths }) => style.prose(`${address}: ${paths.join(', ')}`, { indent: 4 }));
  return section(style.prose(explanation, { lead: `${style.bold(title)}: `, format: style.dim }), lines);
}

/** The maximum share of the page for table rows. */
const TABLE_SHARE = 0.6;

/** Returns the comparison as Markdown for a comment of at most 65,536 characters. */
export function comparisonMarkdown(
  { title, command, sides, groups, unknown, summary }: Comparison,
  { full }: ComparisonOptions = {},
): string {
  const page = new MarkdownPage();
  page.add(`### voxform ${markdownText(title)}\n\n**${markdownText(summary.join(' '))}**`);
  const lines = sides.map(({ sign, name, about }) => `- ${markdownCode(sign)} ${markdownText(`${name}, ${about}`)}`);
  page.add(lines.join('\n'));
  const links = full ? [] : groups.flatMap(({ tables }) => tables);
  const inTables = new Set(links.flatMap(({ resources }) => resources));
  const blocks = groups.flatMap(({ heading, symbol, resources, views }) => {
    const words = { symbol, action: markdownText(heading.toLowerCase()) };
    const others = resources.filter((resource) => !inTables.has(resource));
    return compact(others, { views, full }).map((statement) => ({ statement, words }));
  });
  const rows = blocks.map(({ statement, words }) => tableRow(statement.resources, words));
  page.addList('| | Resource | Difference | Source |\n| --- | --- | --- | --- |', rows, {
    share: TABLE_SHARE,
    rest: (count) => `| | ${count} more | | |`,
  });
  for (const { heading, titles, rows } of links) {
    const cells = rows.map((row) => row.map(markdownText));
    page.addTable(`#### ${heading}`, { titles, rows: cells, share: TABLE_SHARE });
  }
  for (const { statement, words } of blocks) {
    if (page.isFull) page.omit();
    // A single resource is not folded.
    else if (blocks.length === 1)
      page.add(...details(statement, words).map((form) => form.replace('<details>', '<details open>')));
    else page.add(...details(statement, words));
  }
  const fields = unknown.fields.map(
    ({ address, paths }) => `- ${markdownCode(address)}: ${paths.map(markdownCode).join(', ')}`,
  );
  page.addList(`#### ${unknown.title}\n\n${markdownText(unknown.explanation)}`, fields, {
    share: 1,
    rest: (count) => `- ${count} more`,
  });
  return page.text(command);
}
