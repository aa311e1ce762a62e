import { linkHost } from '../project/dashboard-address.ts';
import { escapeControls } from './escape-controls.ts';
import { plural } from './plural.ts';

/** GitHub's limit on a comment, in characters. Pages keep it in bytes, of which there are never fewer. */
export const MARKDOWN_LIMIT = 65_536;

/** Bytes kept free for saying what was left out. */
const reserve = 400;
/** Bytes of the smallest block of a resource, about. */
const smallest = 100;

interface ListOptions {
  /** How full the page may be at most after it. */
  readonly share: number;
  /** The last line where so many are left out. */
  rest(count: number): string;
}

interface MarkdownTable extends Pick<ListOptions, 'share'> {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Blocks of Markdown up to the limit. A block is there whole, in a shorter form, or not at all: then it is counted. */
export class MarkdownPage {
  readonly #limit: number;
  readonly #blocks: string[] = [];
  #length = 0;
  #omitted = 0;

  /** @param limit in characters; kept in bytes */
  constructor(limit = MARKDOWN_LIMIT) {
    this.#limit = limit;
  }

  /** True where no block is worth making any more. */
  get isFull(): boolean {
    return !this.#fits(' '.repeat(smallest), this.#limit);
  }

  omit(): void {
    this.#omitted++;
  }

  /** Takes the first form that fits. */
  add(...forms: readonly string[]): void {
    const fitting = forms.find((text) => this.#fits(text, this.#limit));
    if (fitting === undefined) this.#omitted++;
    else if (fitting !== '') this.#push(fitting);
  }

  /** As many of the rows, whose cells are Markdown, as leave the page no fuller than that share of it. */
  addTable(heading: string, { titles, rows, share }: MarkdownTable): void {
    const head = `${tableLine(titles.map(markdownText))}\n${tableLine(titles.map(() => '---'))}`;
    this.addList(heading === '' ? head : `${heading}\n\n${head}`, rows.map(tableLine), {
      share,
      rest: (count) => tableLine([`${count} more`, ...titles.slice(1).map(() => '')]),
    });
  }

  /** As many of the lines as leave the page no fuller than that share of it, under the heading, and how many are left out. */
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

  /** @param command what shows all of it */
  text(command: string): string {
    const note =
      this.#omitted === 0
        ? []
        : [
            `_${plural(this.#omitted, 'part')} left out: a comment holds at most ${MARKDOWN_LIMIT.toLocaleString('en')} characters. Run ${markdownCode(command)} to see everything._`,
          ];
    return `${[...this.#blocks, ...note].join('\n\n')}\n`;
  }

  #fits(block: string, limit: number): boolean {
    return this.#length + Buffer.byteLength(block) + 2 <= limit - reserve;
  }

  #push(block: string): void {
    this.#blocks.push(block);
    this.#length += Buffer.byteLength(block) + 2;
  }
}

/** Everything that Markdown or HTML might read as more than text; a table's bar too. */
const active = /[&<>"'`*_~|[\]\\!#$]/g;

/**
 * Text that stays text wherever it stands in GitHub's Markdown: in a paragraph, a table's cell, an HTML tag. A mention
 * is broken up, so that a record's name notifies nobody.
 */
export function markdownText(text: string): string {
  return escapeControls(text)
    .replace(active, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/@(?=\w)/g, '<span>@</span>');
}

/** The same in the form of code. Tags, because a run of backticks needs to know where it stands. */
export function markdownCode(text: string): string {
  return `<code>${markdownText(text)}</code>`;
}

/** A row of a table, from cells that are Markdown. */
export function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** A fenced block of lines, which must be safe to show. Its fence is longer than any run of backticks in them. */
export function fenced(language: string, lines: readonly string[]): string {
  const longest = lines
    .flatMap((line) => line.match(/`+/g) ?? [])
    .reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return [fence + language, ...lines, fence].join('\n');
}

/** A link to the dashboard, named by its host; empty without an http or https address. */
export function markdownLink(url: string | undefined): string {
  const host = linkHost(url);
  return host === undefined || /[\s\p{C}<>|\\]/u.test(url ?? '') ? '' : `[${markdownText(host)}](<${url}>)`;
}
