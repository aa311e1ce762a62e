import { describe, expect, it } from 'vitest';
import { agents } from './many-resources.ts';
import { planGithub, planHtml, planMarkdown, planText } from './rendered.ts';
import { plan } from './sample-plan.ts';
import { plainStyle } from './sample-styles.ts';

const fields = ['api_key', 'region', 'top_p', 'endpoint', 'deployment', 'seed'].map(
  (field) => `llm_config.${field}`,
);
const message = `This resends all of llm_config: ${fields.join(', ')} may be erased.`;
const updates = agents(3, () => ({ action: 'update' }));
const resends = plan(updates, {
  warnings: updates.map(({ address }) => ({ address, message, may_erase: fields })),
});

const short =
  'This resends all of llm_config: llm_config.api_key, llm_config.region, llm_config.top_p, llm_config.endpoint and 2 more (--full lists them) may be erased if set only in the dashboard.';

const forms = [
  { form: 'text', shown: (full: boolean) => planText(resends, plainStyle(), { full }) },
  { form: 'Markdown', shown: (full: boolean) => planMarkdown(resends, { full }) },
];

describe('the fields that an update may erase', () => {
  it.each(forms)(
    'are counted once for all resources that share them, and all named with --full: $form',
    ({ shown }) => {
      const plain = (text: string) => text.replaceAll('&#95;', '_').replace(/\s+/g, ' ');
      const compact = plain(shown(false));
      expect(compact.split(short)).toHaveLength(2);
      expect(compact).not.toContain('llm_config.seed');
      expect(plain(shown(true))).toContain(message);
    },
  );

  it.each([
    { form: 'annotations', shown: () => planGithub(resends) },
    { form: 'a page', shown: () => planHtml(resends) },
  ])('are all named where no option lists them: $form', ({ shown }) => {
    expect(shown()).toContain('llm_config.seed');
    expect(shown()).not.toContain('--full');
  });
});
