import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { graphCss } from '../graph/graph-svg.ts';
import { colorStyle } from './colors.ts';
import { type Html, html, joined, type Part, trusted } from './html.ts';

/** The style sheet of a report. Other pages extend it. */
export const pageCss = [
  colorStyle(':root'),
  readFileSync(new URL('./report.css', import.meta.url), 'utf8'),
  graphCss,
].join('\n');
const script = readFileSync(new URL('./report.js', import.meta.url), 'utf8');

/**
 * Returns a whole page in one file. The page loads no other files, and its content security policy allows only its own script. Therefore
 * markup in a name or a prompt is harmless even if it is not escaped.
 */
export function htmlPage({ title, body }: { readonly title: string; readonly body: Html }): string {
  const policy = [
    "default-src 'none'",
    `style-src '${digest(pageCss)}'`,
    `script-src '${digest(script)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${trusted(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${trusted(pageCss)}</style>
</head>
<body>
${body}
<script>${trusted(script)}</script>
</body>
</html>
`.text;
}

/** Returns the time of a page in UTC. */
export function timeHtml(made: Date | undefined): Html {
  if (made === undefined) return html``;
  const iso = `${made.toISOString().slice(0, 19)}Z`;
  return html`<time datetime="${iso}">${iso.replace('T', ' ').replace('Z', ' UTC')}</time>`;
}

/** A table row. If `item` is present, search and filters treat the row as an item of this group. */
interface RecordRow {
  readonly cells: readonly Part[];
  readonly item?: string | undefined;
}

/** Returns a table without empty columns. @param isTitled true to repeat the title in each cell on a phone */
export function recordsHtml(titles: readonly string[], rows: readonly RecordRow[], isTitled = false): Html {
  const shown = titles.flatMap((title, column) =>
    rows.some(({ cells }) => html`${cells[column]}`.text !== '') ? [{ title, column }] : [],
  );
  const row = ({ cells, item }: RecordRow) =>
    html`<tr${item !== undefined && html` data-item="${item}"`}>${shown.map(
      ({ title, column }) => html`<td${isTitled && html` data-title="${title}"`}>${cells[column]}</td>`,
    )}</tr>`;
  return html`<div class="listed"><table class="records"><thead><tr>${shown.map(({ title }) => html`<th>${title}</th>`)}</tr></thead><tbody>
${joined(rows.map(row), '\n')}
</tbody></table></div>`;
}

function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
