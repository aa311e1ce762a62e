import { expect, it } from 'vitest';
import { migrationText } from '../../src/output/migrate-text.ts';
import { plainStyle } from './sample-styles.ts';

const end = { name: 'staging', workspaceId: 'W', baseUrl: 'https://staging.example.com' };

it('names the resources of an item of the checklist once, also where its text names one that begins alike', () => {
  const text = migrationText(
    {
      from: end,
      to: end,
      before: [
        {
          moment: 'know',
          matter: { text: 'Agent/sales-team is left out: resources that need it wait' },
          addresses: ['Agent/sales'],
        },
        {
          moment: 'know',
          matter: { address: 'Agent/support', reason: 'both answer', steps: [] },
          addresses: ['Agent/support'],
        },
      ],
      plan: undefined,
      files: [],
      full: false,
      workspaceFlag: '',
    },
    plainStyle(),
  );
  expect(text).toMatch(
    /- Agent\/sales-team is left out: .+\n {4}Agent\/sales\n {2}- Agent\/support: both answer\n$/,
  );
});
