import { describe, expect, it } from 'vitest';
import { holdMessage } from '../../src/operator/messages.ts';
import { requestWriter } from '../../src/output/request-text.ts';
import { advice, adviceText, command } from '../../src/problems/user-error.ts';
import { commandFor } from '../../src/problems/workspace-command.ts';
import { plan, resource } from './sample-plan.ts';

/** Folders of a source repository name the workspaces of a fleet, and people paste what voxform prints. */
describe('a command for a workspace of a fleet', () => {
  it.each([
    { address: 'cc/clinic:prod', word: 'cc/clinic:prod', reason: 'is no more than letters and marks' },
    { address: 'cc/a$&b:prod', word: "'cc/a$&b:prod'", reason: 'has what a replacement expands' },
    { address: 'cc/my project:prod', word: "'cc/my project:prod'", reason: 'has a space' },
    { address: 'cc/$(id):prod', word: "'cc/$(id):prod'", reason: 'has a command of its own' },
    { address: "cc/it's:prod", word: String.raw`'cc/it'\''s:prod'`, reason: 'has a quote' },
  ])('keeps $address one word: it $reason', ({ address, word }) => {
    const selection = { member: address };
    expect(commandFor('voxform apply', selection)).toBe(`voxform fleet exec ${word} -- apply`);
    const hint = advice`Run ${advice`${command('plan')} for ${'voxform plan.yaml'}`}.`;
    expect(adviceText(hint, selection), 'other text as it is').toBe(
      `Run voxform fleet exec ${word} -- plan for voxform plan.yaml.`,
    );
    const hold = { reason: 'approval', address, digest: '0123456789abcdef' } as const;
    expect(holdMessage(hold, '1 to create', undefined)).toContain(`voxform fleet approve ${word} 0123456789ab`);
  });

  it('is what a request that accepts its drift names', () => {
    const drift = plan([resource('Agent/day', { action: 'update' })]);
    const text = requestWriter.text({ drift, refused: [], selection: { member: 'cc/clinic:prod' } });
    expect(text).toContain('close it and run <code>voxform fleet exec cc/clinic:prod -- apply</code>');
  });
});
