import { describe, expect, it } from 'vitest';
import { holdMessage } from '../../src/operator/messages.ts';
import { requestWriter } from '../../src/output/request-text.ts';
import { advice, adviceText, command } from '../../src/problems/user-error.ts';
import { commandFor } from '../../src/problems/workspace-command.ts';
import { plan, resource } from './sample-plan.ts';

/** Workspace names of a fleet come from folders of a source repository, and people paste printed commands. */
describe('command for a workspace of a fleet', () => {
  it.each([
    { address: 'cc/clinic:prod', word: 'cc/clinic:prod', reason: 'contains only letters and marks' },
    { address: 'cc/a$&b:prod', word: "'cc/a$&b:prod'", reason: 'contains syntax that a replacement expands' },
    { address: 'cc/my project:prod', word: "'cc/my project:prod'", reason: 'contains a space' },
    { address: 'cc/$(id):prod', word: "'cc/$(id):prod'", reason: 'contains another command' },
    { address: "cc/it's:prod", word: String.raw`'cc/it'\''s:prod'`, reason: 'contains a quote' },
  ])('keeps $address one word: it $reason', ({ address, word }) => {
    const selection = { member: address };
    expect(commandFor('voxform apply', selection)).toBe(`voxform fleet exec ${word} -- apply`);
    const hint = advice`Run ${advice`${command('plan')} for ${'voxform plan.yaml'}`}.`;
    expect(adviceText(hint, selection), 'other text is unchanged').toBe(
      `Run voxform fleet exec ${word} -- plan for voxform plan.yaml.`,
    );
    const hold = { reason: 'approval', address, digest: '0123456789abcdef' } as const;
    expect(holdMessage(hold, '1 to create', undefined)).toContain(`voxform fleet approve ${word} 0123456789ab`);
  });

  it('is named by a request that accepts drift', () => {
    const drift = plan([resource('Agent/day', { action: 'update' })]);
    const text = requestWriter.text({ drift, refused: [], selection: { member: 'cc/clinic:prod' } });
    expect(text).toContain('close it and run <code>voxform fleet exec cc/clinic:prod -- apply</code>');
  });
});
