import type { DiffDocument } from '../runs/diff/document.ts';
import {
  type DiffGroup,
  diffFieldViews,
  diffGroups,
  diffSummary,
  UNKNOWN_EXPLANATION,
  UNKNOWN_HEADING,
  unknownFields,
} from './diff-words.ts';
import { escapeControls } from './escape-controls.ts';
import { renderFields } from './fields-text.ts';
import { detailIndent, renderRemark } from './resource-lines.ts';
import { type Style, sentences } from './style.ts';
import { displayWidth, pad } from './text-width.ts';

interface Look {
  readonly style: Style;
  readonly names: readonly [string, string];
  readonly verbose: boolean;
}

/** What is between two workspaces, for a person to read: each field from the first to the second. */
export function renderDiffText(
  diff: DiffDocument,
  style: Style,
  { verbose = false }: { readonly verbose?: boolean } = {},
): string {
  const look: Look = { style, names: [diff.first.name, diff.second.name], verbose };
  const body = [
    ...diffGroups(diff).map((group) => renderGroup(group, look)),
    renderUnknown(diff, style),
    verbose ? renderUnverified(diff, style) : '',
  ].filter((part) => part !== '');
  const format = diff.summary.undeclared === 0 ? style.good : style.bold;
  const closing = sentences(diffSummary(diff), style, { format });
  return `${[renderPlaces(diff, style), ...body, closing].join('\n\n')}\n`;
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

function heading(title: string, explanation: string, style: Style): string {
  return style.prose(explanation, { lead: `${style.bold(title)}: `, format: style.dim });
}

function renderGroup({ heading: title, explanation, symbol, resources }: DiffGroup, look: Look): string {
  const { style, names, verbose } = look;
  const blocks = resources.map((resource) => {
    const { address, source, reason, verdict, declared } = resource;
    const head = `  ${format(symbol, style)} ${style.bold(escapeControls(address))}  ${style.dim(`${escapeControls(source.file)}:${source.line}`)}`;
    const isTold = reason === undefined || (declared && verdict !== 'different');
    return [
      head,
      ...(isTold ? [] : [renderRemark(reason, style)]),
      ...renderFields(diffFieldViews(resource, { names, verbose }), style, detailIndent),
    ].join('\n');
  });
  const airy = blocks.some((block) => block.includes('\n'));
  const first = heading(`${escapeControls(title)} (${resources.length})`, explanation, style);
  return [first, ...(airy ? [''] : []), blocks.join(airy ? '\n\n' : '\n')].join('\n');
}

function format(symbol: DiffGroup['symbol'], { added, removed, warn }: Style): string {
  return { '+': added, '-': removed, '~': warn }[symbol](symbol);
}

function renderUnknown(diff: DiffDocument, style: Style): string {
  const unknown = unknownFields(diff);
  if (unknown.length === 0) return '';
  const lines = unknown.map(({ address, paths }) =>
    style.prose(paths.join(', '), { indent: 4, lead: `${style.bold(escapeControls(address))}: ` }),
  );
  return [heading(`${UNKNOWN_HEADING} (${diff.summary.unknown})`, UNKNOWN_EXPLANATION, style), ...lines].join(
    '\n',
  );
}

function renderUnverified({ resources }: DiffDocument, style: Style): string {
  const lines = resources.flatMap(({ address, unverified = [] }) =>
    unverified.length === 0
      ? []
      : [style.prose(unverified.join(', '), { indent: 4, lead: `${style.bold(escapeControls(address))}: ` })],
  );
  if (lines.length === 0) return '';
  return [heading('Unverified', 'the same, judged by the values last sent', style), ...lines].join('\n');
}
