import { describe, expect, it } from 'vitest';
import { agents } from './many-resources.ts';
import { applyMarkdown, applyText, planGithub, planHtml, planMarkdown, planText } from './rendered.ts';
import { plan } from './sample-plan.ts';
import { plainStyle } from './sample-styles.ts';

const fields = ['api_key', 'region', 'top_p', 'endpoint', 'deployment', 'seed'].map((field) => `llm_config.${field}`);
const message = `This resends all of llm_config: ${fields.join(', ')} may be erased.`;
const updates = agents(3, () => ({ action: 'update' }));
const texts = ['prompt_config.language', 'prompt_config.voice_hints'];
const other = `This resends all of prompt_config: ${texts.join(' and ')} may be erased.`;
const resends = plan(updates, {
  warnings: updates.flatMap(({ address }) => [
    { address, message, may_erase: fields },
    { address, message: other, may_erase: texts },
  ]),
});

const short = 'resends all of llm_config and prompt_config: llm_config.api_key and 7 other fields may be erased';

const forms = [
  { form: 'text', shown: (full: boolean) => planText(resends, plainStyle(), { full }) },
  { form: 'Markdown', shown: (full: boolean) => planMarkdown(resends, { full }) },
];

describe('fields that an update may erase', () => {
  it.each(forms)(
    'are one line for all resources that share them, and all are named with --full: $form',
    ({ shown }) => {
      const plain = (text: string) => text.replaceAll('&#95;', '_').replace(/\s+/g, ' ');
      const compact = plain(shown(false));
      expect(compact.split(short)).toHaveLength(2);
      expect(compact.split('resends')).toHaveLength(2);
      expect(compact).not.toContain('llm_config.seed');
      expect(compact).toContain('--full lists them');
      for (const each of [message, other]) expect(plain(shown(true))).toContain(each);
    },
  );

  it.each([{ form: 'annotations', shown: () => planGithub(resends) }])(
    'are all named if no option lists them: $form',
    ({ shown }) => {
      expect(shown()).toContain('llm_config.seed');
      expect(shown()).not.toContain('--full');
    },
  );

  it('are collapsed into one line of a page', () => {
    const page = planHtml(resends);
    expect(page.split(short)).toHaveLength(2);
    expect(page).toContain('<code>llm_config.seed</code>');
    expect(page).not.toContain('--full');
    expect(planHtml(resends, { full: true })).toContain(message);
  });

  it('are not repeated after an apply whose plan is above, and are one line in its Markdown', () => {
    const results = new Map(updates.map(({ address }) => [address, { status: 'done', id: null } as const]));
    const applied = { plan: resends, results, warnings: resends.warnings, interrupted: undefined };
    expect(applyText(applied, plainStyle())).not.toContain('resends');
    expect(applyMarkdown(applied).split('resends all of')).toHaveLength(2);
  });

  it('are named for a single resource', () => {
    const one = plan(updates.slice(0, 1), {
      warnings: [{ address: 'Agent/branch-000', message: other, may_erase: texts.slice(0, 1) }],
    });
    expect(planText(one, plainStyle(200))).toContain('resends all of prompt_config: prompt_config.language may');
  });
});
