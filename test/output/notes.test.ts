import { describe, expect, it } from 'vitest';
import type { ApplyReport } from '../../src/engine/apply/apply-report.ts';
import { agents } from './many-resources.ts';
import {
  applyGithub,
  applyHtml,
  applyMarkdown,
  planGithub,
  planHtml,
  planMarkdown,
  planText,
} from './rendered.ts';
import { plan } from './sample-plan.ts';
import { plainStyle } from './sample-styles.ts';

const note = 'edited since it was published: run status to see what publishing would change';
const unpublished = plan(agents(20, () => ({ action: 'noop', notices: [note] })));
const nothingApplied: ApplyReport = {
  plan: unpublished,
  results: new Map(),
  warnings: [],
  interrupted: undefined,
};

const forms = [
  { form: 'a plan as text', shown: () => planText(unpublished, plainStyle()) },
  { form: 'a plan as Markdown', shown: () => planMarkdown(unpublished) },
  { form: 'a plan as annotations', shown: () => planGithub(unpublished) },
  { form: 'an apply as Markdown', shown: () => applyMarkdown(nothingApplied) },
  { form: 'an apply as annotations', shown: () => applyGithub(nothingApplied) },
];

describe('a note on many unchanged resources', () => {
  it.each(forms)('is said once in $form', ({ shown }) => {
    const text = shown().replace(/\s+/g, ' ');
    expect(text.split(note)).toHaveLength(2);
    expect(text).toContain('Agent/branch-000');
    expect(text).toContain('Agent/branch-011');
  });

  it.each([
    { form: 'a plan', shown: (full: boolean) => planHtml(unpublished, { full }) },
    { form: 'an apply', shown: (full: boolean) => applyHtml(nothingApplied, { full }) },
  ])('is in a row of a folded table on the page of $form, and with --full in a box', ({ shown }) => {
    const times = (page: string, part: string) => page.split(part).length - 1;
    const page = shown(false);
    expect(times(page, '<tr data-item="noop">')).toBe(20);
    expect(times(page, '<details class="resource"')).toBe(0);
    expect(page).toContain('<details class="more" data-group><summary>20 resources</summary>');
    expect(times(page, `<p>${note}</p>`)).toBe(20);
    expect(page).toContain(`<div class="remark">${note}<details`);
    expect(times(shown(true), '<details class="resource"')).toBe(20);
  });
});
