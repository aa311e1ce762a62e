import type { DiffDocument } from '../runs/diff/document.ts';
import {
  diffGroups,
  diffSummary,
  type LinkTable,
  linkTables,
  plannedLike,
  UNKNOWN_EXPLANATION,
  UNKNOWN_HEADING,
  unknownFields,
} from './diff-words.ts';
import { escapeControls } from './escape-controls.ts';
import { renderGroup } from './resource-text.ts';
import { paragraphs, type Style, section, sentences } from './style.ts';
import { renderIndented } from './table.ts';
import { displayWidth, pad } from './text-width.ts';

interface DiffTextOptions {
  readonly verbose?: boolean;
  /** Show common statements for each resource. */
  readonly full?: boolean | undefined;
}

const COLORS = { '+': 'create', '-': 'forget', '~': 'update' } as const;

/** The differences of two workspaces: each field from the first to the second. */
export function renderDiffText(
  diff: DiffDocument,
  style: Style,
  { verbose = false, full = verbose }: DiffTextOptions = {},
): string {
  const names = [diff.first.name, diff.second.name] as const;
  const format = diff.summary.undeclared === 0 ? style.good : style.bold;
  return paragraphs([
    renderPlaces(diff, style),
    ...diffGroups(diff).map((group) => {
      const like = plannedLike(group, { names, verbose });
      const { resources, views } = like;
      const tables = full ? [] : linkTables(like).map((table) => renderLinks(table, style));
      const heading = escapeControls(group.heading);
      const marked = { ...group, key: heading, heading, colorOf: COLORS[group.symbol], isPlain: () => false };
      return renderGroup({ ...marked, resources }, { style, views, full, tables });
    }),
    renderUnknown(diff, style),
    verbose ? renderUnverified(diff, style) : '',
    sentences(diffSummary(diff), style, { format }),
  ]);
}

function renderLinks({ heading, titles, rows, resources }: LinkTable, style: Style) {
  const columns = titles.map((title, index) => ({
    title: index === 0 ? title.toUpperCase() : title,
    whole: index === 0,
  }));
  return { resources, text: `  ${heading}:\n${renderIndented(columns, rows, { style, indent: 4 })}` };
}

function renderPlaces({ first, second }: DiffDocument, style: Style): string {
  const width = Math.max(displayWidth(escapeControls(first.name)), displayWidth(escapeControls(second.name)));
  const line = (sign: string, { name, workspace_id, base_url }: DiffDocument['first']) =>
    style.prose(`${workspace_id} at ${base_url}`, {
      lead: `${sign} ${pad(escapeControls(name), width)} `,
      format: style.dim,
    });
  return [line(style.removed('-'), first), line(style.added('+'), second)].join('\n');
}

function renderUnknown(diff: DiffDocument, style: Style): string {
  const title = `${UNKNOWN_HEADING} (${diff.summary.unknown})`;
  return fieldList(unknownFields(diff), style, { title, explanation: UNKNOWN_EXPLANATION });
}

function renderUnverified({ resources }: DiffDocument, style: Style): string {
  const fields = resources.map(({ address, unverified: paths = [] }) => ({ address, paths }));
  const explanation = 'the same, judged by the values last sent';
  return fieldList(fields, style, { title: 'Unverified', explanation });
}

function fieldList(
  fields: readonly { readonly address: string; readonly paths: readonly string[] }[],
  style: Style,
  { title, explanation }: { readonly title: string; readonly explanation: string },
): string {
  const lines = fields
    .filter(({ paths }) => paths.length > 0)
    .map(({ address, paths }) =>
      style.prose(paths.join(', '), { indent: 4, lead: `${style.bold(escapeControls(address))}: ` }),
    );
  return section(style.prose(explanation, { lead: `${style.bold(title)}: `, format: style.dim }), lines);
}
