import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlannedChange, PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { compact } from '../../src/output/compact.ts';
import { createSecretNumbers, type FieldView } from '../../src/output/field-view.ts';
import { inDashboard } from '../step-texts.ts';
import { adoptions, agents, sameChange, shapedAlike, sharedHunk } from './many-resources.ts';
import { driftText, planMarkdown, planText } from './rendered.ts';
import { change, plan } from './sample-plan.ts';
import { plainStyle, widest } from './sample-styles.ts';

const text = (resources: readonly PlannedResource[], options = {}, rest = {}): string =>
  planText(plan(resources, rest), plainStyle(), options);
const lines = (shown: string): number => shown.trimEnd().split('\n').length;

describe('plan of many resources', () => {
  it('shows shared changes once with their addresses, and the other changes of each resource', () => {
    const shown = text(sameChange);
    expect(shown).toContain(`Update (97)

  ~ 97 resources with the same change
      Agent/branch-000, Agent/branch-001, Agent/branch-002, Agent/branch-003,
      Agent/branch-004, Agent/branch-005, Agent/branch-006, Agent/branch-007,
      Agent/branch-008, Agent/branch-009, Agent/branch-010, Agent/branch-011 and
      85 more (--full lists them)
      llm_config.model: gpt-4o -> gpt-4.1

  ~ Agent/branch-000  01JAGENT0000000000000000000  manifests/branch-000.yaml:1
      name: Branch -> Branch 0
      # plus 1 change above, shared with others
`);
    expect(lines(shown)).toBeLessThan(60);
    expect(text(sameChange, { full: true }).match(/llm_config\.model/g)).toHaveLength(97);
    expect(text(sameChange, { verbose: true }).match(/llm_config\.model/g)).toHaveLength(97);
  });

  it('shows a hunk once that changes in several prompts, at any position', () => {
    const shown = text(sharedHunk);
    expect(shown).toContain(`  ~ 12 resources with the same change
      Agent/branch-000, Agent/branch-001, Agent/branch-002, Agent/branch-003,
      Agent/branch-004, Agent/branch-005, Agent/branch-006, Agent/branch-007,
      Agent/branch-008, Agent/branch-009, Agent/branch-010, Agent/branch-011
      prompt_config.prompt:
        | @@ Role > Hours @@
        | - Monday to Friday.
        | + Monday to Saturday.
`);
    expect(shown.match(/Goodbye from/g)).toHaveLength(2);
    const drift = driftText(plan(sharedHunk), plainStyle());
    expect(drift.match(/- Monday to Saturday/g)).toHaveLength(1);
  });

  it.each([
    { reason: 'one outlier', groups: [299, 1] },
    { reason: 'two groups', groups: [200, 100] },
    { reason: 'outliers without shared changes', groups: [288, ...Array(12).fill(1)] },
    { reason: 'few resources, and one outlier', groups: [4, 1] },
  ])('shares common changes despite differences: $reason', ({ groups }) => {
    const resources = shapedAlike(groups);
    const shown = text(resources);
    expect(shown.match(/Monday to Saturday/g)).toHaveLength(1);
    expect(shown.match(/0\.3 -> 0\.4$/gm)).toHaveLength(1);
    expect(lines(shown)).toBeLessThan(32 + groups.length * 4);
    const markdown = planMarkdown(plan(resources));
    expect(markdown.match(/Monday to Saturday/g)).toHaveLength(1);
    expect(markdown.match(/temperature: 0\.4$/gm)).toHaveLength(1);
  });

  it('lists many adoptions as a table', () => {
    const shown = text(adoptions);
    expect(shown).toContain(`Import (312): exists on the platform, not managed yet

    ADDRESS           ID
  = Agent/branch-001  01JAGENT0000000000000000001
`);
    expect(shown).toMatch(/ {2}~ Agent\/branch-000 {2}01JAGENT0000000000000000000\n? +llm_config\.temperature,/);
    expect(lines(shown)).toBeLessThan(800);
    expect(lines(text(adoptions, { full: true }))).toBeGreaterThan(1500);
    expect(widest(shown)).toBeLessThanOrEqual(80);
  });

  it('keeps steps and notices in a table, and every address of a step', () => {
    const step = inDashboard('In the dashboard, link the number.');
    const created = agents(20, () => ({ action: 'create', id: null, steps: [step], reason: 'new' }));
    const grouped = text(created);
    expect(grouped).toContain('[ ] 20 agents: In the dashboard, link the number. Agent/branch-000,');
    expect(grouped).toContain('and 17 more (--full');
    expect(text(created, { full: true }).match(/\[ \] In the dashboard/g)).toHaveLength(20);
    const manual = agents(20, () => ({ action: 'manual', steps: [step], reason: 'new' }));
    const shown = text(manual);
    for (const { address, id } of manual) expect(shown).toContain(`${address}  ${id}`);
  });

  it.each(['replace', 'forget', 'blocked', 'unknown', 'manual'] as const)(
    'names each resource to %s',
    { tags: ['long'] },
    (action) => {
      const resources = agents(40, () => ({ action, changes: [change('retries', { before: 1, after: 2 })] }));
      for (const { address } of resources) expect(text(resources)).toContain(address);
    },
  );

  it("names each resource in which another person's change is overwritten", () => {
    const changes = [change('name', { before: 'a', after: 'b', cause: 'both' })];
    const resources = agents(40, () => ({ action: 'update', changes }));
    for (const { address } of resources) expect(text(resources)).toContain(address);
  });

  it('shows a warning once, with the addresses', () => {
    const warnings = sameChange.map(({ address }) => ({ address, message: 'edited since' }));
    expect(text([], {}, { warnings })).toMatch(
      /! Agent\/branch-000, [^:]+ and\s+94 more \(--full\s+lists them\): edited/,
    );
    expect(text([], { full: true }, { warnings })).toContain('Agent/branch-096');
  });

  it('shows a plan of few resources in full', () => {
    const few = sameChange.slice(0, 2);
    expect(text(few)).toBe(text(few, { full: true }));
  });

  it('treats two texts with the same start as different', () => {
    const begin = 'a\nb\nc\nd\ne\nf\n';
    const differing = agents(4, (index) => ({
      action: 'update',
      changes: [change('prompt_config.prompt', { before: null, after: `${begin}${index}` })],
    }));
    expect(text(differing)).toBe(text(differing, { full: true }));
  });
});

const words = fc.constantFrom('one', 'two', '## Three', 'four');
const texts = fc.array(words, { minLength: 2, maxLength: 7 }).map((all) => all.join('\n'));
const changes = fc.array(
  fc.oneof(
    fc.record({ path: fc.constantFrom('a', 'b'), before: fc.nat({ max: 2 }), after: fc.nat({ max: 2 }) }),
    fc.record({ path: fc.constantFrom('p', 'q'), before: texts, after: texts }),
  ),
  { maxLength: 3 },
);
const some = fc.array(
  fc.record({
    action: fc.constantFrom('update', 'create', 'replace', 'blocked', 'manual'),
    changes,
    notices: fc.array(fc.constantFrom('n', 'm'), { maxLength: 2 }),
    steps: fc.array(fc.constantFrom('s', 't').map(inDashboard), { maxLength: 1 }),
    reason: fc.constantFrom('r', 'q'),
  }),
  { maxLength: 14 },
);

/** Returns the contents of a field without its position and its surroundings. */
function saidBy({ path, body, notes }: FieldView): string[] {
  const about = `${path} ${notes.join()}`;
  if (body.form !== 'diff') return [`${about} ${JSON.stringify(body)}`];
  return body.lines
    .filter(({ sign }) => sign !== ' ' && sign !== '@')
    .map(({ sign, text: line }) => `${about} ${sign}${line}`);
}

describe('compact output', () => {
  it('contains all information of each resource', () => {
    fc.assert(
      fc.property(some, (given) => {
        const resources = agents(given.length, (index) => {
          const { changes: made = [], ...rest } = given[index] ?? {};
          return { ...rest, changes: made.map(({ path, ...each }): PlannedChange => change(path, each)) };
        });
        const said = (full: boolean) => {
          const all = compact(resources, {
            full,
            views: { secrets: createSecretNumbers(), verbose: false },
          });
          return resources.map((resource) => {
            const about = all.filter((each) => each.resources.includes(resource));
            return [
              ...about.flatMap(({ fields }) => fields.flatMap(saidBy)),
              ...about.flatMap(({ notices, steps }) => [...notices, ...steps]),
            ].sort();
          });
        };
        expect(said(false)).toEqual(said(true));
        const shown = text(resources);
        for (const { address } of resources) expect(shown).toContain(address);
      }),
    );
  });

  it('has no more lines than the full output, except for the titles of a table', () => {
    fc.assert(
      fc.property(some, fc.constantFrom(40, 80, 160), (given, width) => {
        const resources = agents(given.length, (index) => {
          const { changes: made = [], ...rest } = given[index] ?? {};
          return { ...rest, changes: made.map(({ path, ...each }): PlannedChange => change(path, each)) };
        });
        const shown = (full: boolean) => lines(planText(plan(resources), plainStyle(width), { full }));
        expect(shown(false)).toBeLessThanOrEqual(shown(true) + 2);
      }),
    );
  });
});
