import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlannedResource } from '../../src/engine/plan/plan-document.ts';
import { hostilePlan } from './hostile-plan.ts';
import { planText } from './rendered.ts';
import { change, plan, resource, richPlan } from './sample-plan.ts';
import { colorStyle, forged, named, plainStyle, unsafe, widest } from './sample-styles.ts';

const shown = (resources: readonly PlannedResource[], options = {}) => planText(plan(resources), plainStyle(), options);

const words = ['uh-huh', 'yeah', 'right', 'I see', 'sure', 'of course', 'absolutely, go on please'];

describe('plan as text', () => {
  it('is readable at 80 columns', () => {
    expect(planText(richPlan, plainStyle())).toMatchInlineSnapshot(`
      "Workspace staging 01JWORKSPACE0000000000000A at https://staging.example.com

      Create (2): not in the workspace yet

        + Agent/billing  manifests/agents.yaml:3
            llm_config.api_key:            (secret #1)
            llm_config.knowledge_base_ids: [01JKB000000000000000000001]
            llm_config.model:              gpt-4o
            llm_config.tools:
              | - type: transfer
              |   to: "+4915112345"
              |   when: the caller asks for a person
              |   notify: true
              | … 3 more lines
            name:                          Billing
            prompt_config.prompt:
              | You are the support line of Acme.
              | Answer in one or two sentences.
              |
              | ## Opening hours
              | … 8 more lines
            prompt_config.welcome_message: null

        + PhoneNumber/hotline  manifests/numbers.yaml:1
            inbound_agent_id: (id of Agent/billing, known after apply)  (manual step)
            nickname:         Hotline
            number:           "+4930123456"
            [ ] In the dashboard, set the inbound agent of number +4930123456 to the
                agent Agent/billing.

      Import (1): exists on the platform, not managed yet
        = WorkspaceUser/anna  01JUSER0000000000000000001  manifests/users.yaml:1

      Update (2)

        ~ Agent/support-line  01JAGENT000000000000000002  manifests/agents.yaml:31
            knowledge_base_config.chunks_to_retrieve: 3 -> 5  (unverified)
            llm_config.api_key:                       (secret #2) -> (secret #1)
            llm_config.endpoint:
              | - https://eu.models.example.com/deployments/support-2024-11
              | + https://eu.models.example.com/deployments/support
            llm_config.temperature:                   0.7 -> 0.2  (drifted)
            prompt_config.prompt:  (overwrites someone else's change)
              | @@ Opening hours, line 5 @@
              | - Monday to Friday, 9 to 17.
              | + Monday to Saturday, 9 to 18.
              | @@ Closing, line 12 @@
              | - Thank the caller.
              | + Thank the caller, and say goodbye by name.
            tts_config.speed:                         (not shown) -> "1.1"
            # no longer managed: tts_config.emotion
            # answers +4930999999 (Main), +4930123
            # calls from +4930999999 (Main)
            # its draft is newer than its published version 2

        ~ WorkspaceUser/ben  (imported)  01JUSER0000000000000000002
            manifests/users.yaml:9
            # exists on the platform and differs from the manifest
            modules: [agents, analytics] -> [agents]
            role:    owner -> admin

      Replace (1)

      -/+ Webhook/calls  01JWEBHOOK0000000000000001  manifests/webhooks.yaml:1
            # retries cannot be updated: a new record replaces
              01JWEBHOOK0000000000000001, which stays on the platform until you delete
              it
            retries: 3 -> 5

      Forget (1): no longer declared; existing records stay as orphans
        . Agent/old-line  01JAGENT000000000000000001

      Manual (2): the API cannot do these; do them in the dashboard

        ! PhoneNumber/main  01JNUMBER00000000000000001  manifests/numbers.yaml:12
            # the API cannot change this
            nickname: Main -> Main line
            [ ] In the dashboard, rename number +4930999999 to "Main line".

        ! WorkspaceUser/carla  manifests/users.yaml:17
            # not in the workspace yet
            [ ] In the dashboard, invite carla@example.com to the workspace.

      Blocked (1): left unchanged until you decide

        x Webhook/audit  01JWEBHOOK0000000000000002  manifests/webhooks.yaml:14
            # timeout cannot be updated
            timeout: 10 -> 20
            [ ] To replace it, set metadata.replace: allow, or run this
                (01JWEBHOOK0000000000000002 stays active until you delete it): voxform
                apply --allow-replace Webhook/audit

      Unknown (1)

        ? Webhook/events  manifests/webhooks.yaml:27
            # the create sent at 2030-01-02T03:04:05.000Z was not confirmed: the
              record may or may not exist
            [ ] If you find it in the dashboard: voxform import Webhook/events ID
            [ ] If it is missing: voxform state resolve Webhook/events --not-created

      Renamed (1)
          Agent/reception  (was Agent/front-desk)  01JAGENT000000000000000001
            manifests/agents.yaml:3

      Notes
        - Agent/reception: its draft is newer than its published version 4

      Guards: apply refuses this plan
        x WorkspaceUser/ben is a workspace owner, and its role would change (override:
          --allow-owner-change)

      Warnings
        ! Agent/support-line: tts_config.emotion was removed from the manifest and is
          no longer sent. The platform does not return it, and may erase it when
          tts_config is resent.
        ! Webhook/calls: 01JWEBHOOK0000000000000001 stays active and becomes an
          orphan: delete it in the dashboard
        ! the state file is tracked by Git and no remote backend is configured

      Plan: 2 to create, 2 to update, 1 to replace, 1 to import, 1 to forget, 1 to
      rename.
      2 manual, 1 blocked, 1 unknown, 1 manual afterwards, 1 unchanged.
      "
    `);
  });

  it('has colors if the style requires it, with the same text', () => {
    const update = plan([
      resource('Agent/support-line', {
        action: 'update',
        changes: [
          change('llm_config.temperature', { before: 0.7, after: 0.2, cause: 'drift' }),
          change('prompt_config.prompt', { before: 'One.\nTwo.', after: 'One.\nThree.' }),
        ],
      }),
    ]);
    expect(named(planText(update, colorStyle()))).toMatchInlineSnapshot(`
      "Workspace staging ‹dim›01JWORKSPACE0000000000000A at https://staging.example.com‹/›

      ‹bold›Update (1)‹/›

      ‹yellow›  ~‹/› ‹bold›Agent/support-line‹/›  ‹dim›01JAGENT000000000000000001‹/›  ‹dim›manifests/agents.yaml:3‹/›
            llm_config.temperature: ‹red›0.7‹/› ‹dim›->‹/› ‹green›0.2‹/›  ‹yellow›(drifted)‹/›
            prompt_config.prompt:
              ‹dim›|‹/›   One.
              ‹dim›|‹/› ‹red›- Two.‹/›
              ‹dim›|‹/› ‹green›+ Three.‹/›

      ‹bold›Plan: 1 to update.‹/›
      "
    `);
    const plainText = named(planText(richPlan, colorStyle())).replace(/‹[^›]*›/g, '');
    expect(plainText).toBe(planText(richPlan, plainStyle()));
  });

  it('fits any width', () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 200 }), fc.boolean(), (width, verbose) => {
        expect(widest(planText(richPlan, plainStyle(width), { verbose }))).toBeLessThanOrEqual(width);
      }),
      { numRuns: 40 },
    );
  });

  it('counts unchanged resources, and lists them only on request', () => {
    const unchanged = [resource('Agent/a'), resource('Agent/b', { unverified: ['llm_config.tools'] })];
    expect(shown(unchanged)).toMatchInlineSnapshot(`
      "No changes. 2 resources are in sync (1 field unverified).
      "
    `);
    expect(shown(unchanged, { verbose: true })).toMatchInlineSnapshot(`
      "Workspace staging 01JWORKSPACE0000000000000A at https://staging.example.com

      Unchanged (2)
          Agent/a  01JAGENT000000000000000001  manifests/agents.yaml:3
          Agent/b  01JAGENT000000000000000001  manifests/agents.yaml:3
            # 1 field unverified: llm_config.tools

      No changes. 2 resources are in sync (1 field unverified).
      "
    `);
  });

  it.each([
    { reason: 'no resource', resources: [], text: 'No changes. No resources are declared.\n' },
    { reason: 'one in sync', resources: [resource('Agent/a')], text: 'No changes. 1 resource is in sync.\n' },
    {
      reason: 'only manual steps',
      resources: [resource('Agent/a', { action: 'unknown', id: null })],
      text: /\n\nNo changes to apply\. 1 unknown\.\n$/,
    },
  ])('ends with a count: $reason', ({ resources, text }) => {
    if (typeof text === 'string') expect(shown(resources)).toBe(text);
    else expect(shown(resources)).toMatch(text);
  });

  it('reports that nothing was read', () => {
    expect(planText(plan([], { refreshed: false }), plainStyle())).toMatch(/^Made with --no-refresh/);
  });

  it('shows long texts in full on request', () => {
    const lines = Array.from({ length: 40 }, (_, index) => `Line ${index}.`);
    const created = [
      resource('Agent/a', {
        action: 'create',
        id: null,
        changes: [change('name', { after: lines.join('\n') })],
      }),
    ];
    expect(shown(created)).toMatch(/Line 3\.\n.*36 more lines/);
    expect(shown(created)).not.toContain('Line 4.');
    expect(shown(created, { verbose: true })).toContain('| Line 39.');
  });

  it.each([
    { reason: 'one item remains', after: ['yeah'], kept: ['yeah'], went: 6 },
    { reason: 'no item remains', after: [], kept: [], went: 7 },
    { reason: 'many items remain', after: words.slice(0, 6), kept: ['sure', 'of course'], went: 1 },
  ])('shows the items of a list that shrinks: $reason', ({ after, kept, went }) => {
    const text = shown([
      resource('Agent/a', { action: 'update', changes: [change('backchannel', { before: words, after })] }),
    ]);
    for (const word of kept) expect(text).toContain(`|   - ${word}\n`);
    expect(text.match(/\| - - /g)).toHaveLength(went);
    expect(text.includes('| + []')).toBe(after.length === 0);
  });

  it('numbers secrets, so that equal ones can be recognized, and reveals nothing else', () => {
    const text = shown([
      resource('Agent/a', {
        action: 'update',
        changes: [change('llm_config.api_key', { sensitive: true, fingerprints: { before: 'f1', after: 'f2' } })],
      }),
      resource('Agent/b', {
        action: 'create',
        id: null,
        changes: [
          change('llm_config.api_key', { sensitive: true, fingerprints: { after: 'f2' } }),
          change('llm_config.tools', { after: [{ token: { $secret: 'TOKEN' } }] }),
        ],
      }),
    ]);
    expect(text.match(/\(secret[^)]*\)/g)).toEqual(['(secret #1)', '(secret)', '(secret #2)', '(secret #1)']);
    expect(text).not.toMatch(/f1|f2|TOKEN/);
  });

  it('lets no external text control the terminal or begin a line', () => {
    const text = planText(hostilePlan(), plainStyle(), { verbose: true });
    expect(text).not.toMatch(unsafe);
    expect(text).not.toMatch(forged);
  });
});
