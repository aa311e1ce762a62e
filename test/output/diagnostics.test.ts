import { describe, expect, it } from 'vitest';
import {
  diagnosticsGithub,
  diagnosticsJson,
  diagnosticsJunit,
  renderDiagnostics,
} from '../../src/output/diagnostics.ts';
import type { Diagnostic } from '../../src/problems/diagnostic.ts';
import { evil, forged, plainStyle, unsafe } from './sample-styles.ts';

const diagnostics: readonly Diagnostic[] = [
  {
    severity: 'error',
    code: 'unknown-field',
    message: 'unknown field "voise"; did you mean "voice_id"?',
    file: 'manifests/agents.yaml',
    line: 12,
    column: 7,
    path: 'spec.tts_config.voise',
  },
  {
    severity: 'error',
    code: 'too-long',
    message: 'name is longer than 255 characters <&>',
    file: 'manifests/agents.yaml',
    line: 20,
  },
  { severity: 'warning', code: 'empty-file', message: 'the file is empty', file: 'manifests/b.yaml' },
];

const hostile: Diagnostic = {
  severity: 'error',
  code: evil,
  message: evil,
  file: evil,
  line: 1,
  column: 1,
  path: evil,
};

describe('diagnostics', () => {
  it('as text: one line each, and a count', () => {
    expect(
      renderDiagnostics(diagnostics, plainStyle()),
    ).toBe(`manifests/agents.yaml:12:7  unknown field "voise"; did you mean "voice_id"?
manifests/agents.yaml:20  name is longer than 255 characters <&>
manifests/b.yaml  warning: the file is empty

2 errors, 1 warning in 2 files
`);
    expect(renderDiagnostics([], plainStyle())).toBe('');
  });

  it('as text: once for an unset secret, regardless of its uses', () => {
    const places = [1, 2, 3].map((line) => ({
      severity: 'error' as const,
      code: 'missing-secret',
      message: 'the secret A is not set',
      file: `${line}.yaml`,
      line,
    }));
    const other = places.map((each) => ({ ...each, code: 'unknown-field' }));
    expect(renderDiagnostics(places, plainStyle()).split('\n')).toEqual([
      expect.stringMatching(/^1\.yaml:1 .* 2 other places/),
      '',
      '3 errors in 3 files',
      '',
    ]);
    expect(renderDiagnostics(other, plainStyle()).split('\n')).toHaveLength(6);
  });

  it('as data: valid if only warnings remain', () => {
    expect(diagnosticsJson(diagnostics)).toEqual({ valid: false, errors: 2, warnings: 1, diagnostics });
    expect(diagnosticsJson(diagnostics.slice(2)).valid).toBe(true);
  });

  it('as GitHub annotations', () => {
    expect(diagnosticsGithub(diagnostics)).toMatchInlineSnapshot(`
      "::error file=manifests/agents.yaml,line=12,col=7,title=voxform%3A unknown-field::unknown field "voise"; did you mean "voice_id"?
      ::error file=manifests/agents.yaml,line=20,title=voxform%3A too-long::name is longer than 255 characters <&>
      ::warning file=manifests/b.yaml,title=voxform%3A empty-file::the file is empty
      "
    `);
  });

  it('as JUnit: a case for each file', () => {
    expect(diagnosticsJunit(diagnostics)).toMatchInlineSnapshot(`
      "<?xml version="1.0" encoding="UTF-8"?>
      <testsuites name="voxform validate" tests="2" failures="1" errors="0">
        <testsuite name="manifests" tests="2" failures="1" errors="0" skipped="0">
          <testcase classname="voxform.validate" name="manifests/agents.yaml" file="manifests/agents.yaml">
            <failure type="unknown-field" message="unknown field &quot;voise&quot;; did you mean &quot;voice_id&quot;?">manifests/agents.yaml:12:7  unknown field &quot;voise&quot;; did you mean &quot;voice_id&quot;?
      manifests/agents.yaml:20  name is longer than 255 characters &lt;&amp;&gt;</failure>
          </testcase>
          <testcase classname="voxform.validate" name="manifests/b.yaml" file="manifests/b.yaml">
            <system-out>manifests/b.yaml  the file is empty</system-out>
          </testcase>
        </testsuite>
      </testsuites>
      "
    `);
  });

  it('let no external text take effect', () => {
    const text = renderDiagnostics([hostile], plainStyle());
    expect(text).not.toMatch(unsafe);
    expect(text).not.toMatch(forged);
    expect(diagnosticsGithub([hostile]).split('\n')).toHaveLength(2);
    const xml = diagnosticsJunit([{ ...hostile, message: `${evil}</failure>\ufffe"'` }]);
    expect(xml).not.toMatch(unsafe);
    expect(xml).not.toMatch(/\ufffe/);
    expect(xml.match(/<\/failure>/g)).toHaveLength(1);
  });
});
