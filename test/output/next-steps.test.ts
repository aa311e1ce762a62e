import { describe, expect, it } from 'vitest';
import { reportFormatNames, reportFormats } from '../../src/output/formats/index.ts';
import { guardText, helpText, remarkText, stepText, withSteps } from '../../src/output/next-steps.ts';
import { applyReport, planReport } from '../../src/output/report.ts';
import { createStyle } from '../../src/output/style.ts';
import { type NextStep, nextStep } from '../../src/problems/next-step.ts';
import { advice, command, UserError } from '../../src/problems/user-error.ts';
import { richPlan } from './sample-plan.ts';

const address = 'Agent/day';
const STAGING = { workspace: 'staging' };

describe('next step', () => {
  it.each<{ step: NextStep; text: string }>([
    { step: { action: 'dashboard', instruction: 'Link it.' }, text: 'Link it.' },
    { step: { action: 'publish', instruction: 'Publish it.' }, text: 'Publish it.' },
    {
      step: {
        action: 'import',
        address,
        id: 'A1',
        reason: 'candidate',
        mentions: ['number +1 is linked to it'],
        agrees: ['name'],
        differs: ['a', 'b', 'c', 'd'],
      },
      text: 'Possibly A1: number +1 is linked to it; name matches; a, b, c and 1 more differ. If this is the record: voxform import Agent/day A1 -w staging',
    },
    {
      step: { action: 'import', address, id: null, reason: 'found' },
      text: 'If you find it in the dashboard: voxform import Agent/day ID -w staging',
    },
    {
      step: { action: 'import', address, id: null, reason: 'not_listed' },
      text: 'The list does not contain the record yet. If you find it in the dashboard: voxform import Agent/day ID -w staging',
    },
    {
      step: { action: 'import', address, id: 'A1', reason: 'succeeded' },
      text: 'Import the record, then plan again: voxform import Agent/day A1 -w staging',
    },
    {
      step: { action: 'import', address, id: 'A1', reason: 'closed' },
      text: 'To manage it again: voxform import Agent/day A1 -w staging',
    },
    {
      step: { action: 'import', address, id: 'A1', reason: 'former' },
      text: 'Its former record A1 is back on the platform. To manage it: voxform import Agent/day A1 -w staging',
    },
    {
      step: { action: 'import', address, id: 'A1', reason: 'returned' },
      text: 'To manage it: voxform import Agent/day A1 -w staging',
    },
    {
      step: { action: 'import', address, id: 'A1', reason: 'returned', instead_of: 'A2' },
      text: 'To manage it instead of A2: voxform import Agent/day A1 -w staging',
    },
    {
      step: { action: 'import', address, id: 'A1', reason: 'unsaved' },
      text: 'Note the id. Once the state can be written again: voxform import Agent/day A1 -w staging',
    },
    {
      step: { action: 'import', address, id: null, reason: 'odd_answer' },
      text: 'This counts as an unknown create. Look up the record in the dashboard, then import it: voxform import Agent/day ID -w staging',
    },
    {
      step: { action: 'resolve_not_created', address },
      text: 'If it is missing: voxform state resolve Agent/day --not-created -w staging',
    },
    {
      step: { action: 'recreate', address },
      text: 'If it was deleted, recreate it: voxform apply --allow-recreate Agent/day -w staging',
    },
    {
      step: { action: 'recreate', address, remove_id: true },
      text: 'If it was deleted: remove metadata.id from the manifest, then recreate it: voxform apply --allow-recreate Agent/day -w staging',
    },
    {
      step: { action: 'recreate', address: 'all' },
      text: 'If the records were deleted: voxform apply --allow-recreate all --even-if-all -w staging',
    },
    {
      step: { action: 'replace', address, id: 'A1' },
      text: 'To replace it, set metadata.replace: allow, or run this (A1 stays active until you delete it): voxform apply --allow-replace Agent/day -w staging',
    },
    {
      step: { action: 'release', address, id: 'A1', or: 'remove_id' },
      text: 'Remove metadata.id, or release A1: voxform state rm Agent/day -w staging',
    },
    {
      step: { action: 'release', address, id: 'A1', or: 'correct_workspace' },
      text: 'If this workspace is the right one, release the record: voxform state rm Agent/day -w staging',
    },
    {
      step: { action: 'close_orphan', id: 'A1', because: 'deleted' },
      text: 'If it was deleted: voxform orphans close A1 --because deleted -w staging',
    },
    {
      step: { action: 'wait' },
      text: 'If the platform lags or has a fault: wait. When it returns the record again, the plan is clean.',
    },
    {
      step: { action: 'wait_for', address, because: 'missing', path: 'inbound_agent_id' },
      text: 'inbound_agent_id waits for Agent/day, whose record is missing.',
    },
    {
      step: { action: 'wait_for', address, because: 'not_created' },
      text: 'Waits for Agent/day, which has no record yet.',
    },
    {
      step: { action: 'wait_for', address, because: 'not_in_run' },
      text: 'Waits for Agent/day, which has no record yet and is not part of this run.',
    },
    {
      step: { action: 'resolve_first', address },
      text: 'Resolve Agent/day first, then plan again.',
    },
    {
      step: { action: 'correct_workspace' },
      text: 'If the other workspace is the right one, correct workspace_id.',
    },
    {
      step: { action: 'correct_id' },
      text: 'Correct or remove the id: this workspace has no such record. If it belongs to another workspace, set `ids: {}` for this one in voxform.yaml to ignore metadata.id here.',
    },
    {
      step: { action: 'retry_ignored', path: 'name' },
      text: 'Change the manifest, or resend it with --retry-ignored.',
    },
    {
      step: { action: 'lift_guards', guards: ['large_change', 'owner_change'] },
      text: 'To apply the whole plan anyway: --allow-large-change and --allow-owner-change',
    },
    {
      step: { action: 'unlock', id: 'L1' },
      text: 'If that run has definitely ended: voxform state unlock L1 -w staging',
    },
    {
      step: { action: 'push_newer', file: 's.json' },
      text: 'Push the newer state: voxform state push s.json -w staging',
    },
    { step: { action: 'allow_older_state' }, text: 'To use this state anyway: --allow-older-state' },
    {
      step: { action: 'move_state', from: 'old.json' },
      text: 'Or move the state back: voxform state move --from old.json -w staging',
    },
    {
      step: { action: 'keep_record', id: 'R1', previous_name: 'old' },
      text: 'To keep its record R1, add to metadata: previous_names: [old]',
    },
    { step: { action: 'save_plan' }, text: 'Save a new plan: voxform plan --out FILE -w staging' },
    {
      step: { action: 'select_workspace', workspace: 'live' },
      text: 'Select its workspace: voxform apply --workspace live FILE',
    },
    {
      step: { action: 'list_addresses' },
      text: 'Addresses have the form Kind/name; `voxform state list` shows them.',
    },
  ])('to $step.action has the expected text', ({ step, text }) => {
    expect(nextStep.parse(step)).toEqual(step);
    expect(stepText(step, STAGING)).toBe(text);
    expect(stepText(step, undefined)).toBe(text.replace(' -w staging', ''));
  });
});

it.each(reportFormatNames)('names the workspace in every text format, and is data in JSON: %s', async (name) => {
  const { format } = await reportFormats[name]();
  const style = createStyle({ color: false, width: 1000 });
  const presentation = { style, verbose: false, made: new Date(0), selection: STAGING };
  const applied = applyReport({ plan: richPlan, results: new Map(), warnings: [], interrupted: undefined });
  for (const report of [planReport(richPlan), applied]) {
    const text = [...format.report(report, presentation)].join('').replaceAll('`', '');
    expect(text.includes('voxform import Webhook/events ID -w staging')).toBe(name !== 'json');
    expect(text.includes('"action": "resolve_not_created"')).toBe(name === 'json');
  }
});

const steps: NextStep[] = [
  { action: 'import', address, id: null, reason: 'found' },
  { action: 'wait' },
  { action: 'resolve_not_created', address },
];

it('is one of several sentences, of which only the last may end in a bare command', () => {
  expect(withSteps('It is open.', { steps }, undefined)).toBe(
    'It is open. If you find it in the dashboard: voxform import Agent/day ID; if the platform lags or has a fault: wait. When it returns the record again, the plan is clean. If it is missing: voxform state resolve Agent/day --not-created',
  );
});

it('follows a warning, and the hint of an error', () => {
  const next: NextStep[] = [{ action: 'retry_ignored', path: 'name' }];
  expect(remarkText({ message: 'Ignored.', next }, undefined)).toBe(
    'Ignored. Change the manifest, or resend it with --retry-ignored.',
  );
  expect(remarkText({ message: 'no full stop' }, undefined)).toBe('no full stop');
  expect(helpText({ hint: 'Check the key.', next: [{ action: 'save_plan' }] }, STAGING)).toBe(
    'Check the key. Save a new plan: voxform plan --out FILE -w staging',
  );
  expect(helpText({ hint: 'Check the key.' }, STAGING)).toBe('Check the key.');
  expect(helpText({}, STAGING)).toBeUndefined();
  expect(guardText({ guard: 'owner_change', message: 'no owner' })).toBe('no owner (override: --allow-owner-change)');
});

it.each([
  [
    { member: 'voices/acme:test' },
    'Review with voxform fleet exec voices/acme:test -- plan --out FILE, not with voxform init. No voxform is running.',
  ],
  [STAGING, 'Review with voxform plan --out FILE -w staging, not with voxform init. No voxform is running.'],
])('adds a workspace reached by %j to the commands of a hint', (selection, text) => {
  const hint = advice`Review with ${command('plan --out FILE')}, not with voxform init. No voxform is running.`;
  expect(helpText(new UserError('no', { hint }), selection)).toBe(text);
  expect(helpText({}, selection)).toBeUndefined();
});
