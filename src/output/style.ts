import picocolors from 'picocolors';
import type { Action } from '../engine/plan/plan-actions.ts';
import { escapeControls } from './escape-controls.ts';
import { displayWidth, wrapWords } from './text-width.ts';

export type Format = (text: string) => string;

/** The maximum width of prose. Longer lines are hard to read, even in a wide window. */
const PROSE_WIDTH = 110;

/** The width and the formats of the output. Formats are named by meaning, and renderers must not choose colors. */
export type Style = Readonly<ReturnType<typeof createStyle>>;

interface ProseLayout {
  readonly indent?: number;
  /** The text before the first line, already escaped and formatted. Further lines are indented by its width. */
  readonly lead?: string;
  readonly format?: Format;
}

interface StyleOptions {
  readonly color: boolean;
  /** The number of terminal columns. */
  readonly width: number;
}

/** Creates a style. Its formats return strings unchanged if `color` is false. */
export function createStyle({ color, width }: StyleOptions) {
  const { bold, dim, green, yellow, red, magenta, cyan, blue, underline } = formats(color);
  return {
    color,
    width,
    bold,
    dim,
    good: green,
    warn: yellow,
    error: red,
    added: green,
    removed: red,
    /** The added or removed words of a line. */
    addedWords: (text: string) => bold(underline(green(text))),
    removedWords: (text: string) => bold(underline(red(text))),
    action: {
      create: green,
      update: yellow,
      replace: magenta,
      adopt: cyan,
      forget: red,
      manual: blue,
      blocked: red,
      unknown: magenta,
      noop: dim,
    } satisfies Record<Action, Format>,
    /** Wraps text to the width, and escapes unsafe characters. */
    prose(text: string, { indent = 0, lead = '', format = String }: ProseLayout = {}): string {
      const hang = indent + displayWidth(lead);
      const [first = '', ...rest] = wrapWords(escapeControls(text), Math.max(1, Math.min(width, PROSE_WIDTH) - hang));
      const margin = ' '.repeat(hang);
      return [' '.repeat(indent) + lead + format(first), ...rest.map((line) => margin + format(line))].join('\n');
    },
  };
}

const names = ['bold', 'dim', 'green', 'yellow', 'red', 'magenta', 'cyan', 'blue', 'underline'] as const;

/** Returns the formats. An empty string stays empty, without color codes. */
function formats(color: boolean): Record<(typeof names)[number], Format> {
  const colors = picocolors.createColors(color);
  const formatNamed = (name: (typeof names)[number]): [string, Format] => [
    name,
    (text) => (text === '' ? '' : colors[name](text)),
  ];
  return Object.fromEntries(names.map(formatNamed)) as Record<(typeof names)[number], Format>;
}

/** Puts sentences on one line if they fit, otherwise on separate lines, so that counts are easy to find. */
export function sentences(texts: readonly string[], style: Style, layout: ProseLayout = {}): string {
  const together = texts.join(' ');
  if (displayWidth(together) + (layout.indent ?? 0) <= Math.min(style.width, PROSE_WIDTH))
    return style.prose(together, layout);
  return texts.map((text) => style.prose(text, layout)).join('\n');
}

export function section(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [heading, ...lines].join('\n');
}

/** Joins all non-empty parts with empty lines between them, and adds a final newline. */
export function paragraphs(parts: readonly string[]): string {
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** Returns a titled list with dashes, or an empty string if there are no lines. */
export function bullets(title: string, lines: readonly string[], style: Style): string {
  return section(
    style.bold(`${title}:`),
    lines.map((line) => style.prose(line, { indent: 2, lead: '- ' })),
  );
}
