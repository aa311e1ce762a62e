import { type Diagnostic, placeOf } from '../problems/diagnostic.ts';
import { type Html, html, joined } from './html/html.ts';

/** JUnit XML: one test case a file with problems, failed where it has an error; warnings are its output. */
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
  const errors = diagnostics.filter(isError);
  const [first] = errors;
  const warnings = diagnostics.filter((diagnostic) => !isError(diagnostic));
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
  return joined(
    diagnostics.map((diagnostic) => `${placeOf(diagnostic)}  ${diagnostic.message}`),
    '\n',
  );
}

function isError({ severity }: Diagnostic): boolean {
  return severity === 'error';
}
