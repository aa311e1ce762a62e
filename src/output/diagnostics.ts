import { type Diagnostic, positionText } from '../problems/diagnostic.ts';
import { escapeControls } from './escape-controls.ts';
import { type Html, html, joined } from './html/html.ts';
import { plural } from './plural.ts';
import type { Excerpt } from './source-excerpt.ts';
import type { Style } from './style.ts';
import { displayWidth, wrapWords } from './text-width.ts';

/**
 * Returns one line for each diagnostic, `file:line:column  message`, in the given order, and a closing count. Returns an empty string if
 * there are none. A secret or variable that is not set gets a single line. With excerpts, lines wrap, and each is followed by its excerpt.
 */
export function renderDiagnostics(diagnostics: readonly Diagnostic[], style: Style, excerpt?: Excerpt): string {
  if (diagnostics.length === 0) return '';
  const lines = byCause(diagnostics).map(([diagnostic, ...alike]) => {
    const warns = diagnostic.severity === 'warning';
    const color = warns ? style.warn : style.error;
    const place = escapeControls(positionText(diagnostic));
    const elsewhere = alike.length === 0 ? '' : ` (and in ${plural(alike.length, 'other place')})`;
    const message = `${warns ? 'warning: ' : ''}${escapeControls(diagnostic.message)}${elsewhere}`;
    const [first = '', ...more] = excerpt === undefined ? [message] : wrapped(place, message, style);
    const shown = warns ? first.replace(/^warning:/, color) : first;
    const below = excerpt?.(diagnostic, style) ?? '';
    return [`${color(place)}  ${shown}`, ...more, ...(below === '' ? [] : [below])].join('\n');
  });
  return `${lines.join('\n')}\n\n${style.bold(countOf(diagnostics))}\n`;
}

/** Codes of diagnostics that have one cause outside the files if their messages are equal, such as an unset secret. */
const ONE_CAUSE: ReadonlySet<string> = new Set(['missing-secret', 'placeholder-secret', 'missing-variable']);

/** Groups diagnostics by cause, in the order of their first occurrence. */
function byCause(diagnostics: readonly Diagnostic[]): readonly (readonly [Diagnostic, ...Diagnostic[]])[] {
  const groups = Map.groupBy(diagnostics, (each) => (ONE_CAUSE.has(each.code) ? each.message : each));
  return [...groups.values()] as [Diagnostic, ...Diagnostic[]][];
}

/** Wraps a message. Its first line fits after the position; the others are indented. */
function wrapped(place: string, message: string, { width }: Style): string[] {
  const lead = displayWidth(place) + 2;
  const [first = ''] = wrapWords(message, Math.max(1, width - lead));
  const rest = message.slice(first.length).trimStart();
  if (rest === '') return [first];
  return [first, ...wrapWords(rest, Math.max(1, width - INDENT.length)).map((line) => INDENT + line)];
}

const INDENT = '    ';

/** Returns the diagnostics as JSON. The project is valid if there are no errors, even with warnings. */
export function diagnosticsJson(diagnostics: readonly Diagnostic[]) {
  const { errors, warnings } = tally(diagnostics);
  return { valid: errors === 0, errors, warnings, diagnostics };
}

/** Returns workflow commands, one per line, which GitHub shows in a pull request. */
export function diagnosticsGithub(diagnostics: readonly Diagnostic[]): string {
  return diagnostics
    .map(({ severity, message, file, line, column, code }) =>
      githubCommand(severity, { file, line, col: column, title: `voxform: ${code}` }, message),
    )
    .join('');
}

/** Returns a text such as `2 errors, 1 warning in 1 file`. */
function countOf(diagnostics: readonly Diagnostic[]): string {
  const { errors, warnings } = tally(diagnostics);
  const found = [errors > 0 ? plural(errors, 'error') : '', warnings > 0 ? plural(warnings, 'warning') : ''];
  const files = new Set(diagnostics.map(({ file }) => file)).size;
  return `${found.filter((text) => text !== '').join(', ')} in ${plural(files, 'file')}`;
}

function tally(diagnostics: readonly Diagnostic[]) {
  const errors = diagnostics.filter(isError).length;
  return { errors, warnings: diagnostics.length - errors };
}

/** Returns JUnit XML with one test case for each file with problems. The test case fails if there is an error. Warnings are its output. */
export function diagnosticsJunit(diagnostics: readonly Diagnostic[]): string {
  const byFile = [...Map.groupBy(diagnostics, ({ file }) => file)];
  const failures = byFile.filter(([, problems]) => problems.some(isError)).length;
  const totals = html`tests="${byFile.length}" failures="${failures}" errors="0"`;
  return html`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="voxform validate" ${totals}>
  <testsuite name="manifests" ${totals} skipped="0">
${byFile.map(([file, problems]) => testCase(file, problems))}  </testsuite>
</testsuites>
`.text;
}

function testCase(file: string, diagnostics: readonly Diagnostic[]): Html {
  const { errors = [], warnings = [] } = Object.groupBy(diagnostics, (each) => (isError(each) ? 'errors' : 'warnings'));
  const [first] = errors;
  const failure =
    first &&
    html`      <failure type="${first.code}" message="${first.message}">${textOf(errors)}</failure>
`;
  const output =
    warnings.length > 0 &&
    html`      <system-out>${textOf(warnings)}</system-out>
`;
  return html`    <testcase classname="voxform.validate" name="${file}" file="${file}">
${failure}${output}    </testcase>
`;
}

function textOf(diagnostics: readonly Diagnostic[]): Html {
  const lines = diagnostics.map((each) => `${positionText(each)}  ${each.message}`);
  return joined(lines, '\n');
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error';
}

export type AnnotationLevel = 'error' | 'warning' | 'notice';

interface AnnotationPlace {
  readonly file?: string | undefined;
  /** Line and column start at 1. */
  readonly line?: number | undefined;
  readonly col?: number | undefined;
  readonly title?: string | undefined;
}

/** Returns a workflow command for GitHub Actions, with its line feed. It annotates a position in a file. */
export function githubCommand(level: AnnotationLevel, place: AnnotationPlace, message: string): string {
  const properties = Object.entries(place)
    .filter(([, value]) => value !== undefined)
    // Colons and commas end a property.
    .map(([name, value]) => `${name}=${escapeData(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`)
    .join(',');
  return `::${level}${properties === '' ? '' : ` ${properties}`}::${escapeData(message)}\n`;
}

/** Escapes control characters, and the percent sign, with which GitHub's own escapes begin. */
function escapeData(text: string): string {
  return escapeControls(text).replaceAll('%', '%25');
}
