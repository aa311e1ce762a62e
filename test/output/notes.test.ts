import { describe, expect, it } from 'vitest';
import type { ApplyReport } from '../../src/engine/apply/apply-report.ts';
import type { NextStep } from '../../src/problems/next-step.ts';
import { agents } from './many-resources.ts';
import { applyGithub, applyHtml, applyMarkdown, planGithub, planHtml, planMarkdown, planText } from './rendered.ts';
import { change, plan } from './sample-plan.ts';
import { plainStyle } from './sample-styles.ts';

const note = 'edited since it was published: run status to see the changes that publishing would make';
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

describe('note on many unchanged resources', () => {
  it.each(forms)('is a count with a command in $form', ({ shown }) => {
    const text = shown().replace(/\s+/g, ' ');
    expect(text.split(note)).toHaveLength(2);
    expect(text).toMatch(/20 agents: .*voxform status --only unpublished/);
    expect(text).not.toContain('Agent/branch-000');
  });

  it('names a single resource, and all with --full', () => {
    const one = plan(agents(1, () => ({ action: 'noop', notices: [note] })));
    expect(planText(one, plainStyle())).toContain('Agent/branch-000: ');
    expect(planText(unpublished, plainStyle(), { full: true })).toContain('Agent/branch-019');
  });

  it('is omitted in every form if notes are disabled', () => {
    const quiet = true;
    const all = [
      planText(unpublished, plainStyle(), { quiet }),
      planMarkdown(unpublished, { quiet }),
      planGithub(unpublished, { quiet }),
    ];
    for (const text of all) expect(text).not.toContain('published');
  });

  it.each([
    { form: 'a plan', shown: (full: boolean) => planHtml(unpublished, { full }) },
    { form: 'an apply', shown: (full: boolean) => applyHtml(nothingApplied, { full }) },
  ])('is in a row of a collapsed table on the page of $form, and with --full in a box', ({ shown }) => {
    const times = (page: string, part: string) => page.split(part).length - 1;
    const page = shown(false);
    expect(times(page, '<tr data-item="noop">')).toBe(20);
    expect(times(page, '<details class="resource"')).toBe(0);
    expect(page).toContain('<details class="more" data-group><summary>20 resources</summary>');
    expect(times(page, `<p>${note}</p>`)).toBe(20);
    expect(page).toContain(`<p class="remark">20 agents: ${note} `);
    expect(times(shown(true), '<details class="resource"')).toBe(20);
  });
});

describe('update of an agent that was never published', () => {
  const first: NextStep = {
    action: 'publish',
    instruction: 'In the dashboard, publish it when it is ready.',
  };
  const updates = plan(
    agents(10, (index) => ({
      action: 'update',
      changes: [change('name', { before: 'a', after: 'b' })],
      ...(index < 4 && { notices: ['never published'], steps: [first] }),
      ...(index >= 4 && { steps: [{ ...first, meanwhile: 'callers hear the old one' }] }),
    })),
  );

  it.each([
    { form: 'text', shown: () => planText(updates, plainStyle()) },
    { form: 'Markdown', shown: () => planMarkdown(updates) },
    { form: 'a page', shown: () => planHtml(updates) },
  ])('reports this with the step that publishes it, and no second list of agents: $form', ({ shown }) => {
    expect(shown()).not.toContain('never published');
    expect(shown()).toMatch(/Publish 10 agents/);
  });
});

it('shows a wait for another resource as information, not as a task', () => {
  const wait: NextStep = { action: 'wait_for', address: 'Agent/day', because: 'not_created' };
  const lookUp: NextStep = { action: 'dashboard', instruction: 'Look there.' };
  const waiting = plan(agents(1, () => ({ action: 'manual', reason: 'r', steps: [wait, lookUp] })));
  for (const text of [planText(waiting, plainStyle()), planMarkdown(waiting)]) {
    expect(text).toMatch(/\[ \].*Look there/);
    expect(text).toMatch(/aits for Agent\/day/);
    expect(text).not.toMatch(/\[ \].*aits for/);
  }
});
