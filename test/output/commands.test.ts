import { describe, expect, it } from 'vitest';
import { execPrefix } from '../../src/fleet/addresses.ts';
import { holdMessage } from '../../src/operator/messages.ts';
import { commandFor, commandsIn } from '../../src/problems/workspace-command.ts';

/** Folders of a source repository name the workspaces of a fleet, and people paste what voxform prints. */
describe('a command for a workspace of a fleet', () => {
  it.each([
    { address: 'cc/clinic:prod', word: 'cc/clinic:prod', reason: 'is no more than letters and marks' },
    { address: 'cc/a$&b:prod', word: "'cc/a$&b:prod'", reason: 'has what a replacement expands' },
    { address: 'cc/my project:prod', word: "'cc/my project:prod'", reason: 'has a space' },
    { address: 'cc/$(id):prod', word: "'cc/$(id):prod'", reason: 'has a command of its own' },
    { address: "cc/it's:prod", word: String.raw`'cc/it'\''s:prod'`, reason: 'has a quote' },
  ])('keeps $address one word: it $reason', ({ address, word }) => {
    const reached = `fleet exec ${word} --`;
    expect(execPrefix(address)).toBe(reached);
    expect(commandFor('voxform apply', reached)).toBe(`voxform ${reached} apply`);
    expect(commandsIn('Run voxform plan.', reached)).toBe(`Run voxform ${reached} plan.`);
    const hold = { why: 'approval', address, digest: '0123456789abcdef' } as const;
    expect(holdMessage(hold, '1 to create', '')).toContain(`voxform fleet approve ${word} 0123456789ab`);
  });
});
