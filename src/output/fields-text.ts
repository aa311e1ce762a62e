import type { FieldBody, FieldView } from './field-view.ts';
import type { Format, Style } from './style.ts';
import type { DiffLine } from './text-diff.ts';
import { breakText, displayWidth, pad } from './text-width.ts';

/** Of the width: a path that takes more does not push the values of the others to the right. */
const alignedShare = 0.55;

/**
 * A line a field, `path: before -> after`, the values one below the other. What is too wide for that, or has lines of its own,
 * stands below its path behind a bar; a line that had to be broken goes on behind a colon.
 */
export function renderFields(fields: readonly FieldView[], style: Style, indent: number): string[] {
  const widths = fields
    .filter(({ body }) => body.form === 'value' || body.form === 'change')
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

function renderField({ path, body, notes }: FieldView, layout: Layout): string {
  const { style, margin, labelWidth } = layout;
  const said = notes.map((note) => style.warn(`(${note})`)).join(' ');
  const inline = oneLine(body, style);
  if (inline !== undefined) {
    const line = `${margin}${pad(`${path}:`, labelWidth)} ${inline}`;
    if (displayWidth(line) <= style.width) return withNotes(line, said, layout);
  }
  const was =
    body.form === 'text' && body.before !== undefined
      ? ` ${style.removed(body.before)} ${style.dim('->')}`
      : '';
  const head = withNotes(`${margin}${path}:${was}`, said, layout);
  return [head, ...blockOf(body, style).flatMap((line) => renderBlockLine(line, layout))].join('\n');
}

/** The notes at the end of the line where they fit, else below it. */
function withNotes(line: string, said: string, { style, margin }: Layout): string {
  if (said === '') return line;
  const fits = displayWidth(line) + 2 + displayWidth(said) <= style.width;
  return `${line}${fits ? '  ' : `\n${margin}  `}${said}`;
}

function oneLine(body: FieldBody, { added, removed, dim }: Style): string | undefined {
  if (body.form === 'value') return body.after;
  if (body.form === 'change') return `${removed(body.before)} ${dim('->')} ${added(body.after)}`;
  return undefined;
}

interface BlockLine {
  /** Before the text, and as blanks before what is broken off it. */
  readonly sign: string;
  readonly text: string;
  readonly format: Format;
}

function blockOf(body: FieldBody, { added, removed, dim }: Style): BlockLine[] {
  switch (body.form) {
    case 'value':
      return [{ sign: '', text: body.after, format: String }];
    case 'change':
      return [
        { sign: '- ', text: body.before, format: removed },
        { sign: '+ ', text: body.after, format: added },
      ];
    case 'text':
      return [
        ...body.lines.map(
          (text): BlockLine => ({ sign: '', text, format: body.before === undefined ? String : added }),
        ),
        ...(body.more === 0 ? [] : [{ sign: '', text: `… ${body.more} more lines`, format: dim }]),
      ];
    case 'diff':
      return body.lines.map((line) => diffLine(line, { added, removed, dim }));
    default:
      return body satisfies never;
  }
}

function diffLine(
  { sign, text }: DiffLine,
  { added, removed, dim }: Pick<Style, 'added' | 'removed' | 'dim'>,
): BlockLine {
  switch (sign) {
    case '+':
      return { sign: '+ ', text, format: added };
    case '-':
      return { sign: '- ', text, format: removed };
    case '@':
      return { sign: '', text: `@@ ${text} @@`, format: dim };
    case ' ':
      return { sign: '  ', text, format: String };
    default:
      return sign satisfies never;
  }
}

function renderBlockLine({ sign, text, format }: BlockLine, { style, margin }: Layout): string[] {
  const room = Math.max(20, style.width - margin.length - 4 - sign.length);
  return breakText(text, room).map((part, index) => {
    const bar = style.dim(index === 0 ? '|' : ':');
    const content = `${index === 0 ? sign : ' '.repeat(sign.length)}${part}`.trimEnd();
    return `${margin}  ${bar} ${format(content)}`.trimEnd();
  });
}
