import { linkHost } from '../project/dashboard-address.ts';
import { escapeControls } from './escape-controls.ts';

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
