import type { DiffDocument } from '../runs/diff/document.ts';
import {
  diffGroups,
  diffSummary,
  plannedLike,
  UNKNOWN_EXPLANATION,
  UNKNOWN_HEADING,
  unknownFields,
} from './diff-words.ts';
import { escapeControls } from './escape-controls.ts';
import { renderGroup } from './resource-text.ts';
import { type Style, sentences } from './style.ts';
import { displayWidth, pad } from './text-width.ts';

interface DiffTextOptions {
  readonly verbose?: boolean;
  /** Says of each resource what many share. */
  readonly full?: boolean | undefined;
}

const COLORS = { '+': 'create', '-': 'forget', '~': 'update' } as const;

/** What is between two workspaces, for a person to read: each field from the first to the second. */
export function renderDiffText(
  diff: DiffDocument,
  style: Style,
  { verbose = false, full = verbose }: DiffTextOptions = {},
): string {
  const names = [diff.first.name, diff.second.name] as const;
  const body = [
    ...diffGroups(diff).map((group) => {
      const { resources, views } = plannedLike(group, { names, verbose });
      const heading = escapeControls(group.heading);
      const marked = { ...group, key: heading, heading, colorOf: COLORS[group.symbol], isPlain: () => false };
      return renderGroup({ ...marked, resources }, { style, views, full });
    }),
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
