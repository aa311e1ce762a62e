import type { FieldBody, FieldView } from './field-view.ts';
import { bracketed } from './prompt-diff/bracketed.ts';
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
  const layout: FieldLayout = { style, margin: ' '.repeat(indent), labelWidth: Math.max(0, ...widths) };
  return fields.map((field) => renderField(field, layout));
}

interface FieldLayout {
  readonly style: Style;
  readonly margin: string;
  readonly labelWidth: number;
}

function renderField({ path, body, notes }: FieldView, layout: FieldLayout): string {
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
function withNotes(line: string, said: string, { style, margin }: FieldLayout): string {
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
  /** Parts of the text that have a format of their own. */
  readonly parts?: readonly { readonly text: string; readonly format: Format }[];
}

function blockOf(body: FieldBody, style: Style): BlockLine[] {
  const { added, removed, dim } = style;
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
      return body.lines.map((line) => diffLine(line, style));
    default:
      return body satisfies never;
  }
}

function diffLine(line: DiffLine, style: Style): BlockLine {
  const { sign, text } = line;
  const { added, removed, addedWords, removedWords, dim } = style;
  const lines: Record<typeof sign, () => BlockLine> = {
    '+': () => changedLine(line, style, { sign: '+ ', kept: added, changed: addedWords }),
    '-': () => changedLine(line, style, { sign: '- ', kept: removed, changed: removedWords }),
    '@': () => ({ sign: '', text: `@@ ${text} @@`, format: dim }),
    '~': () => ({ sign: '~ ', text, format: dim }),
    ' ': () => ({ sign: '  ', text, format: String }),
  };
  return lines[sign]();
}

/** With words marked: by colour where there is one, else by brackets. */
function changedLine(
  line: DiffLine,
  { color }: Style,
  { sign, kept, changed }: { readonly sign: string; readonly kept: Format; readonly changed: Format },
): BlockLine {
  if (!color || line.words === undefined) return { sign, text: bracketed(line), format: kept };
  const parts = line.words.map((word) => ({ text: word.text, format: word.changed ? changed : kept }));
  return { sign, text: line.text, format: kept, parts };
}

function renderBlockLine({ sign, text, format, parts }: BlockLine, { style, margin }: FieldLayout): string[] {
  const room = Math.max(20, style.width - margin.length - 4 - sign.length);
  let done = 0;
  return breakText(text, room).map((piece, index) => {
    const bar = style.dim(index === 0 ? '|' : ':');
    const lead = index === 0 ? sign : ' '.repeat(sign.length);
    const start = done;
    done += piece.length;
    if (parts === undefined) return `${margin}  ${bar} ${format(`${lead}${piece}`.trimEnd())}`.trimEnd();
    return `${margin}  ${bar} ${format(lead)}${formatted(parts, start, start + piece.trimEnd().length)}`;
  });
}

/** What lies between two places of a text, each part in its format. */
function formatted(parts: NonNullable<BlockLine['parts']>, start: number, end: number): string {
  let at = 0;
  return parts
    .map(({ text, format }) => {
      const shown = text.slice(Math.max(0, start - at), Math.max(0, end - at));
      at += text.length;
      return format(shown);
    })
    .join('');
}
