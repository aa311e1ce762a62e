import { describe, expect, it } from 'vitest';
import { comparisonMarkdown, comparisonText, workspaceComparison } from '../../src/output/comparison.ts';
import { reportSetGithub } from '../../src/output/formats/github-format.ts';
import { reportSetMarkdown } from '../../src/output/formats/markdown-format.ts';
import { reportSetText } from '../../src/output/formats/text-format.ts';
import { htmlReports } from '../../src/output/html/html-report.ts';
import { MAX_COMMENT_LENGTH } from '../../src/output/markdown.ts';
import { driftReport, planReport, type ReportSet } from '../../src/output/report.ts';
import type { DiffDocument, FieldDifference } from '../../src/runs/diff/document.ts';
import { hostilePlan } from './hostile-plan.ts';
import { change, plan, resource } from './sample-plan.ts';
import { evil, plainStyle, unsafe } from './sample-styles.ts';

/** A plan that fills a comment completely. */
const large = (workspace: string) =>
  plan(
    Array.from({ length: 600 }, (_, index) =>
      resource(`Agent/agent-${index}`, {
        action: 'update',
        changes: [change('name', { before: 'a', after: `b${index}` })],
      }),
    ),
    { workspace },
  );

const plain = plainStyle();

const failure = (workspace: string, message: string) => ({ workspace, message, hint: message });

describe('several plans as Markdown', () => {
  it.each([
    { reason: 'large plans', documents: ['one', 'two', 'three'].map(large), failures: [] },
    {
      reason: 'large failures',
      documents: [large('one')],
      failures: [failure('two', 'x '.repeat(60_000)), failure('three', 'y')],
    },
  ])('are one comment despite $reason', ({ documents, failures }) => {
    const page = reportSetMarkdown({ type: 'plan', reports: documents.map(planReport), failures });
    expect(page.length).toBeLessThanOrEqual(MAX_COMMENT_LENGTH);
    expect(page.length).toBeGreaterThan(MAX_COMMENT_LENGTH / 2);
    for (const { workspace } of documents) {
      expect(page).toContain(`### voxform plan for <code>${workspace}</code>`);
      expect(page).toContain(`voxform plan -w ${workspace}`);
    }
    for (const { workspace } of failures) expect(page).toContain(`### <code>${workspace}</code> failed`);
  });
});

describe('several plans for GitHub', () => {
  it('name the workspace in every title, failures first', () => {
    const lines = reportSetGithub({
      type: 'drift',
      reports: [
        driftReport(plan([resource('Agent/a', { action: 'update', changes: [change('name', { cause: 'drift' })] })])),
      ],
      failures: [failure('production', 'no')],
    });
    expect(lines).toBe(
      '::error title=voxform production%3A failed::no (no)\n::warning file=manifests/agents.yaml,line=3,title=voxform staging%3A drifted Agent/a::1 field: name\n',
    );
  });
});

const field = (path: string, more: Partial<FieldDifference> = {}): FieldDifference => ({
  path,
  verdict: 'different',
  declared: false,
  sensitive: false,
  first: { value: evil, verified: false, standing: 'drifted' },
  second: { value: { [evil]: `${evil}!` }, verified: true, standing: 'declared' },
  ...more,
});

const evilDiff: DiffDocument = {
  format_version: 1,
  voxform_version: '0.1.0',
  first: { name: evil, workspace_id: evil, base_url: evil },
  second: { name: evil, workspace_id: evil, base_url: evil },
  summary: { same: 1, different: 1, only_first: 1, only_second: 1, neither: 1, undeclared: 2, unknown: 1 },
  resources: (['same', 'different', 'only_first', 'only_second', 'neither'] as const).map((verdict) => ({
    address: `Agent/${evil}${verdict}`,
    kind: evil,
    verdict,
    declared: verdict === 'only_second',
    source: { file: evil, line: 1 },
    first: evil,
    second: null,
    ...(verdict.startsWith('only') && { reason: evil }),
    fields:
      verdict === 'different'
        ? [
            field(evil),
            field('b', { declared: true }),
            field('c', { verdict: 'unknown' }),
            field('d', {
              sensitive: true,
              first: { verified: false, standing: 'declared' },
              second: { verified: false, standing: 'declared' },
            }),
          ]
        : [],
    unverified: [evil],
  })),
};

describe('external text', () => {
  const several: ReportSet = {
    type: 'plan',
    reports: [planReport(hostilePlan())],
    failures: [{ ...failure(evil, evil), diagnostics: [{ severity: 'error', code: evil, message: evil, file: evil }] }],
  };

  it.each([
    { reason: 'several plans as text', text: reportSetText(several, plain, { verbose: true }) },
    { reason: 'several plans as Markdown', text: reportSetMarkdown(several) },
    { reason: 'several plans for GitHub', text: reportSetGithub(several) },
    { reason: 'several plans as a page', text: htmlReports(several) },
    {
      reason: 'a diff as text',
      text: comparisonText(workspaceComparison(evilDiff), plain, { verbose: true }),
    },
    { reason: 'a diff as Markdown', text: comparisonMarkdown(workspaceComparison(evilDiff)) },
  ])('neither controls a terminal nor forges a command in $reason', ({ text }) => {
    expect(text).not.toMatch(unsafe);
    // Markdown goes to a file or a comment, where commands are not parsed.
    if (text.startsWith('#')) return;
    const commands = text.split('\n').filter((line) => line.trimStart().startsWith('::'));
    expect(commands.filter((line) => !/^::(error|warning|notice) /.test(line))).toEqual([]);
  });
});

describe('diff as text', () => {
  it('names the origin of a value, and reports only that a secret differs', () => {
    const text = comparisonText(
      workspaceComparison({
        ...evilDiff,
        first: { name: 'staging', workspace_id: 'A', base_url: 'https://a.example' },
        second: { name: 'production', workspace_id: 'B', base_url: 'https://b.example' },
        resources: [
          {
            address: 'Agent/a',
            kind: 'Agent',
            verdict: 'different',
            declared: false,
            source: { file: 'm.yaml', line: 1 },
            first: '1',
            second: '2',
            fields: [
              field('llm_config.api_key', {
                sensitive: true,
                first: { verified: false, standing: 'pending' },
                second: { verified: false, standing: 'declared' },
              }),
              field('llm_config.model', {
                first: { value: 'a', verified: false, standing: 'ignored' },
                second: { value: 'b', verified: true, standing: 'unmanaged' },
              }),
              field('stt_config.model', { verdict: 'unknown' }),
            ],
          },
        ],
      }),
      plain,
    );
    expect(text).toMatchInlineSnapshot(`
      "- staging    A at https://a.example
      + production B at https://b.example

      Different (1): not as declared in the manifests

        ~ Agent/a  m.yaml:1
            llm_config.api_key: (secret) -> (different secret)
              (staging: not applied yet)
            llm_config.model:   a -> b
              (staging: drift ignored, unverified) (production: not declared)

      Unknown (1): the platform does not return these fields, and the values last sent
                   cannot be compared
          Agent/a: stt_config.model

      Diff: 3 resources differ, 2 not as declared.
      1 the same, 1 in neither, 1 field unknown.
      "
    `);
  });
});
