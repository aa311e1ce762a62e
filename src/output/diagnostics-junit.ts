import { type Diagnostic, placeOf } from '../problems/diagnostic.ts';
import { escapeMarkup } from './markup.ts';

/**
 * JUnit XML: one test case a file, failed where it has an error; warnings are its output. `files` are those that were
 * read, so that the ones without a problem pass.
 */
export function diagnosticsJunit(diagnostics: readonly Diagnostic[], files: readonly string[] = []): string {
  const byFile = Map.groupBy(diagnostics, ({ file }) => file);
  const names = [...new Set([...files, ...byFile.keys()])];
  const cases = names.map((file) => testCase(file, byFile.get(file) ?? []));
  const failures = names.filter((file) => byFile.get(file)?.some(isError)).length;
  const totals = `tests="${names.length}" failures="${failures}" errors="0"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="voxform validate" ${totals}>`,
    `  <testsuite name="manifests" ${totals} skipped="0">`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase(file: string, diagnostics: readonly Diagnostic[]): string {
  const open = `    <testcase classname="voxform.validate" name="${escapeMarkup(file)}" file="${escapeMarkup(file)}"`;
  if (diagnostics.length === 0) return `${open}/>`;
  const errors = diagnostics.filter(isError);
  const [first] = errors;
  const warnings = diagnostics.filter((diagnostic) => !isError(diagnostic));
  const body = [
    ...(first === undefined
      ? []
      : [
          `      <failure type="${escapeMarkup(first.code)}" message="${escapeMarkup(first.message)}">${textOf(errors)}</failure>`,
        ]),
    ...(warnings.length === 0 ? [] : [`      <system-out>${textOf(warnings)}</system-out>`]),
  ];
  return [`${open}>`, ...body, '    </testcase>'].join('\n');
}

function textOf(diagnostics: readonly Diagnostic[]): string {
  return diagnostics
    .map((diagnostic) => escapeMarkup(`${placeOf(diagnostic)}  ${diagnostic.message}`))
    .join('\n');
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error';
}
