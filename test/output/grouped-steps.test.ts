import { describe, expect, it } from 'vitest';
import type { ApplyReport, ResourceResult } from '../../src/engine/apply/apply-report.ts';
import type { PlannedResource } from '../../src/engine/plan/plan-document.ts';
import type { NextStep } from '../../src/problems/next-step.ts';
import { inDashboard } from '../step-texts.ts';
import { agents } from './many-resources.ts';
import { applyHtml, applyMarkdown, applyText, planHtml, planMarkdown, planText } from './rendered.ts';
import { change, plan } from './sample-plan.ts';
import { plainStyle, widest } from './sample-styles.ts';

const step = { action: 'publish', instruction: 'In the dashboard, publish it when it is ready.' } as const;
const publish = 'Publish 300 agents in the dashboard';
const prompt = (hours: string) => `# Role\nAnswer.\n\n## Hours\n${hours}\n\n## Closing\nBye.`;

/** A line shared by all prompts changed, and all agents must be published. */
const published = agents(300, () => ({
  action: 'update',
  reason: 'the manifest changed',
  changes: [change('prompt_config.prompt', { before: prompt('Monday to Friday.'), after: prompt('Every day.') })],
  steps: [step],
}));

/** A different line changed in each of 25 prompts, and 13 of the agents must be published. */
const partly = agents(25, (index) => ({
  action: 'update',
  reason: 'the manifest changed',
  changes: [change('prompt_config.prompt', { before: prompt(`Hours ${index}.`), after: prompt(`Open ${index}.`) })],
  ...(index < 13 && {
    notices: ['edited since it was published'],
    steps: [{ ...step, meanwhile: 'until then' }],
  }),
}));

const text = (resources: readonly PlannedResource[], full = false): string =>
  planText(plan(resources), plainStyle(), { full });
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

describe('manual step that many agents need', () => {
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

  it('is one line of the remaining steps of an apply, for the written agents', () => {
    const done = report((index) =>
      index < 10 ? { status: 'failed', error: 'HTTP 500' } : { status: 'done', id: null },
    );
    const shown = applyText(done, plainStyle());
    expect(shown).toContain('Remaining steps\n  [ ] Publish 290 agents in the dashboard: Agent/branch-010,');
    expect(shown).not.toContain('publish it when');
    expect(shown.replace(/\s+/g, ' ')).toContain('more (voxform status --only unpublished lists them)');
    expect(shown + applyMarkdown(done)).not.toContain('--full');
    const page = applyHtml(done);
    expect(page).toContain('<summary>290 resources</summary>');
    expect(applyMarkdown(done)).toContain('- [ ] Publish 290 agents in the dashboard: ');
    expect(times(applyText(done, plainStyle(), { full: true }), 'publish it when')).toBe(290);
  });

  it('states what remains in effect until then, if this applies to any of them', () => {
    const meanwhile = 'callers may hear the published version until then';
    const again = { ...step, instruction: `In the dashboard, publish it: ${meanwhile}.`, meanwhile };
    const some = published.map((each, index) => (index === 200 ? { ...each, steps: [again] } : each));
    expect(text(some).replace(/\s+/g, ' ')).toContain(`[ ] ${publish} (${meanwhile}): Agent/branch-000,`);
    expect(text(published)).not.toContain(meanwhile);
    expect(planHtml(plan(some))).toContain(`${publish} (${meanwhile})<details`);
    expect(planMarkdown(plan(some))).toContain(`${publish} (${meanwhile}): <code>`);
  });

  it('is one item of Markdown, above the table of resources', () => {
    const shown = planMarkdown(plan(published));
    expect(times(shown, '- [ ]')).toBe(1);
    expect(shown).toContain('<code>Agent/branch-002</code> and 297 more (--full lists them)');
    expect(shown).toContain('<code>Agent/branch-000</code> and 299 more | update');
    expect(shown).not.toContain('omitted');
    expect(times(shown, 'Every day.')).toBe(1);
    for (const { address } of published) expect(shown).toContain(address);
  });

  it('appears once at the top of a page, which shows a shared change once and names every agent', () => {
    const page = planHtml(plan(published));
    expect(times(page, publish)).toBe(1);
    expect(page).not.toContain(step.instruction);
    expect(page.indexOf(publish)).toBeLessThan(page.indexOf('<main>'));
    expect(times(page, '<details class="resource"')).toBe(1);
    for (const { address } of published) expect(page).toContain(address.slice('Agent'.length));
    expect(times(planHtml(plan(published), { full: true }), '<details class="resource"')).toBe(300);
  });

  it('stays with its agent if few need it', () => {
    const few = published.slice(0, 2);
    expect(text(few)).toBe(text(few, true));
  });

  it('shares no box with a note if the changes differ', () => {
    const shown = text(partly);
    expect(shown).not.toContain('with the same details');
    expect(shown).not.toContain('above, shared');
    expect(times(shown, 'edited since it was published')).toBe(1);
    expect(lines(shown)).toBeLessThan(lines(text(partly, true)));
  });
});

describe('many numbers to be changed', () => {
  const sets = (index: number, field: string, value: string | null): NextStep => ({
    action: 'dashboard',
    instruction: `Set ${field} of number ${index}.`,
    sets: { record: `+1202555${index}`, field, value },
  });
  const numbers = (count: number, rest: Partial<PlannedResource>) =>
    agents(count, (index) => ({
      kind: 'PhoneNumber',
      steps: [
        sets(index, 'inbound', 'Agent/a'),
        ...(index % 2 === 0 ? [sets(index, 'outbound', index === 0 ? null : 'Agent/b')] : []),
      ],
      ...rest,
    }));
  const manual = numbers(100, {
    action: 'manual',
    reason: 'the API cannot change this',
    changes: [change('inbound_agent_id', { before: null, after: 'id-1', manual: true })],
  });
  const created = numbers(100, { action: 'create', id: null });
  const applied: ApplyReport = {
    plan: plan(created),
    results: new Map(created.map(({ address }) => [address, { status: 'done', id: 'N1' }])),
    warnings: [],
    interrupted: undefined,
  };

  it.each([
    { reason: 'of a plan', shown: (full: boolean) => text(manual, full), most: 110 },
    {
      reason: 'of a first plan, in addition to a line for each',
      shown: (full: boolean) => text(created, full),
      most: 215,
    },
  ])('are a table: $reason', ({ shown, most }) => {
    const compact = shown(false);
    expect(lines(compact)).toBeLessThan(most);
    expect(compact).toContain('[ ] Change 100 phone numbers in the dashboard:\n      PHONE NUMBER  INBOUND');
    expect(compact).toMatch(/^ {6}\+12025550 +Agent\/a +\(none\) +Agent\/branch-000$/m);
    expect(compact).toMatch(/^ {6}\+12025551 +Agent\/a +Agent\/branch-001$/m);
    expect(compact).not.toContain('Set inbound');
    expect(widest(compact)).toBeLessThanOrEqual(80);
    expect(times(shown(true), '[ ] Set inbound of number')).toBe(100);
  });

  it('are counted after an apply whose plan contains the table', () => {
    const shown = applyText(applied, plainStyle(), { selection: { workspace: 'a' } });
    expect(shown).toContain('[ ] Change 100 phone numbers in the dashboard: Agent/branch-000,');
    expect(shown.replace(/\s+/g, ' ')).toContain('and 97 more (voxform plan -w a lists them)');
    expect(lines(shown)).toBeLessThan(110);
    expect(times(applyText(applied, plainStyle(), { full: true }), 'Set inbound of number')).toBe(100);
    expect(applyMarkdown(applied)).toContain('| Phone number | Inbound |');
  });

  it('are a table of Markdown, and no rows of the table of resources', () => {
    for (const resources of [manual, created]) {
      const compact = planMarkdown(plan(resources));
      expect(compact).toContain('- [ ] Change 100 phone numbers in the dashboard:\n\n| Phone number | Inbound |');
      expect(compact).toContain('\n| +12025552 | Agent/a | Agent/b | Agent/branch-002 |\n');
      expect(compact).not.toContain('Set inbound');
      expect(times(planMarkdown(plan(resources), { full: true }), 'Set inbound of')).toBe(100);
    }
    expect(planMarkdown(plan(manual))).not.toContain('<details>');
  });

  it('are a table of a page, whose rows are filtered like resources', () => {
    const page = planHtml(plan(manual));
    expect(page).toContain('Change 100 phone numbers in the dashboard');
    expect(times(page, '<tr data-item="manual">')).toBe(100);
    expect(page).not.toContain('Set inbound');
    expect(page).not.toContain('<details class="resource"');
    expect(times(planHtml(plan(manual), { full: true }), 'Set inbound of')).toBe(100);
  });

  it('stay with their number if they are few or have other information', () => {
    expect(text(manual.slice(0, 5))).toContain('Set inbound of number 4.');
    const [first, ...others] = manual;
    const wait = { action: 'wait_for', address: 'Agent/a', because: 'missing' } as const;
    const shown = text([
      { ...others[0], ...first, steps: [...(first?.steps ?? []), wait] } as PlannedResource,
      ...others,
    ]);
    expect(shown).toContain('Change 99 phone numbers');
    expect(times(shown, 'Set inbound of')).toBe(1);
  });
});

describe('lists that do not fit into a comment', () => {
  it('end with the number of omitted items', () => {
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
