import { linkHost } from '../project/dashboard-address.ts';
import { escapeControls } from './escape-controls.ts';
import { plural } from './plural.ts';

/** GitHub's maximum length of a comment, in characters. Pages count bytes instead, which are never fewer. */
export const MAX_COMMENT_LENGTH = 65_536;

/** The number of bytes reserved for the note about omitted parts. */
const RESERVED_BYTES = 400;
/** The approximate minimum size of a resource block in bytes. */
const MIN_BLOCK_BYTES = 100;

interface ListOptions {
  /** The maximum share of the page that is used after this list. */
  readonly share: number;
  /** Returns the last line, with the number of omitted lines. */
  rest(count: number): string;
}

interface MarkdownTable extends Pick<ListOptions, 'share'> {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A page of Markdown with a limited size. Each block is written in full, written in a shorter form, or counted as omitted. */
export class MarkdownPage {
  readonly #limit: number;
  readonly #blocks: string[] = [];
  #length = 0;
  #omitted = 0;

  /** @param limit the maximum size in bytes */
  constructor(limit = MAX_COMMENT_LENGTH) {
    this.#limit = limit;
  }

  /** True if no further block can fit. */
  get isFull(): boolean {
    return !this.#fits(' '.repeat(MIN_BLOCK_BYTES), this.#limit);
  }

  omit(): void {
    this.#omitted++;
  }

  /** Writes the first form that fits, or counts the block as omitted. */
  add(...forms: readonly string[]): void {
    const fitting = forms.find((text) => this.#fits(text, this.#limit));
    if (fitting === undefined) this.#omitted++;
    else if (fitting !== '') this.#push(fitting);
  }

  /** Writes as many rows as fit into this share of the page. The cells are Markdown. */
  addTable(heading: string, { titles, rows, share }: MarkdownTable): void {
    const head = `${tableLine(titles.map(markdownText))}\n${tableLine(titles.map(() => '---'))}`;
    this.addList(heading === '' ? head : `${heading}\n\n${head}`, rows.map(tableLine), {
      share,
      rest: (count) => tableLine([`${count} more`, ...titles.slice(1).map(() => '')]),
    });
  }

  /** Writes the heading, as many lines as fit into this share of the page, and the number of omitted lines. */
  addList(heading: string, lines: readonly string[], { share, rest }: ListOptions): void {
    if (lines.length === 0) return;
    let block = heading;
    let listed = 0;
    for (const line of lines) {
      const separator = block === '' || block.endsWith('|') || listed > 0 ? '\n' : '\n\n';
      const remaining = lines.length - listed - 1;
      const end = remaining === 0 ? '' : `\n${rest(remaining)}`;
      if (!this.#fits(block + separator + line + end, this.#limit * share)) break;
      block += separator + line;
      listed++;
    }
    const remaining = lines.length - listed;
    this.#omitted += remaining;
    if (listed > 0) this.#push(`${block.trimStart()}${remaining === 0 ? '' : `\n${rest(remaining)}`}`);
  }

  /** Returns the page. @param command the command that prints the whole content */
  text(command: string): string {
    const note = `_${plural(this.#omitted, 'part')} omitted, because a comment can have at most ${MAX_COMMENT_LENGTH.toLocaleString('en')} characters. Run ${markdownCode(command)} to see everything._`;
    return `${[...this.#blocks, ...(this.#omitted === 0 ? [] : [note])].join('\n\n')}\n`;
  }

  #fits(block: string, limit: number): boolean {
    return this.#length + Buffer.byteLength(block) + 2 <= limit - RESERVED_BYTES;
  }

  #push(block: string): void {
    this.#blocks.push(block);
    this.#length += Buffer.byteLength(block) + 2;
  }
}

/** Matches all characters with a meaning in Markdown or HTML, including the vertical bar of a table. */
const SPECIAL_CHARACTERS = /[&<>"'`*_~|[\]\\!#$]/g;

/** Escapes text for any position in GitHub's Markdown. Breaks mentions, so that the name of a record does not notify a person. */
export function markdownText(text: string): string {
  return escapeControls(text)
    .replace(SPECIAL_CHARACTERS, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/@(?=\w)/g, '<span>@</span>');
}

/** Formats text as code. Uses tags, because the meaning of backticks depends on their position. */
export function markdownCode(text: string): string {
  return `<code>${markdownText(text)}</code>`;
}

export function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** Formats text as code in backticks, for programs that do not support tags. The text cannot contain a link or an image. */
export function codeSpan(text: string): string {
  const line = escapeControls(text);
  const fence = fenceFor([line], 1);
  const gap = /^`|`$|^ .* $|^$/.test(line) ? ' ' : '';
  return fence + gap + line + gap + fence;
}

/** Returns a fenced code block. The lines must be escaped. */
export function fenced(language: string, lines: readonly string[]): string {
  const fence = fenceFor(lines, 3);
  return [fence + language, ...lines, fence].join('\n');
}

/** Returns a fence that is longer than any run of backticks in the lines. */
function fenceFor(lines: readonly string[], minLength: number): string {
  const runs = lines.flatMap((line) => line.match(/`+/g) ?? []);
  return '`'.repeat(runs.reduce((max, run) => Math.max(max, run.length + 1), minLength));
}

/** Returns a link to the dashboard, named after its host, or an empty string if the URL is not http or https. */
export function markdownLink(url: string | undefined): string {
  const host = linkHost(url);
  return host === undefined || /[\s\p{C}<>|\\]/u.test(url ?? '') ? '' : `[${markdownText(host)}](<${url}>)`;
}
