import { type Diagnostic, placeOf } from '../problems/diagnostic.ts';
import { escapeMarkup } from './markup.ts';

/** JUnit XML: one test case a file with problems, failed where it has an error; warnings are its output. */
export function diagnosticsJunit(diagnostics: readonly Diagnostic[]): string {
  const byFile = [...Map.groupBy(diagnostics, ({ file }) => file)];
  const cases = byFile.map(([file, problems]) => testCase(file, problems));
  const failures = byFile.filter(([, problems]) => problems.some(isError)).length;
  const totals = `tests="${byFile.length}" failures="${failures}" errors="0"`;
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
