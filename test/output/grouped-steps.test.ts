import { describe, expect, it } from 'vitest';
import type { ApplyReport, ResourceResult } from '../../src/engine/apply/apply-report.ts';
import type { PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { renderApply } from '../../src/output/apply-text.ts';
import { applyHtml, planHtml } from '../../src/output/html/reports.ts';
import { applyMarkdown, planMarkdown } from '../../src/output/plan-markdown.ts';
import { renderPlanText } from '../../src/output/plan-text.ts';
import { inDashboard } from '../step-texts.ts';
import { agents } from './many-resources.ts';
import { change, plan } from './sample-plan.ts';
import { plainStyle, widest } from './sample-styles.ts';

const step = { action: 'publish', instruction: 'In the dashboard, publish it when it is ready.' } as const;
const publish = 'Publish 300 agents in the dashboard:';
const prompt = (hours: string) => `# Role\nAnswer.\n\n## Hours\n${hours}\n\n## Closing\nBye.`;

/** A line of a prompt that all of them share changed, and all are to be published. */
const published = agents(300, () => ({
  action: 'update',
  reason: 'the manifest changed',
  changes: [
    change('prompt_config.prompt', { before: prompt('Monday to Friday.'), after: prompt('Every day.') }),
  ],
  steps: [step],
}));

/** The lines of 25 prompts changed each in their own way, and 13 of the agents are to be published. */
const partly = agents(25, (index) => ({
  action: 'update',
  reason: 'the manifest changed',
  changes: [
    change('prompt_config.prompt', { before: prompt(`Hours ${index}.`), after: prompt(`Open ${index}.`) }),
  ],
  ...(index < 13 && { notices: ['edited since it was published'], steps: [step] }),
}));

const text = (resources: readonly PlannedResource[], full = false): string =>
  renderPlanText(plan(resources), plainStyle(), { full });
const lines = (shown: string): number => shown.trimEnd().split('\n').length;
const times = (shown: string, part: string): number => shown.split(part).length - 1;

function report(status: (index: number) => ResourceResult): ApplyReport {
  return {
    plan: plan(published),
    results: new Map(published.map(({ address }, index) => [address, status(index)])),
    warnings: [],

    interrupted: undefined,
  };
}

describe('a manual step that many agents need', () => {
  it('is one line of a plan as text, and the change is shown once', () => {
    const shown = text(published);
    expect(lines(shown)).toBeLessThan(25);
    expect(shown).toContain('Agent/branch-011 and\n      288 more (--full lists them)');
    expect(shown).toContain(`Manual steps
  [ ] Publish 300 agents in the dashboard: Agent/branch-000, Agent/branch-001,
      Agent/branch-002 and 297 more (--full lists them)
`);
    expect(times(shown, '+ Every day.')).toBe(1);
    expect(widest(shown)).toBeLessThanOrEqual(80);
    const full = text(published, true);
    expect(times(full, '[ ] In the dashboard, publish it')).toBe(300);
    for (const { address } of published) expect(full).toContain(address);
  });

  it('is one line of what an apply left to do, of those that were written', () => {
    const done = report((index) =>
      index < 10 ? { status: 'failed', error: 'HTTP 500' } : { status: 'done', id: null },
    );
    const shown = renderApply(done, plainStyle());
    expect(shown).toContain('Left to do\n  [ ] Publish 290 agents in the dashboard: Agent/branch-010,');
    expect(shown).not.toContain('publish it when');
    const page = applyHtml(done);
    expect(page).toContain('<summary>290 resources</summary>');
    expect(applyMarkdown(done)).toContain('- [ ] Publish 290 agents in the dashboard: ');
    expect(times(renderApply(done, plainStyle(), { full: true }), 'publish it when')).toBe(290);
  });

  it('is one item of Markdown, above the table of resources', () => {
    const shown = planMarkdown(plan(published));
    expect(times(shown, '- [ ]')).toBe(1);
    expect(shown).toContain('<code>Agent/branch-002</code> and 297 more (--full lists them)');
    expect(shown).toContain('<code>Agent/branch-000</code> and 299 more | update');
    expect(shown).not.toContain('left out');
    expect(times(shown, 'Every day.')).toBe(1);
    for (const { address } of published) expect(shown).toContain(address);
  });

  it('stands once at the top of a page, which shows a shared change once and names every agent', () => {
    const page = planHtml(plan(published));
    expect(times(page, publish)).toBe(1);
    expect(page).not.toContain(step.instruction);
    expect(page.indexOf(publish)).toBeLessThan(page.indexOf('<main>'));
    expect(times(page, '<details class="resource"')).toBe(1);
    for (const { address } of published) expect(page).toContain(address.slice('Agent'.length));
    expect(times(planHtml(plan(published), { full: true }), '<details class="resource"')).toBe(300);
  });

  it('stays with its agent where few need it', () => {
    const few = published.slice(0, 2);
    expect(text(few)).toBe(text(few, true));
  });

  it('shares no box with a note where the changes differ', () => {
    const shown = text(partly);
    expect(shown).not.toContain('alike');
    expect(shown).not.toContain('above, shared');
    expect(times(shown, 'edited since it was published')).toBe(1);
    expect(lines(shown)).toBeLessThan(lines(text(partly, true)));
  });
});

describe('many numbers to be linked', () => {
  it('are shown with their steps alone', () => {
    const numbers = agents(20, (index) => ({
      action: 'manual',
      reason: 'the API cannot change this',
      changes: [change('inbound_agent_id', { before: null, after: `id-${index}`, manual: true })],
      steps: [inDashboard(`Link number ${index}.`)],
    }));
    const shown = text(numbers);
    for (const { address } of numbers) expect(shown).toContain(address);
    expect(times(shown, '[ ] Link number')).toBe(20);
    expect(shown).not.toContain('inbound_agent_id');
    expect(times(text(numbers, true), 'inbound_agent_id')).toBe(20);
    expect(text(numbers.slice(0, 5))).toContain('inbound_agent_id');
  });
});

describe('lists that do not fit into a comment', () => {
  it('end in the number of those left out', () => {
    const own = agents(2000, (index) => ({
      action: 'update',
      steps: [inDashboard(`Set the voice of branch ${index}.`)],
    }));
    const shown = planMarkdown(plan(own));
    const listed = times(shown, 'Set the voice of');
    expect(shown).toContain(`\n- [ ] ${2000 - listed} more\n`);
    expect(shown).toMatch(/\n\| \| \d+ more \| \| \|\n/);
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(65_536);
  });
});
