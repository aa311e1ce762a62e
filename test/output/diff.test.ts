import { expect, it } from 'vitest';
import { comparisonMarkdown, comparisonText, workspaceComparison } from '../../src/output/comparison.ts';
import type { DiffDocument, FieldDifference } from '../../src/runs/diff/document.ts';
import { plainStyle, widest } from './sample-styles.ts';

const field = (path: string, first: string | number, second: string | number): FieldDifference => ({
  path,
  verdict: 'different',
  declared: false,
  sensitive: false,
  first: { value: first, verified: true, standing: 'pending' },
  second: { value: second, verified: true, standing: 'declared' },
});

const place = (name: string) => ({ name, workspace_id: 'W', base_url: `https://${name}.example` });

/** The prompts of 300 agents differ in one line, and the temperature of all but one in the same way. */
const document: DiffDocument = {
  format_version: 1,
  voxform_version: '0.1.0',
  first: place('staging'),
  second: place('production'),
  summary: {
    same: 0,
    different: 300,
    only_first: 0,
    only_second: 0,
    neither: 0,
    undeclared: 300,
    unknown: 0,
  },
  resources: Array.from({ length: 300 }, (_, index) => ({
    address: `Agent/branch-${index}`,
    kind: 'Agent',
    verdict: 'different',
    declared: false,
    source: { file: `branch-${index}.yaml`, line: 1 },
    first: `A${index}`,
    second: `B${index}`,
    fields: [
      field('prompt_config.prompt', '# Hours\nMonday to Friday.\n', '# Hours\nMonday to Saturday.\n'),
      field('llm_config.temperature', 0.3, index === 7 ? 0.9 : 0.4),
    ],
  })),
};

it('shows identical differences of many resources in two workspaces once, and each with --full', () => {
  const times = (shown: string, part: string | RegExp) => shown.split(part).length - 1;
  const text = comparisonText(workspaceComparison(document), plainStyle());
  expect(text.trimEnd().split('\n').length).toBeLessThan(35);
  expect(widest(text)).toBeLessThanOrEqual(80);
  const markdown = comparisonMarkdown(workspaceComparison(document));
  for (const shown of [text, markdown]) {
    expect(times(shown, 'Monday to Saturday')).toBe(1);
    expect(times(shown, /0\.4\b/)).toBe(1);
    expect(times(shown, /0\.9\b/)).toBe(1);
    expect(shown).toContain('staging: not applied yet');
  }
  expect(markdown).not.toContain('omitted');
  for (const { address } of document.resources) expect(markdown).toContain(address);
  const full = comparisonText(workspaceComparison(document), plainStyle(), { full: true });
  expect(times(full, 'Monday to Saturday')).toBe(300);
});

it('shows in one table the links of many resources that differ', () => {
  const links = (first: readonly string[], second: readonly string[]): FieldDifference => ({
    ...field('llm_config.knowledge_base_ids', '', ''),
    first: { value: first, verified: true, standing: 'drifted' },
    second: { value: second, verified: true, standing: 'declared' },
  });
  const base = (name: string | number) => `KnowledgeBase/${name}`;
  const resources = document.resources.slice(0, 30).map((resource, index) => ({
    ...resource,
    fields: [links([base('FAQ'), base(index)], [base('FAQ'), base(`new-${index}`)])],
  }));
  const linked = { ...document, resources };
  const text = comparisonText(workspaceComparison(linked), plainStyle(140));
  expect(text.trimEnd().split('\n').length).toBeLessThan(45);
  expect(widest(comparisonText(workspaceComparison(linked), plainStyle()))).toBeLessThanOrEqual(80);
  const markdown = comparisonMarkdown(workspaceComparison(linked));
  expect(markdown.split('\n').length).toBeLessThan(50);
  for (const shown of [text, markdown]) {
    for (const { address } of resources) expect(shown).toContain(address);
    expect(shown).toContain('KnowledgeBase/new-7');
    expect(shown).not.toContain('FAQ');
    expect(shown).toContain('drifted');
  }
  const full = comparisonText(workspaceComparison(linked), plainStyle(140), { full: true });
  expect(full.split('\n').length).toBeGreaterThan(90);
});
