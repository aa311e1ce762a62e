import type { FieldView } from './field-view.ts';
import type { Style } from './style.ts';
import type { DiffLine } from './text-diff.ts';
import { displayWidth, pad } from './text-width.ts';

/** Of the width: a path that takes more does not push the values of the others to the right. */
const alignedShare = 0.45;

/**
 * A line a field, `path: before -> after`, the values one below the other; a change that is too wide gets a line for each side. Values
 * are never broken.
 */
export function renderFields(fields: readonly FieldView[], style: Style, indent: number): string[] {
  const oneLine = fields.filter(({ body }) => body.form === 'value' || body.form === 'change');
  const widths = oneLine
    .map(({ path }) => displayWidth(path) + 1)
    .filter((width) => width <= style.width * alignedShare);
  const layout: Layout = { style, margin: ' '.repeat(indent), labelWidth: Math.max(0, ...widths) };
  return fields.map((field) => renderField(field, layout));
}

interface Layout {
  readonly style: Style;
  readonly margin: string;
  readonly labelWidth: number;
}

function renderField({ path, body, notes }: FieldView, { style, margin, labelWidth }: Layout): string {
  const { width, dim, added, removed, warn } = style;
  const said = notes.map((note) => `(${note})`).join(' ');
  const label = `${margin}${pad(`${path}:`, labelWidth)} `;
  const below = ' '.repeat(displayWidth(label));
  switch (body.form) {
    case 'value':
      return withNotes(`${label}${added(body.after)}`, below);
    case 'change': {
      const line = `${label}${removed(body.before)} ${dim('->')} ${added(body.after)}`;
      if (displayWidth(line) <= width) return withNotes(line, below);
      const arrowBelow = ' '.repeat(Math.max(0, below.length - 3));
      return withNotes(
        `${label}${removed(body.before)}\n${arrowBelow}${dim('->')} ${added(body.after)}`,
        below,
      );
    }
    case 'text': {
      const was = body.before === undefined ? '' : ` ${removed(body.before)} ${dim('->')}`;
      const lines = body.lines.map((line) => `${margin}  ${dim('|')} ${added(line)}`.trimEnd());
      const more = body.more === 0 ? [] : [`${margin}  ${dim(`… (${body.more} more lines)`)}`];
      return [withNotes(`${margin}${path}:${was}`, `${margin}  `), ...lines, ...more].join('\n');
    }
    case 'diff': {
      const lines = body.lines.map((line) =>
        `${margin}  ${dim('|')} ${renderDiffLine(line, style)}`.trimEnd(),
      );
      return [withNotes(`${margin}${path}:`, `${margin}  `), ...lines].join('\n');
    }
    default:
      return body satisfies never;
  }

  /** The notes after the last line where they fit, else below it. */
  function withNotes(lines: string, indentation: string): string {
    if (said === '') return lines;
    const last = lines.slice(lines.lastIndexOf('\n') + 1);
    const fits = displayWidth(last) + 2 + displayWidth(said) <= width;
    return `${lines}${fits ? '  ' : `\n${indentation}`}${warn(said)}`;
  }
}

function renderDiffLine({ sign, text }: DiffLine, { added, removed, dim }: Style): string {
  switch (sign) {
    case '+':
      return added(`+ ${text}`);
    case '-':
      return removed(`- ${text}`);
    case '@':
      return dim(`@@ ${text} @@`);
    case ' ':
      return `  ${text}`;
    default:
      return sign satisfies never;
  }
}
