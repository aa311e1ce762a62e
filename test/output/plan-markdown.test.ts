import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_COMMENT_LENGTH, markdownCode, markdownText } from '../../src/output/markdown.ts';
import { inDashboard, stepTexts } from '../step-texts.ts';
import { hostilePlan } from './hostile-plan.ts';
import { adoptions, sameChange } from './many-resources.ts';
import { planMarkdown } from './rendered.ts';
import { change, plan, resource, richPlan } from './sample-plan.ts';
import { unsafe } from './sample-styles.ts';

const small = plan(
  [
    resource('Agent/a'),
    resource('Agent/b', {
      action: 'update',
      reason: 'the manifest changed',
      changes: [
        change('name', { before: 'A|B', after: '<b>' }),
        change('prompt_config.prompt', { before: 'One.\n```\nTwo.', after: 'One.\n```\nThree.' }),
      ],
    }),
  ],
  { warnings: [{ address: 'Agent/b', message: 'look at *this*, @someone' }] },
);

/** Returns true if every fold and every fence that begins also ends, in order. */
function isBalanced(text: string): boolean {
  const marks = text.match(/^(?:<details>|<\/details>|`{3,}(?:diff)?)$/gm) ?? [];
  const open: string[] = [];
  for (const mark of marks) {
    const isFence = mark.startsWith('`');
    const opens = mark === '<details>' || (isFence && mark.endsWith('diff'));
    if (opens) open.push(isFence ? mark.replace('diff', '') : '</details>');
    else if (open.pop() !== mark) return false;
  }
  return open.length === 0;
}

describe('plan as Markdown', () => {
  it('folds the fields of each resource below a table', () => {
    expect(planMarkdown(small)).toMatchInlineSnapshot(`
      "### voxform plan for <code>staging</code>

      **Plan: 1 to update. 1 unchanged.**

      - **Warning:** <code>Agent/b</code>: look at &#42;this&#42;, <span>@</span>someone

      | | Resource | Action | Source |
      | --- | --- | --- | --- |
      | <code>&#126;</code> | <code>Agent/b</code> | update | <code>manifests/agents.yaml:3</code> |

      <details>
      <summary><code>Agent/b</code>: update, 2 fields</summary>

      the manifest changed; id 01JAGENT000000000000000001

      \`\`\`\`diff
      - name: A|B
      + name: "<b>"
      @@ prompt_config.prompt @@
        One.
        \`\`\`
      - Two.
      + Three.
      \`\`\`\`

      </details>
      "
    `);
  });

  it('has every address and every step of a plan', () => {
    const text = planMarkdown(richPlan);
    for (const resource of richPlan.resources) {
      const { address, action } = resource;
      if (action !== 'noop') expect(text).toContain(markdownCode(address));
      for (const step of stepTexts(resource) ?? [])
        expect(text).toContain(`- [ ] ${markdownCode(address)}: ${markdownText(step)}`);
    }
  });

  it('states in a sentence that nothing is linked to the changed resources', () => {
    const text = planMarkdown(plan([resource('Agent/a', { action: 'update', routes: [] })]));
    expect(text).toContain('\nNo phone numbers linked.\n');
  });

  it('shows shared changes once, and lists records that are adopted unchanged', () => {
    const text = planMarkdown(plan(sameChange));
    expect(text.match(/llm_config\.model: gpt-4o/g)).toHaveLength(1);
    expect(text).toContain('<code>Agent/branch-000</code> and 96 more | update |');
    expect(text).toContain('<summary>97 resources: update, 1 field</summary>');
    for (const { address } of sameChange) expect(text).toContain(address);
    expect(planMarkdown(plan(sameChange), { full: true }).match(/llm_config\.model: gpt-4o/g)).toHaveLength(97);
    const adopted = planMarkdown(plan(adoptions));
    for (const { address, action, id } of adoptions)
      expect(adopted).toContain(action === 'adopt' ? `${address} ${id}` : address);
    expect(adopted).not.toContain('omitted');
    expect(adopted.match(/<details>/g)).toHaveLength(2);
  });

  it('shows a shared warning once, with its addresses', () => {
    const message = 'This resends all of llm_config: llm_config.api_key may be erased.';
    const warnings = adoptions.map(({ address }) => ({ address, message }));
    const [line, ...more] = planMarkdown(plan([], { warnings }))
      .split('\n')
      .filter((each) => each.includes('resends'));
    expect(more).toEqual([]);
    expect(line).toContain('<code>Agent/branch-002</code> and 465 more (--full lists them): This resends');
    expect(planMarkdown(plan([], { warnings: warnings.slice(0, 100) }), { full: true })).toContain('Agent/branch-099');
  });

  it('puts the manual steps of this change before earlier ones', () => {
    const text = planMarkdown(richPlan);
    const places = [
      'Warning:',
      '| create |',
      'set the inbound agent',
      '#### Earlier manual steps',
      'invite carla',
      '<details>',
    ];
    const found = places.map((part) => text.indexOf(part));
    expect(found).toEqual([...found].sort((a, b) => a - b));
    expect(found).not.toContain(-1);
  });

  it('respects the length limit of a comment, and names the omitted parts', () => {
    const resources = Array.from({ length: 2000 }, (_, index) =>
      resource(`Agent/agent-number-${index}`, {
        action: 'update',
        steps: [inDashboard(`Do the thing with number ${index}.`)],
        changes: [change('prompt_config.prompt', { before: 'x\n'.repeat(50), after: 'y\n'.repeat(50) })],
      }),
    );
    const warnings = resources.map(({ address }) => ({ address, message: 'w'.repeat(200) }));
    const text = planMarkdown(plan(resources, { warnings }));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_COMMENT_LENGTH);
    expect(isBalanced(text)).toBe(true);
    expect(text.length).toBeGreaterThan(MAX_COMMENT_LENGTH * 0.9);
    expect(text).toMatch(/parts omitted, .*<code>voxform plan<\/code> to see everything/);
  });

  it('truncates a long text, and shows the number of omitted characters', () => {
    const long = (name: string, fields: number) =>
      resource(`Agent/${name}`, {
        action: 'create',
        changes: Array.from({ length: fields }, (_, index) => change(`f${index}`, { after: 'ü'.repeat(190) })),
      });
    const text = planMarkdown(plan([long('a', 500), long('b', 120), resource('Agent/c', { action: 'adopt' })]));
    expect(text).toMatch(/Agent\/a<\/code>: create, 500 fields<\/summary>[\s\S]*\n# 470 more lines omitted/);
    expect(text).toMatch(/Agent\/b<\/code>: create, 120 fields<\/summary>[\s\S]*\+ f119: /);
    expect(text).toContain('<code>Agent/c</code>: import');
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_COMMENT_LENGTH);
    expect(isBalanced(text)).toBe(true);
  });

  it('closes every fence, regardless of the texts', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[`~\n a]{0,30}$/), (after) => {
        const text = planMarkdown(
          plan([resource('Agent/a', { action: 'create', changes: [change('name', { after: `${after}\n` })] })]),
        );
        const [fence = ''] = /^`{3,}(?=diff$)/m.exec(text) ?? [];
        const inside = text.slice(text.indexOf(`${fence}diff`) + fence.length + 4, text.lastIndexOf(`\n${fence}\n`));
        expect(inside.split('\n').every((line) => line.trim() !== fence && !line.includes(fence))).toBe(true);
      }),
    );
  });

  it('shows external text as text', () => {
    const text = planMarkdown(hostilePlan());
    expect(text).not.toMatch(unsafe);
    const outside = text.replace(/^(`{3,})diff\n[\s\S]*?\n\1$/gm, '');
    expect(outside).not.toMatch(/^(::error|\+ Agent)/m);
    for (const hostile of ['<script>', '[x](javascript:1)', '**b**', '| cell', '@team', '![i](u)', '`code`', '&lt;']) {
      expect(markdownText(hostile)).not.toMatch(/[*[\]!`|]|<(?!\/?span>)|@\w|&(?!#)/);
    }
  });
});
