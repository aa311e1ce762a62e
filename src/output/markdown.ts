import { linkHost } from '../project/dashboard-address.ts';
import { escapeControls } from './escape-controls.ts';
import { plural } from './plural.ts';

/** GitHub's limit on a comment, in characters. Pages apply it to bytes, of which there are at least as many. */
export const MARKDOWN_LIMIT = 65_536;

/** Bytes reserved for a note about omissions. */
const reserve = 400;
/** The approximate size in bytes of the smallest block of a resource. */
const smallest = 100;

interface ListOptions {
  /** The share of the page that may be full after this list. */
  readonly share: number;
  /** The last line, with this many omitted. */
  rest(count: number): string;
}

interface MarkdownTable extends Pick<ListOptions, 'share'> {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Blocks of Markdown up to the limit. A block is written in full, in a shorter form, or counted as omitted. */
export class MarkdownPage {
  readonly #limit: number;
  readonly #blocks: string[] = [];
  #length = 0;
  #omitted = 0;

  /** @param limit in characters, applied to bytes */
  constructor(limit = MARKDOWN_LIMIT) {
    this.#limit = limit;
  }

  /** True if no further block can fit. */
  get isFull(): boolean {
    return !this.#fits(' '.repeat(smallest), this.#limit);
  }

  omit(): void {
    this.#omitted++;
  }

  /** Writes the first form that fits. */
  add(...forms: readonly string[]): void {
    const fitting = forms.find((text) => this.#fits(text, this.#limit));
    if (fitting === undefined) this.#omitted++;
    else if (fitting !== '') this.#push(fitting);
  }

  /** As many rows of Markdown cells as fit into this part of the page. */
  addTable(heading: string, { titles, rows, share }: MarkdownTable): void {
    const head = `${tableLine(titles.map(markdownText))}\n${tableLine(titles.map(() => '---'))}`;
    this.addList(heading === '' ? head : `${heading}\n\n${head}`, rows.map(tableLine), {
      share,
      rest: (count) => tableLine([`${count} more`, ...titles.slice(1).map(() => '')]),
    });
  }

  /** As many lines as fit into this part of the page, under the heading, with the number of omitted ones. */
  addList(heading: string, lines: readonly string[], { share, rest }: ListOptions): void {
    if (lines.length === 0) return;
    let block = heading;
    let listed = 0;
    for (const line of lines) {
      const separator = block === '' || block.endsWith('|') || listed > 0 ? '\n' : '\n\n';
      const left = lines.length - listed - 1;
      const end = left === 0 ? '' : `\n${rest(left)}`;
      if (!this.#fits(block + separator + line + end, this.#limit * share)) break;
      block += separator + line;
      listed++;
    }
    const left = lines.length - listed;
    this.#omitted += left;
    if (listed > 0) this.#push(`${block.trimStart()}${left === 0 ? '' : `\n${rest(left)}`}`);
  }

  /** @param command that shows everything */
  text(command: string): string {
    const note = `_${plural(this.#omitted, 'part')} left out: a comment holds at most ${MARKDOWN_LIMIT.toLocaleString('en')} characters. Run ${markdownCode(command)} to see everything._`;
    return `${[...this.#blocks, ...(this.#omitted === 0 ? [] : [note])].join('\n\n')}\n`;
  }

  #fits(block: string, limit: number): boolean {
    return this.#length + Buffer.byteLength(block) + 2 <= limit - reserve;
  }

  #push(block: string): void {
    this.#blocks.push(block);
    this.#length += Buffer.byteLength(block) + 2;
  }
}

/** Escapes all characters with a meaning in Markdown or HTML, and a table's bar. */
const active = /[&<>"'`*_~|[\]\\!#$]/g;

/**
 * Text that stays text everywhere in GitHub's Markdown: in a paragraph, a table cell, an HTML tag. Mentions are broken up, so that a
 * record's name notifies nobody.
 */
export function markdownText(text: string): string {
  return escapeControls(text)
    .replace(active, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/@(?=\w)/g, '<span>@</span>');
}

/** The same as code. With tags, because backticks depend on their place. */
export function markdownCode(text: string): string {
  return `<code>${markdownText(text)}</code>`;
}

export function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** The same in backticks, for readers that show no tags. Nothing in it is a link or an image. */
export function codeSpan(text: string): string {
  const line = escapeControls(text);
  const fence = fenceFor([line], 1);
  const gap = /^`|`$|^ .* $|^$/.test(line) ? ' ' : '';
  return fence + gap + line + gap + fence;
}

/** A fenced block of safe lines. */
export function fenced(language: string, lines: readonly string[]): string {
  const fence = fenceFor(lines, 3);
  return [fence + language, ...lines, fence].join('\n');
}

/** Longer than any run of backticks in the lines. */
function fenceFor(lines: readonly string[], shortest: number): string {
  const runs = lines.flatMap((line) => line.match(/`+/g) ?? []);
  return '`'.repeat(runs.reduce((most, run) => Math.max(most, run.length + 1), shortest));
}

/** A link to the dashboard, named by its host; empty without an http or https address. */
export function markdownLink(url: string | undefined): string {
  const host = linkHost(url);
  return host === undefined || /[\s\p{C}<>|\\]/u.test(url ?? '') ? '' : `[${markdownText(host)}](<${url}>)`;
}
