import { expect, it } from 'vitest';
import { isDoubtful } from '../../src/operator/plan-after.ts';
import { resource } from '../output/sample-plan.ts';
import { inDashboard } from '../step-texts.ts';

const returned = { action: 'import', address: 'Agent/a', id: '01JOLD', reason: 'returned' } as const;

it.each([
  { reason: 'the create was not confirmed', more: { action: 'unknown' }, expected: true },
  {
    reason: 'a former record is back beside it',
    more: { action: 'blocked', steps: [returned] },
    expected: true,
  },
  {
    reason: 'a step of a person alone',
    more: { action: 'manual', steps: [inDashboard('Invite ann.')] },
    expected: false,
  },
  { reason: 'in sync', more: {}, expected: false },
] as const)('tells what may exist twice or be lost: $reason', ({ more, expected }) => {
  expect(isDoubtful(resource('Agent/a', more))).toBe(expected);
});
