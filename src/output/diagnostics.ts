import path from 'node:path';
import { type Diagnostic, positionText } from '../problems/diagnostic.ts';
import { escapeControls } from './escape-controls.ts';
import { type Html, html, joined } from './html/html.ts';
import { plural } from './plural.ts';
import type { Excerpt } from './source-excerpt.ts';
import type { Style } from './style.ts';
import { displayWidth, wrapWords } from './text-width.ts';

/**
 * Returns one line for each diagnostic, `file:line:column  message`, in the given order, and a closing count. Returns an empty string if
 * there are none. A missing secret or variable is reported once. With excerpts, lines are wrapped, and an excerpt follows each diagnostic.
 */
export function renderDiagnostics(diagnostics: readonly Diagnostic[], style: Style, excerpt?: Excerpt): string {
  if (diagnostics.length === 0) return '';
  const lines = byCause(diagnostics).map(([diagnostic, ...alike]) => {
    const isWarning = diagnostic.severity === 'warning';
    const color = isWarning ? style.warn : style.error;
    const position = escapeControls(positionText(diagnostic));
    const elsewhere = alike.length === 0 ? '' : ` (and in ${plural(alike.length, 'other place')})`;
    const message = `${isWarning ? 'warning: ' : ''}${escapeControls(diagnostic.message)}${elsewhere}`;
    const [first = '', ...more] = excerpt === undefined ? [message] : wrapMessage(position, message, style);
    const shown = isWarning ? first.replace(/^warning:/, color) : first;
    const below = excerpt?.(diagnostic, style) ?? '';
    return [`${color(position)}  ${shown}`, ...more, ...(below === '' ? [] : [below])].join('\n');
  });
  return `${lines.join('\n')}\n\n${style.bold(countOf(diagnostics))}\n`;
}

/** The codes of diagnostics for which equal messages have the same cause outside the files, such as a missing secret. */
const ONE_CAUSE: ReadonlySet<string> = new Set(['missing-secret', 'placeholder-secret', 'missing-variable']);

/** Groups diagnostics by cause, in the order of their first occurrence. */
function byCause(diagnostics: readonly Diagnostic[]): readonly (readonly [Diagnostic, ...Diagnostic[]])[] {
  const groups = Map.groupBy(diagnostics, (each) => (ONE_CAUSE.has(each.code) ? each.message : each));
  return [...groups.values()] as [Diagnostic, ...Diagnostic[]][];
}

/** Wraps a message. The first line leaves room for the position; the other lines are indented. */
function wrapMessage(position: string, message: string, { width }: Style): string[] {
  const lead = displayWidth(position) + 2;
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

/**
 * Returns GitHub workflow commands, one per line. GitHub displays them as annotations in a pull request.
 * @param folder the project folder in the repository, with a final slash; empty for its root.
 */
export function diagnosticsGithub(diagnostics: readonly Diagnostic[], folder = ''): string {
  return diagnostics
    .map(({ severity, message, file, line, column, code }) =>
      githubCommand(severity, { folder, file, line, col: column, title: `voxform: ${code}` }, message),
    )
    .join('');
}

/** Returns a string such as `2 errors, 1 warning in 1 file`. */
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

/**
 * Returns JUnit XML with a test case for each file with problems. An error fails the test case. Warnings are printed as its output.
 * @param folder the project folder in the repository, with a final slash; empty for its root.
 */
export function diagnosticsJunit(diagnostics: readonly Diagnostic[], folder = ''): string {
  const byFile = [...Map.groupBy(diagnostics, ({ file }) => file)];
  const failures = byFile.filter(([, problems]) => problems.some(isError)).length;
  const totals = html`tests="${byFile.length}" failures="${failures}" errors="0"`;
  return html`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="voxform validate" ${totals}>
  <testsuite name="manifests" ${totals} skipped="0">
${byFile.map(([file, problems]) => testCase(pathIn(folder, file), problems))}  </testsuite>
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

interface AnnotationPosition {
  /** The project folder in the repository, with a final slash. */
  readonly folder?: string | undefined;
  readonly file?: string | undefined;
  /** Lines and columns start at 1. */
  readonly line?: number | undefined;
  readonly col?: number | undefined;
  readonly title?: string | undefined;
}

/** Returns a GitHub Actions workflow command, with a final line feed, which annotates a position in a file. */
export function githubCommand(level: AnnotationLevel, position: AnnotationPosition, message: string): string {
  const { folder = '', file, ...rest } = position;
  const properties = Object.entries({ file: file && pathIn(folder, file), ...rest })
    .filter(([, value]) => value !== undefined)
    // Colons and commas would end the property.
    .map(([name, value]) => `${name}=${escapeData(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`)
    .join(',');
  return `::${level}${properties === '' ? '' : ` ${properties}`}::${escapeData(message)}\n`;
}

/** Returns the path of a file in the repository. A policy file outside of the project has an absolute path. */
function pathIn(folder: string, file: string): string {
  return path.isAbsolute(file) ? file : folder + file;
}

/** Escapes control characters and the percent sign, which starts an escape sequence of GitHub. */
function escapeData(text: string): string {
  return escapeControls(text).replaceAll('%', '%25');
}
