import { expect, it } from 'vitest';
import type { ApplyReport } from '../../src/engine/apply/apply-report.ts';
import { migratedText, migrationText } from '../../src/output/migrate-text.ts';
import { plan } from './sample-plan.ts';
import { plainStyle, widest } from './sample-styles.ts';

const end = { name: 'staging', workspaceId: 'W', baseUrl: 'https://staging.example.com' };

it('names the resources of a checklist item once, even if its text names one with the same prefix', () => {
  const text = migrationText(
    {
      from: end,
      to: end,
      before: [
        {
          moment: 'know',
          content: { text: 'Agent/sales-team is left out: resources that need it wait' },
          addresses: ['Agent/sales'],
        },
        {
          moment: 'know',
          content: { address: 'Agent/support', reason: 'both answer', steps: [] },
          addresses: ['Agent/support'],
        },
      ],
      ...{ after: [], files: [], plan: undefined, report: undefined, full: false, selection: undefined },
    },
    plainStyle(),
  );
  expect(text).toMatch(/- Agent\/sales-team is left out: .+\n {4}Agent\/sales\n {2}- Agent\/support: both answer\n$/);
});

it('lists the manual steps shared by many agents and numbers once', () => {
  const numbered = (count: number, kind: string) =>
    Array.from({ length: count }, (_, index) => `${kind}/${String(index).padStart(3, '0')}`);
  const agents = numbered(300, 'Agent');
  const numbers = numbered(150, 'PhoneNumber');
  const publish = {
    action: 'publish',
    instruction: 'In the dashboard, publish it when it is ready.',
  } as const;
  const notice = 'In the dashboard of staging, unlink it.';
  const after = [
    { moment: 'after', content: { step: publish }, addresses: agents },
    ...numbers.map((address, index) => {
      const sets = { record: `+1202555${index}`, field: 'inbound', value: agents[index] ?? null };
      const step = { action: 'dashboard', instruction: `Link ${address}.`, sets } as const;
      return { moment: 'after', content: { step }, addresses: [address] } as const;
    }),
    { moment: 'after', content: { text: notice }, addresses: numbers },
  ] as const;
  const report: ApplyReport = { plan: plan([]), results: new Map(), warnings: [], interrupted: undefined };
  const shown = (full: boolean) =>
    migratedText(
      {
        from: end,
        to: end,
        before: [],
        after,
        files: [],
        plan: undefined,
        report,
        full,
        selection: { workspace: 'live' },
      },
      plainStyle(),
    );
  const compact = shown(false);
  expect(compact.replace(/\s+/g, ' ')).toContain(
    '[ ] Publish 300 agents in the dashboard: Agent/000, Agent/001, Agent/002 and 297 more (voxform status --only unpublished -w live lists them)',
  );
  expect(compact).toContain('[ ] Change 150 phone numbers in the dashboard:\n      PHONE NUMBER');
  expect(compact.split('\n').length).toBeLessThan(175);
  expect(widest(compact)).toBeLessThanOrEqual(80);
  for (const address of numbers) expect(compact).toContain(address);
  for (const address of agents) expect(shown(true)).toContain(address);
  expect(shown(true)).toContain('Link PhoneNumber/149.');
});
