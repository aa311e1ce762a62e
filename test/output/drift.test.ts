import { describe, expect, it } from 'vitest';
import { inDashboard } from '../step-texts.ts';
import { hostilePlan } from './hostile-plan.ts';
import { driftGithub, driftMarkdown, driftText } from './rendered.ts';
import { change, plan, resource } from './sample-plan.ts';
import { forged, plainStyle, unsafe } from './sample-styles.ts';

const drift = plan([
  resource('Agent/in-sync'),
  resource('Agent/support-line', {
    action: 'update',
    reason: 'the platform drifted from the manifest',
    changes: [
      change('llm_config.temperature', { before: 0.7, after: 0.2, cause: 'drift' }),
      change('prompt_config.prompt', { before: 'Be kind.\nBe brief.', after: 'Be kind.', cause: 'both' }),
      change('tts_config.speed', { after: '1.1', cause: 'drift' }),
    ],
  }),
  resource('PhoneNumber/main', {
    action: 'manual',
    steps: [inDashboard('In the dashboard, rename number +4930999999 to "Main".')],
    changes: [change('nickname', { before: 'Mine', after: 'Main', cause: 'drift', manual: true })],
  }),
  resource('Agent/lost', {
    action: 'blocked',
    missing: true,
    reason: 'its record 01J is missing from the platform',
  }),
]);

describe('drift', () => {
  it('is shown from the manifest to the platform, without suggestions', () => {
    expect(driftText(drift, plainStyle())).toMatchInlineSnapshot(`
      "Workspace staging 01JWORKSPACE0000000000000A at https://staging.example.com

      Drifted (2): from the manifest to the current value on the platform

        ~ Agent/support-line  01JAGENT000000000000000001  manifests/agents.yaml:3
            llm_config.temperature: 0.2 -> 0.7
            prompt_config.prompt:  (the manifest changed too)
              |   Be kind.
              | + Be brief.
            tts_config.speed:       "1.1" -> (not set)

        ~ PhoneNumber/main  01JAGENT000000000000000001  manifests/agents.yaml:3
            nickname: Main -> Mine

      Missing (1): the platform has no such record
        - Agent/lost  01JAGENT000000000000000001  manifests/agents.yaml:3

      Drift: 2 resources drifted, 1 missing. 1 in sync.
      "
    `);
  });

  it('is empty if nothing changed', () => {
    expect(driftText(plan([resource('Agent/a')]), plainStyle())).toBe('No drift. 1 resource in sync.\n');
  });

  it('as Markdown', () => {
    expect(driftMarkdown(drift)).toMatchInlineSnapshot(`
      "### voxform drift for <code>staging</code>

      **Drift: 2 resources drifted, 1 missing. 1 in sync.**

      | | Resource | Action | Source |
      | --- | --- | --- | --- |
      | <code>&#126;</code> | <code>Agent/support-line</code> | drifted | <code>manifests/agents.yaml:3</code> |
      | <code>&#126;</code> | <code>PhoneNumber/main</code> | drifted | <code>manifests/agents.yaml:3</code> |
      | <code>-</code> | <code>Agent/lost</code> | missing | <code>manifests/agents.yaml:3</code> |

      <details>
      <summary><code>Agent/support-line</code>: drifted, 3 fields</summary>

      the platform drifted from the manifest; id 01JAGENT000000000000000001

      \`\`\`diff
      - llm_config.temperature: 0.2
      + llm_config.temperature: 0.7
      @@ prompt_config.prompt @@
        Be kind.
      + Be brief.
      # the manifest changed too
      - tts_config.speed: "1.1"
      + tts_config.speed: (not set)
      \`\`\`

      </details>

      <details>
      <summary><code>PhoneNumber/main</code>: drifted, 1 field</summary>

      in sync; id 01JAGENT000000000000000001

      \`\`\`diff
      - nickname: Main
      + nickname: Mine
      \`\`\`

      </details>

      <details>
      <summary><code>Agent/lost</code>: missing</summary>

      its record 01J is missing from the platform; id 01JAGENT000000000000000001

      </details>
      "
    `);
  });

  it('as GitHub annotations', () => {
    expect(driftGithub(drift)).toMatchInlineSnapshot(`
      "::warning file=manifests/agents.yaml,line=3,title=voxform%3A drifted Agent/support-line::3 fields: llm_config.temperature, prompt_config.prompt, tts_config.speed
      ::warning file=manifests/agents.yaml,line=3,title=voxform%3A drifted PhoneNumber/main::1 field: nickname
      ::warning file=manifests/agents.yaml,line=3,title=voxform%3A missing Agent/lost::the platform has no such record
      "
    `);
  });

  it('lets no external text control the terminal or begin a line', () => {
    const text = driftText(hostilePlan(), plainStyle(), { verbose: true });
    expect(text).not.toMatch(unsafe);
    expect(text).not.toMatch(forged);
  });
});
