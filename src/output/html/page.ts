import { createHash } from 'node:crypto';
import { graphStyle } from '../graph/graph-style.ts';
import { escapeMarkup } from '../markup.ts';
import { filterScript } from './filter-script.ts';
import { pageStyle } from './page-style.ts';

interface HtmlPage {
  /** Plain text. */
  readonly title: string;
  /** Markup, in which everything from outside is escaped. */
  readonly body: string;
}

const style = `${pageStyle}${graphStyle}`;

/**
 * A whole page in one file. It asks for nothing from anywhere, and its policy lets no script run but its own: what a browser
 * finds in a name or a prompt stays text even if an escape were forgotten.
 */
export function htmlPage({ title, body }: HtmlPage): string {
  const policy = [
    "default-src 'none'",
    `style-src '${digest(style)}'`,
    `script-src '${digest(filterScript)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeMarkup(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
${body}
<script>${filterScript}</script>
</body>
</html>
`;
}

/** When a page was made, in UTC to the second; empty where that is not said. */
export function timeHtml(made: Date | undefined): string {
  if (made === undefined) return '';
  const iso = `${made.toISOString().slice(0, 19)}Z`;
  return `<time datetime="${iso}">${iso.replace('T', ' ').replace('Z', ' UTC')}</time>`;
}

/** A row of a table; what it stands for is found and filtered by `item`. */
interface RecordRow {
  /** Markup. */
  readonly cells: readonly string[];
  readonly item?: string | undefined;
}

/** A table of records, without columns that are empty in every row. @param isTitled each cell says its title where rows are blocks. */
export function recordsHtml(titles: readonly string[], rows: readonly RecordRow[], isTitled = false): string {
  const line = (tag: 'th' | 'td', { cells, item }: RecordRow) => {
    const filled = cells.flatMap((cell, column) => {
      if (rows.every((row) => row.cells[column] === '')) return [];
      const title = isTitled && tag === 'td' ? ` data-title="${titles[column]}"` : '';
      return [`<${tag}${title}>${cell}</${tag}>`];
    });
    const attribute = item === undefined ? '' : ` data-item="${escapeMarkup(item)}"`;
    return `<tr${attribute}>${filled.join('')}</tr>`;
  };
  return [
    `<div class="listed"><table class="records"><thead>${line('th', { cells: titles })}</thead><tbody>`,
    ...rows.map((row) => line('td', row)),
    '</tbody></table></div>',
  ].join('\n');
}

function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
