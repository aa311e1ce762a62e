import { describe, expect, it } from 'vitest';
import { githubCommand } from '../../src/output/diagnostics.ts';
import { hostilePlan } from './hostile-plan.ts';
import { planGithub } from './rendered.ts';
import { richPlan } from './sample-plan.ts';
import { unsafe } from './sample-styles.ts';

describe('plan as GitHub annotations', () => {
  it('puts manual steps first, each beside its manifest', () => {
    const lines = planGithub(richPlan).split('\n');
    expect(lines.slice(0, 3)).toMatchInlineSnapshot(`
      [
        "::warning title=voxform%3A guard::WorkspaceUser/ben is a workspace owner, and its role would change (override: --allow-owner-change)",
        "::warning file=manifests/numbers.yaml,line=12,title=voxform%3A manual PhoneNumber/main::the API cannot change this; 1 field: nickname; In the dashboard, rename number +4930999999 to "Main line".",
        "::warning file=manifests/users.yaml,line=17,title=voxform%3A manual WorkspaceUser/carla::not in the workspace yet; In the dashboard, invite carla@example.com to the workspace.",
      ]
    `);
    expect(lines.filter((line) => line.startsWith('::notice file'))[0]).toMatchInlineSnapshot(
      `"::notice file=manifests/agents.yaml,line=3,title=voxform%3A create Agent/billing::not in the workspace yet"`,
    );
    const levels = lines.map((line) => /^::(\w+)/.exec(line)?.[1]).filter(Boolean);
    expect(levels.indexOf('notice')).toBeGreaterThan(levels.indexOf('warning'));
  });

  it('has one command per line, regardless of the texts', () => {
    const lines = planGithub(hostilePlan()).trimEnd().split('\n');
    for (const line of lines) {
      expect(line).toMatch(/^::(notice|warning) [^:]*::/);
      expect(line).not.toMatch(unsafe);
    }
  });

  it.each([
    { reason: 'a colon in a property', place: { title: 'a:b,c' }, command: '::notice title=a%3Ab%2Cc::m\n' },
    { reason: 'an unknown position', place: {}, command: '::notice::m\n' },
    {
      reason: 'a percent sign',
      place: { file: '100%', line: 1 },
      command: '::notice file=100%25,line=1::m\n',
    },
  ])('escapes $reason', ({ place, command }) => {
    expect(githubCommand('notice', place, 'm')).toBe(command);
  });
});
