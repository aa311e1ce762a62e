import { describe, expect, it } from 'vitest';
import type { ApplyReport, ResourceResult } from '../../src/engine/apply/apply-report.ts';
import { applyDocument, applyJson } from '../../src/output/apply-json.ts';
import { jsonText } from '../../src/output/json-text.ts';
import { inDashboard } from '../step-texts.ts';
import { hostilePlan } from './hostile-plan.ts';
import { agents } from './many-resources.ts';
import { applyGithub, applyHtml, applyMarkdown, applyText } from './rendered.ts';
import { plan, resource, richPlan } from './sample-plan.ts';
import { evil, forged, plainStyle, unsafe, widest } from './sample-styles.ts';

const results = new Map<string, ResourceResult>([
  [
    'Agent/billing',
    { status: 'failed', error: 'POST /agents: 422 name is taken', hint: 'Change name in the manifest.' },
  ],
  ['Agent/old-line', { status: 'done', id: null }],
  ['Agent/support-line', { status: 'done', id: '01JAGENT000000000000000002' }],
  ['PhoneNumber/hotline', { status: 'skipped', because: 'Agent/billing failed' }],
  ['Webhook/calls', { status: 'done', id: '01JWEBHOOK0000000000000009' }],
  ['WorkspaceUser/anna', { status: 'done', id: '01JUSER0000000000000000001' }],
  ['WorkspaceUser/ben', { status: 'done', id: '01JUSER0000000000000000002' }],
]);

const report: ApplyReport = { plan: richPlan, results, warnings: richPlan.warnings, interrupted: undefined };

describe('apply as text', () => {
  it('summarizes many updates in a paragraph, and lists each new id', () => {
    const many = (action: 'create' | 'update'): ApplyReport => {
      const resources = agents(20, () => ({ action }));
      const done = resources.map(({ address, id }) => [address, { status: 'done', id }] as const);
      return { plan: plan(resources), results: new Map(done), warnings: [], interrupted: undefined };
    };
    const updated = applyText(many('update'), plainStyle());
    expect(updated).toMatch(/^ {2}~ 20 updated:\n {6}Agent\/branch-000, [^.]+ and\s+8\s+more\n\nApplied/);
    for (const text of [
      applyText(many('create'), plainStyle()),
      applyText(many('update'), plainStyle(), { full: true }),
    ])
      for (const { address, id } of many('create').plan.resources)
        expect(text).toMatch(`${address}  ${text.includes('created') ? 'created' : 'updated'}  ${id}`);
  });

  it('gives the shared reason of several skipped resources once', () => {
    const resources = agents(20, () => ({ action: 'create' }));
    const skipped = resources.map(({ address }) => [address, { status: 'skipped', because: 'x' }] as const);
    const given = { plan: plan(resources), results: new Map(skipped), warnings: [], interrupted: undefined };
    expect(applyText(given, plainStyle())).toMatch(/ {2}- Agent\/branch-000, [^:]+ and\s+8\s+more [^:]+: x\n/);
    expect(applyText(given, plainStyle(), { full: true })).toContain('  - Agent/branch-019: x\n');
  });

  it('lists applied, failed, skipped and remaining changes, with the reasons of failures', () => {
    const text = applyText({ ...report, warnings: [] }, plainStyle());
    expect(text).toMatchInlineSnapshot(`
      "  = WorkspaceUser/anna  imported   01JUSER0000000000000000001
        ~ Agent/support-line  updated    01JAGENT000000000000000002
        ~ WorkspaceUser/ben   updated    01JUSER0000000000000000002
      -/+ Webhook/calls       replaced   01JWEBHOOK0000000000000009
        . Agent/old-line      forgotten  01JAGENT000000000000000001

      Skipped
        - PhoneNumber/hotline: Agent/billing failed

      Failed
        x Agent/billing  manifests/agents.yaml:3
          POST /agents: 422 name is taken
          hint: Change name in the manifest.

      Remaining steps
        ! PhoneNumber/main
          [ ] In the dashboard, rename number +4930999999 to "Main line".
        ! WorkspaceUser/carla
          [ ] In the dashboard, invite carla@example.com to the workspace.
        x Webhook/audit  blocked
          timeout cannot be updated
          [ ] To replace it, set metadata.replace: allow, or run this
              (01JWEBHOOK0000000000000002 stays active until you delete it): voxform
              apply --allow-replace Webhook/audit
        ? Webhook/events  unknown
          the create sent at 2030-01-02T03:04:05.000Z was not confirmed: the record
          may or may not exist
          [ ] If you find it in the dashboard: voxform import Webhook/events ID
          [ ] If it is missing: voxform state resolve Webhook/events --not-created

      1 record stays as an orphan: voxform orphans

      Applied: 1 renamed, 1 imported, 2 updated, 1 replaced, 1 forgotten, 1 failed, 1
      skipped.
      2 manual, 1 blocked, 1 unknown.
      "
    `);
    expect(widest(text)).toBeLessThanOrEqual(80);
  });

  it('lists manual steps after a create', () => {
    const created = resource('PhoneNumber/a', {
      action: 'create',
      id: null,
      steps: [inDashboard('Link it.')],
    });
    const done = new Map<string, ResourceResult>([['PhoneNumber/a', { status: 'done', id: '1' }]]);
    const text = applyText({ ...report, plan: plan([created]), results: done, warnings: [] }, plainStyle());
    expect(text).toBe(`  + PhoneNumber/a  created  1

Remaining steps
  ! PhoneNumber/a
    [ ] Link it.

Applied: 1 created. 1 manual.
`);
  });

  it('reports an interruption, and that there was nothing to do', () => {
    const nothing = { ...report, plan: plan([]), results: new Map(), warnings: [] };
    expect(applyText(nothing, plainStyle())).toBe('Nothing to apply.\n');
    expect(applyText({ ...nothing, interrupted: 'SIGTERM' }, plainStyle())).toMatch(/^Interrupted by SIGTERM\./);
  });

  it('lets no external text control the terminal or begin a line', () => {
    const { resources } = hostilePlan();
    const all = new Map(
      resources.map(({ address }, index): [string, ResourceResult] => [
        address,
        index === 0 ? { status: 'failed', error: evil, hint: evil } : { status: 'skipped', because: evil },
      ]),
    );
    const text = applyText(
      { ...report, plan: hostilePlan(), results: all, warnings: [{ address: null, message: evil }] },
      plainStyle(),
    );
    expect(text).not.toMatch(unsafe);
    expect(text).not.toMatch(forged);
  });
});

describe('apply as a comment, as annotations and as a page', () => {
  it('lists failed and skipped changes first, and shows no check mark for them', () => {
    const text = applyMarkdown({ ...report, interrupted: 'SIGTERM' });
    expect(text.slice(0, text.indexOf('- **Warning'))).toMatchInlineSnapshot(`
      "### voxform apply for <code>staging</code>

      **Applied: 1 imported, 2 updated, 1 replaced, 1 forgotten, 1 failed, 1 skipped. 2 manual, 1 blocked, 1 unknown.**

      - **Interrupted by SIGTERM. Requests in flight were finished; run apply again for the rest.**
      - **Failed:** <code>Agent/billing</code>: POST /agents: 422 name is taken (Change name in the manifest.)
      - **Skipped:** <code>PhoneNumber/hotline</code>: Agent/billing failed

      "
    `);
    expect(text).toContain('| <code>&#126;</code> | <code>Agent/support-line</code> | updated |');
    expect(text).toContain('| <code>x</code> | <code>Agent/billing</code> | failed |');
    expect(text).not.toContain('Apply refuses this plan');
  });

  it('puts an error beside the manifest of the failed resource', () => {
    const lines = applyGithub(report).trimEnd().split('\n');
    expect(lines[0]).toBe(
      '::error file=manifests/agents.yaml,line=3,title=voxform%3A failed Agent/billing::POST /agents: 422 name is taken; Change name in the manifest.',
    );
    const levels = lines.map((line) => /^::(\w+)/.exec(line)?.[1]);
    expect(levels.indexOf('notice')).toBeGreaterThan(levels.lastIndexOf('warning'));
    expect(levels.filter((level) => level === 'notice')).toHaveLength(6);
  });

  it('has a group for each outcome', () => {
    const headings = [...applyHtml(report).matchAll(/<h2>([^<]*)/g)].map(([, heading]) => heading?.trim());
    expect(headings).toEqual([
      'Failed (1)',
      'Skipped (1)',
      'Done (5)',
      'Manual (2)',
      'Blocked (1)',
      'Unknown (1)',
      'Unchanged (2)',
      'References',
    ]);
  });

  it('shows external text as text', () => {
    const all = new Map(
      hostilePlan().resources.map(({ address }): [string, ResourceResult] => [
        address,
        { status: 'failed', error: evil, hint: evil },
      ]),
    );
    const hostile = {
      ...report,
      plan: hostilePlan(),
      results: all,
      warnings: [{ address: evil, message: evil }],
    };
    for (const text of [applyMarkdown(hostile), applyGithub(hostile), applyHtml(hostile)]) {
      expect(text).not.toMatch(unsafe);
      expect(text).not.toMatch(/^\+ Agent|^::error::forged/m);
    }
  });
});

describe('apply as JSON', () => {
  it("contains the plan's document with the results, new ids, and the warnings of the responses", () => {
    const warnings = [{ address: 'Agent/a', message: 'the platform changed name' }];
    const document = applyJson({ ...report, warnings, interrupted: 'SIGINT' });
    const of = (address: string) => document.resources.find((each) => each.address === address);
    expect(of('Agent/billing')).toMatchObject({
      result: 'failed',
      error: 'POST /agents: 422 name is taken',
      hint: 'Change name in the manifest.',
    });
    expect(of('PhoneNumber/hotline')).toMatchObject({ result: 'skipped', because: 'Agent/billing failed' });
    expect(of('Webhook/calls')).toMatchObject({ result: 'done', id: '01JWEBHOOK0000000000000009' });
    expect(of('Agent/old-line')).toMatchObject({ result: 'done', id: '01JAGENT000000000000000001' });
    expect(of('Agent/sales')).not.toHaveProperty('result');
    expect([document.warnings, document.interrupted]).toEqual([warnings, 'SIGINT']);
    expect(applyDocument.parse(JSON.parse(jsonText(document)))).toEqual(document);
  });

  it('does not contain the digest of the plan, because it differs from the plan', () => {
    expect(applyJson({ ...report, plan: { ...richPlan, digest: 'd' } })).not.toHaveProperty('digest');
  });
});

describe('JSON text', () => {
  it('contains no control characters and parses to the same value', () => {
    const text = jsonText({ text: evil, nested: [{ [evil]: evil }] });
    expect(text).not.toMatch(unsafe);
    expect(JSON.parse(text)).toEqual({ text: evil, nested: [{ [evil]: evil }] });
    expect(text.endsWith('}\n')).toBe(true);
  });
});

describe('apply that was stopped early', () => {
  const because = '3 creates in a row are unknown';
  const skipped = new Map<string, ResourceResult>([...results, ['Agent/support-line', { status: 'skipped', because }]]);
  const stopped: ApplyReport = { ...report, results: skipped, halted: because };

  it('gives the reason in every format', () => {
    const said = `Stopped early: ${because}. Run plan before you apply again.`;
    expect(applyText(stopped, plainStyle()).replace(/\s+/g, ' ')).toContain(said);
    for (const text of [applyMarkdown(stopped), applyHtml(stopped), applyGithub(stopped)]) expect(text).toContain(said);
    expect(applyDocument.parse(applyJson(stopped)).halted).toBe(because);
  });

  it("reports the state's error once, and counts existing and unsent changes separately", () => {
    const because = 'the state could not be written';
    const resources = agents(30, () => ({ action: 'create', id: null }));
    const ended = resources.map(({ address }, index): [string, ResourceResult] => {
      if (index < 10) return [address, { status: 'done', id: `ID${index}` }];
      if (index >= 20) return [address, { status: 'skipped', because }];
      const next = [{ action: 'import', address, id: `ID${index}`, reason: 'unsaved' }] as const;
      return [address, { status: 'failed', error: `${address} exists as ID${index}`, next }];
    });
    const given: ApplyReport = {
      plan: plan(resources),
      results: new Map(ended),
      warnings: [],
      interrupted: undefined,
      halted: because,
      stateError: 'cannot reach the state S',
    };
    const text = applyText(given, plainStyle());
    expect(text).toContain('Applied: 10 created, 10 created but not recorded, 10 skipped.');
    expect(text.split('cannot reach')).toHaveLength(2);
    expect(text).not.toContain('Failed');
    for (const { address } of resources.slice(10, 20)) expect(text).toContain(`    voxform import ${address} ID`);
    expect(text.split('\n').length).toBeLessThan(40);
    expect(applyDocument.parse(applyJson(given)).halted).toBe(`${because}: cannot reach the state S`);
  });

  it('omits the counts if nothing is missing', () => {
    expect(applyText({ ...stopped, results }, plainStyle())).not.toContain('Stopped early');
    expect(applyJson({ ...stopped, results }).halted).toBeUndefined();
  });
});
