import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { withDigest } from '../../src/engine/plan/plan-digest.ts';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { apply, loadProject, plan } from '../../src/library.ts';
import type { HistoryDocument } from '../../src/runs/past-runs.ts';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { API_KEY, type TestWorkspace, testWorkspace } from './workspace.ts';

const CALLS_END = `
  - name: calls-end
    kind: Agent
    deny: '!has(spec.call_config.max_call_duration_ms) || spec.call_config.max_call_duration_ms > 1800000'
    message: Calls must end after half an hour.
`;
const AGENTS = `apiVersion: voxform/v1
kind: Agent
metadata: { name: day, labels: { team: sales } }
spec:
  name: Day
  call_config:
    ring_duration_ms: 3000
    max_call_duration_ms: 3600000
---
apiVersion: voxform/v1
kind: Agent
metadata: { name: night }
spec:
  name: Night
  call_config: { max_call_duration_ms: 600000 }
`;

async function project(policies: string, files: Readonly<Record<string, string>> = {}): Promise<TestWorkspace> {
  const w = await testWorkspace({ 'manifests/a.yaml': AGENTS, ...files });
  const file = readFileSync(path.join(w.folder.root, 'voxform.yaml'), 'utf8');
  await w.folder.write('voxform.yaml', policies === '' ? file : `${file}policies:${policies}`);
  return w;
}

/** The line of `policies` in the project file. */
const FIRST = 7;

async function planOf(w: TestWorkspace, ...args: string[]): Promise<PlanDocument> {
  const { stdout } = await w.run('plan', '--output', 'json', ...args);
  const schema = JSON.parse(readFileSync(path.resolve(import.meta.dirname, '../../schemas/plan.schema.json'), 'utf8'));
  const validate = new Ajv2020().compile(schema);
  const document = JSON.parse(stdout) as PlanDocument;
  expect(validate(document), JSON.stringify(validate.errors)).toBe(true);
  return document;
}

describe('validate', () => {
  it('reports a denied resource at the line of the field', async () => {
    await using w = await project(CALLS_END);
    const { stdout, code } = await w.run('validate');
    expect(stdout).toContain('manifests/a.yaml:8:5  calls-end: Calls must end after half an hour (Agent/day)\n');
    expect(stdout).toContain('1 error in 1 file');
    expect(code).toBe(1);
    const { stdout: annotations } = await w.run('validate', '--output', 'github');
    expect(annotations).toContain('::error file=manifests/a.yaml,line=8,col=5,');
    const { stdout: junit } = await w.run('validate', '--output', 'junit', '--all-workspaces');
    expect(junit).toContain(
      '<failure type="policy" message="calls-end: Calls must end after half an hour (Agent/day)">',
    );
  });

  it('reports the line of the overlay that sets the field, and a warning of a rule', async () => {
    await using w = await project(`
  - { name: quick, kind: Agent, warn: 'spec.call_config.max_call_duration_ms < 700000' }
defaults: { Agent: { call_config: { ring_duration_ms: 1 } } }
`);
    const { stdout, code } = await w.run('validate');
    expect(stdout).toContain(
      'manifests/a.yaml:15:18  warning: quick: warn: spec.call_config.max_call_duration_ms < 700000 (Agent/night)',
    );
    expect(code).toBe(0);
  });

  it.each([
    { reason: 'single quotes', text: "deny: 'spec.name == ''a'' || spec.nmae == \"x\"'", at: '2:39' },
    { reason: 'double quotes', text: 'deny: "spec.name == \\"a\\" || spec.nmae == \'x\'"', at: '2:39' },
    { reason: 'plain text', text: 'deny: spec.name == "a" || spec.nmae == "x"', at: '2:36' },
    {
      reason: 'plain text over two lines',
      text: 'deny: spec.name == "a" ||\n      spec.nmae == "x"',
      at: '3:12',
    },
    {
      reason: 'a literal block',
      text: 'deny: |\n      spec.name == "a" ||\n        spec.nmae == "x"',
      at: '4:14',
    },
    {
      reason: 'a folded block',
      text: 'deny: >-\n      spec.name == "a" ||\n\n      spec.nmae == "x"',
      at: '5:12',
    },
  ])('reports the position of an unknown field in $reason', async ({ text, at }) => {
    await using w = await project(`\n  - name: wrong\n    ${text}\n`);
    const [line, column] = at.split(':').map(Number);
    const { stdout, code } = await w.run('validate');
    expect(stdout).toContain(
      `voxform.yaml:${FIRST + (line ?? 0)}:${column}  wrong: unknown field "nmae"; did you mean "name"?`,
    );
    expect(code).toBe(1);
    expect((await w.run('plan')).code).toBe(1);
  });

  it.each([
    {
      rules: "{ name: one, kind: Agnt, deny: 'true' }",
      message: 'one: unknown kind "Agnt"; did you mean "Agent"?',
    },
    { rules: "{ name: one, kind: Agnt, deny: 'foo == 1' }", message: 'one: unknown name "foo"' },
    { rules: "{ name: one, deny: 'true', warn: 'true' }", message: 'policies[0]: expected either deny or warn' },
    {
      rules: "{ name: one, deny: 'true' }, { name: one, warn: 'true' }",
      message: 'two rules are named "one"',
    },
    { rules: '{ name: one, dney: x }', message: 'unknown field "dney"; did you mean "deny"?' },
    { rules: '', message: 'policies must be a list of at least 1 item, got 0' },
    {
      rules: Array.from({ length: 201 }, (_, index) => `{ name: r${index}, deny: 'true' }`).join(', '),
      message: 'policies must be a list of at most 200 items, got 201',
    },
    {
      rules: `{ name: one, on: plan, deny: 'now.getDayOfWeek("Europe/Berln") == 5' }`,
      message: 'one: unknown time zone "Europe/Berln"',
    },
  ])('reports $message', { tags: ['long'] }, async ({ rules, message }) => {
    await using w = await project(` [${rules}]\n`);
    expect((await w.run('validate')).stdout).toContain(message);
    const { stderr, code } = await w.run('apply', '--auto-approve');
    expect([stderr.includes(message), code]).toEqual([true, 1]);
    await using other = await project('');
    await other.folder.write('rules.yaml', `policies: [${rules}]\n`);
    const fromFile = await other.run('plan', '--policy', 'rules.yaml');
    expect(fromFile.stderr).toMatch(/^rules.yaml:1:/);
    expect([fromFile.stderr.includes(message), fromFile.code]).toEqual([true, 1]);
    expect((await other.run('plan', '--policy', 'none.yaml')).stderr).toContain(
      '--policy none.yaml: the file cannot be read: no such file',
    );
  });

  it('reports an invalid condition of one rule together with an unknown key of another', async () => {
    const rules = `
  - { name: one, mesage: x, deny: 'spec.nmae == "x"' }
  - { name: two, deny: 'spec.nmae == "x"' }
  - { name: two, deny: 'spec.nam == "x"' }
`;
    await using w = await project(rules);
    const { stdout } = await w.run('validate');
    await using other = await project('', { 'rules.yaml': `policies:${rules}` });
    const fromFile = await other.run('validate', '--policy', 'rules.yaml');
    for (const [message, file, line] of [
      [stdout, 'voxform.yaml', FIRST],
      [fromFile.stdout + fromFile.stderr, 'rules.yaml', 1],
    ] as const) {
      expect(message).toContain(`${file}:${line + 1}:18  unknown field "mesage"`);
      expect(message).toContain(`${file}:${line + 2}:30  two: unknown field "nmae"`);
      expect(message).toContain(`${file}:${line + 3}:30  two: unknown field "nam"`);
      expect(message).not.toContain('stand-in');
    }
  });

  it('reports invalid rules together with other problems of the project file', async () => {
    await using w = await project(`\n  - { name: one, deny: 'spec.nmae == "x"' }\nlimit: {}\n`);
    for (const args of [['validate'], ['validate', '--all-workspaces'], ['plan']]) {
      const { stdout, stderr } = await w.run(...args);
      expect(stdout + stderr).toContain('voxform.yaml:8:30  one: unknown field "nmae"');
      expect(stdout + stderr).toContain('unknown field "limit"');
    }
  });

  it('denies a resource if a rule cannot be evaluated, with both locations', async () => {
    await using w = await project(`\n  - { name: quiet, deny: 'spec.call_config.ring_duration_ms > 9000' }\n`);
    const { stdout } = await w.run('validate');
    expect(stdout).toContain(
      'manifests/a.yaml:15:3  quiet: cannot be evaluated: spec.call_config.ring_duration_ms is not set; test it first: has(spec.call_config.ring_duration_ms) (voxform.yaml:8:44) (Agent/night)',
    );
  });
});

describe('a denied plan', () => {
  it('is printed in every format and never applied', { tags: ['long'] }, async () => {
    await using w = await project(CALLS_END);
    const text = await w.run('plan');
    expect(text.code).toBe(1);
    expect(text.stdout).toContain(
      'Policies: apply refuses this plan\n  x calls-end: Calls must end after half an hour.\n      Agent/day (manifests/a.yaml:8:5)\n',
    );
    const markdown = (await w.run('plan', '--output', 'markdown')).stdout;
    expect(markdown).toContain(
      '- **Denied by** calls-end: Calls must end after half an hour. <code>Agent/day</code> (<code>manifests/a.yaml:8:5</code>)',
    );
    expect((await w.run('plan', '--output', 'html')).stdout).toContain(
      'Apply refuses this plan: calls-end: Calls must end after half an hour. Agent/day (manifests/a.yaml:8:5)',
    );
    expect((await w.run('plan', '--output', 'github')).stdout).toContain(
      '::error file=manifests/a.yaml,line=8,col=5,title=voxform%3A policy calls-end::Agent/day: Calls must end',
    );
    expect((await planOf(w)).violations).toEqual([
      expect.objectContaining({
        rule: 'calls-end',
        policy_file: 'voxform.yaml',
        severity: 'deny',
        address: 'Agent/day',
        source: { file: 'manifests/a.yaml', line: 8, column: 5 },
        path: 'spec.call_config.max_call_duration_ms',
      }),
    ]);
    const applied = await w.run('apply', '--auto-approve');
    expect(applied.code).toBe(1);
    expect(applied.stderr).toContain('nothing was written: denied by calls-end (Agent/day)');
    expect(applied.stderr).toMatch(/--waive\s+calls-end\s+--because\s+REASON/);
    const saved = await w.run('plan', '--out', 'p.plan');
    expect(saved.stderr).toContain('Plan saved, but apply refuses it. To show it: voxform show p.plan');
    expect((await w.run('apply', 'p.plan', '--auto-approve')).stderr).toContain('denied by calls-end (Agent/day)');
    expect(w.writes()).toBe(0);
  });

  it('is computed from the change, the plan and the time', async () => {
    await using w = await project(`
  - { name: no-create, on: plan, deny: 'resource.action == "create" && plan.summary.create > 1' }
  - { name: new-year, on: plan, warn: 'now > timestamp("2020-01-01T00:00:00Z") && labels.team == "sales"' }
  - { name: typo, on: plan, warn: 'has(labels.team) && resource.action == "adopt"' }
`);
    const { violations = [] } = await planOf(w);
    expect(violations.map(({ rule, address, severity }) => `${rule} ${address} ${severity}`)).toEqual([
      'no-create Agent/day deny',
      'new-year Agent/day warn',
      'no-create Agent/night deny',
      // The label is not set. A rule has to test this.
      'new-year Agent/night deny',
    ]);
  });

  it('needs valid actions in its rules', async () => {
    await using w = await project(`\n  - { name: typo, on: plan, warn: 'resource.action == "crate"' }\n`);
    expect((await w.run('validate')).stdout).toContain('is never "crate"; did you mean "create"?');
    await using early = await project(`\n  - { name: early, warn: 'resource.action == "create"' }\n`);
    expect((await early.run('validate')).stdout).toContain(
      'unknown name "resource"; only rules with on: plan can use it',
    );
  });
});

describe('--waive', () => {
  it('lifts a rule for the resources that it denies now, and is recorded in the history', async () => {
    await using w = await project(CALLS_END);
    const { code } = await w.run('apply', '--auto-approve', '--waive', 'calls-end', '--because', 'a test line');
    expect(code).toBe(0);
    expect(w.emulator.world.agents.size).toBe(2);
    const { runs } = JSON.parse((await w.run('history', '--output', 'json')).stdout) as HistoryDocument;
    expect(runs[0]?.waived).toEqual([
      { rule: 'calls-end', policy_file: 'voxform.yaml', because: 'a test line', addresses: ['Agent/day'] },
    ]);
    const { stdout } = await w.run('history', 'show', runs[0]?.run ?? '');
    expect(stdout).toMatch(/Waived +calls-end \(voxform\.yaml\) for Agent\/day: a test line/);
  });

  it('is saved with a plan, and only valid for its violations', async () => {
    await using w = await project(CALLS_END);
    const waiver = ['--waive', 'calls-end', '--because', 'a test line'];
    expect((await w.run('plan', '--out', 'p.plan', ...waiver)).code).toBe(0);
    // The waiver is not valid for another rule that denies the resource by now.
    await w.folder.write('rules.yaml', `policies:${CALLS_END.replace('calls-end', 'calls-end-soon')}`);
    const other = await w.run('apply', 'p.plan', '--auto-approve', '--policy', 'rules.yaml');
    expect(other.stderr).toContain('denied by calls-end-soon (Agent/day)');
    // The waiver is not valid for a rule with the same name in another file.
    await w.folder.write('rules.yaml', `policies:${CALLS_END}`);
    const same = await w.run('apply', 'p.plan', '--auto-approve', '--policy', 'rules.yaml');
    expect(same.stderr).toContain('denied by calls-end (Agent/day)');
    expect(w.writes()).toBe(0);
    expect((await w.run('apply', 'p.plan', '--auto-approve', ...waiver)).code).toBe(64);
    expect((await w.run('apply', 'p.plan', '--auto-approve')).code).toBe(0);
    const { stdout } = await w.run('history', '--output', 'json');
    expect((JSON.parse(stdout) as HistoryDocument).runs[0]?.waived?.[0]?.because).toBe('a test line');
  });

  it.each([
    { reason: 'is not waivable at apply', mine: CALLS_END, theirs: `${CALLS_END}    waivable: false\n` },
    { reason: 'has another message', mine: CALLS_END.replace('Calls must', 'Calls may'), theirs: CALLS_END },
  ])('is not valid in a saved plan for a rule that $reason', async ({ mine, theirs }) => {
    await using w = await project('');
    await w.folder.write('mine.yaml', `policies:${mine}`);
    await w.folder.write('theirs.yaml', `policies:${theirs}`);
    const waiver = ['--waive', 'calls-end', '--because', 'x'];
    expect((await w.run('plan', '--policy', 'mine.yaml', ...waiver, '--out', 'p.plan')).code).toBe(0);
    const applied = await w.run('apply', 'p.plan', '--auto-approve', '--policy', 'theirs.yaml');
    expect(applied.stderr).toContain('denied by calls-end (Agent/day)');
    expect([applied.code, w.writes()]).toEqual([1, 0]);
  });

  it('is ignored in a forged plan for a rule that cannot be waived', async () => {
    await using w = await project(`${CALLS_END}    waivable: false\n`);
    await w.run('plan', '--out', 'p.plan');
    const document = JSON.parse(readFileSync(path.join(w.folder.root, 'p.plan'), 'utf8')) as PlanDocument;
    const violations = document.violations?.map((each) => ({ ...each, waived: 'x' }));
    await w.folder.write('p.plan', JSON.stringify(withDigest({ ...document, violations })));
    expect((await w.run('apply', 'p.plan', '--auto-approve')).stderr).toContain('denied by calls-end');
    expect(w.writes()).toBe(0);
  });

  it('is suggested if it is possible', async () => {
    await using w = await project(CALLS_END);
    await w.run('plan', '--out', 'p.plan');
    const saved = await w.run('apply', 'p.plan', '--auto-approve');
    expect(saved.stderr.replaceAll(/\s+/g, ' ')).toContain('plan again with: --waive calls-end');
    await using firm = await project(`${CALLS_END}    waivable: false\n`);
    const { stderr } = await firm.run('apply', '--auto-approve');
    expect(stderr).toContain('comply with the policies');
    expect(stderr).not.toContain('--waive');
  });

  it('needs a reason, an existing rule and a violation', async () => {
    await using w = await project(`${CALLS_END}\n  - { name: firm, deny: 'name == "x"', waivable: false }\n`);
    const refused = async (...args: string[]) => {
      const { code, stderr } = await w.run('apply', '--auto-approve', ...args);
      expect(code).toBe(64);
      return stderr;
    };
    expect(await refused('--waive', 'calls-end')).toContain('--waive needs --because TEXT');
    expect(await refused('--waive', 'calls-end', '--because', ' ')).toContain('--waive needs --because TEXT');
    expect(await refused('--because', 'x')).toContain('--because needs --waive RULE');
    expect(await refused('--waive', 'call-end', '--because', 'x')).toContain('did you mean "calls-end"?');
    expect(await refused('--waive', 'firm', '--because', 'x')).toContain('firm cannot be waived');
    expect(w.writes()).toBe(0);
    await w.folder.write('manifests/a.yaml', AGENTS.replace('3600000', '600000'));
    const { stdout, code } = await w.run('plan', '--waive', 'calls-end', '--because', 'x');
    expect(stdout).toContain('--waive calls-end has no effect');
    expect(code).toBe(0);
  });
});

describe('--policy', () => {
  it('loads each file once, and reports a path that is not a file', async () => {
    await using w = await project('');
    await w.folder.write('rules.yaml', `policies:${CALLS_END}`);
    const twice = ['--policy', 'rules.yaml', '--policy', './rules.yaml'];
    const waiver = ['--waive', 'calls-end', '--because', 'Agreed'];
    expect((await planOf(w, ...twice, ...waiver)).violations).toHaveLength(1);
    const { stdout } = await w.run('plan', ...twice, ...waiver, '--output', 'markdown');
    expect(stdout).toContain('- **Policy** calls-end: Calls must end after half an hour. Waived: Agreed');
    const outside = path.dirname(w.folder.root);
    expect((await w.run('plan', '--policy', outside)).stderr.replaceAll(/\s+/g, ' ')).toContain(
      `--policy ${outside}: expected a file, got a folder`,
    );
    expect((await w.run('show', '.')).stderr).toContain('cannot read the plan .: the path is a folder');
  });

  it('is resolved against the current folder, not the folder of -C', async () => {
    await using w = await project('', { 'rules.yaml': "policies: [{ name: tame, warn: 'false' }]\n" });
    await using caller = await temporaryFolder({ 'rules.yaml': `policies:${CALLS_END}` });
    const args = ['-C', w.folder.root, 'validate', '--policy', 'rules.yaml'];
    const { stdout, code } = await command(args, { cwd: caller.root });
    expect([stdout.includes('calls-end: Calls must end'), code]).toEqual([true, 1]);
    await caller.write('rules.yaml', 'policies: [{ name: odd }]\n');
    expect((await command(args, { cwd: caller.root })).stdout).toContain('rules.yaml:1:');
  });

  it('is named with each waived rule', async () => {
    await using w = await project(CALLS_END);
    await w.folder.write('rules.yaml', `policies:${CALLS_END}`);
    const flags = ['--policy', 'rules.yaml', '--waive', 'calls-end', '--because', 'x'];
    const { stdout, code } = await w.run('apply', '--auto-approve', ...flags);
    expect(stdout).toContain('- calls-end (voxform.yaml): Calls must end after half an hour. Waived: x\n');
    expect(stdout).toContain('- calls-end (rules.yaml): Calls must end after half an hour. Waived: x\n');
    expect(code).toBe(0);
    const { runs } = JSON.parse((await w.run('history', '--output', 'json')).stdout) as HistoryDocument;
    expect(runs[0]?.waived?.map(({ policy_file }) => policy_file)).toEqual(['voxform.yaml', 'rules.yaml']);
  });

  it('adds rules that the project cannot weaken', async () => {
    await using w = await project(CALLS_END.replace('> 1800000', '> 99000000').replace('Calls must', 'Ours'));
    await w.folder.write('rules/team.yaml', `version: 1\npolicies:${CALLS_END}`);
    expect((await w.run('validate')).code).toBe(0);
    const { stdout, code } = await w.run('validate', '--policy', 'rules/team.yaml');
    expect(stdout).toContain('calls-end: Calls must end after half an hour (Agent/day)');
    expect(code).toBe(1);
    expect((await planOf(w, '--policy', 'rules/team.yaml')).violations).toMatchObject([
      { rule: 'calls-end', policy_file: 'rules/team.yaml' },
    ]);
    expect((await w.run('apply', '--auto-approve', '--policy', 'rules/team.yaml')).code).toBe(1);
    expect(w.writes()).toBe(0);
    // The rules also apply to a plan that was made without them. It contains the labels and the spec.
    const rule = (text: string) => `policies: [{ name: a, kind: Agent, deny: '${text}' }]\n`;
    await w.run('plan', '--out', 'p.plan', '--target', 'Agent/day');
    const applied = async (text: string) => {
      await w.folder.write('rules/team.yaml', rule(text));
      const { code: exit } = await w.run('apply', 'p.plan', '--auto-approve', '--policy', 'rules/team.yaml');
      return exit;
    };
    expect(await applied('spec.call_config.max_call_duration_ms > 1800000')).toBe(1);
    expect(await applied('labels.team == "sales"')).toBe(1);
    expect(w.writes()).toBe(0);
    expect(await applied('labels.team != "sales" || spec.name != "Day"')).toBe(0);
  });
});

it('rules identify the workspace by values that a repository cannot choose', async () => {
  const rules = (platform: string, id: string) => `
  - { name: by-id, deny: 'workspace_id == "${id}"' }
  - { name: by-address, deny: 'base_url == "${platform}"' }
`;
  await using w = await project('');
  const { url, workspaceId } = w.emulator;
  await w.folder.write('rules.yaml', `policies:${rules(url, workspaceId)}`);
  const file = readFileSync(path.join(w.folder.root, 'voxform.yaml'), 'utf8');
  const denied = async (...args: string[]) => {
    const { stdout } = await w.run('validate', '--policy', 'rules.yaml', ...args);
    return ['by-id', 'by-address'].filter((name) => stdout.includes(`${name}: deny`));
  };
  await w.folder.write('voxform.yaml', file.replace('test:', 'sandbox:').replace(url, `${url.toUpperCase()}/`));
  expect(await denied()).toEqual(['by-id', 'by-address']);
  await w.folder.write('rules.yaml', `policies:${rules(url, 'other')}`);
  expect(await denied()).toEqual(['by-address']);
  await w.folder.write('voxform.yaml', file.replace(workspaceId, '{ $env: NOT_SET }'));
  await w.folder.write('rules.yaml', `policies:${rules('other', workspaceId)}`);
  expect(await denied()).toEqual([]);
});

describe('a secret', () => {
  const HOOK = `apiVersion: voxform/v1
kind: Webhook
metadata: { name: hook }
spec: { url: { $secret: HOOK_URL }, retries: 3, timeout: 10 }
`;
  const secret = 'https://hooks.example.com/very-secret-token';

  it('is neither in a plan nor in the history, also if the reason of a waiver contains it', async () => {
    await using w = await project(CALLS_END);
    const because = `it is ${API_KEY}`;
    const waiver = ['--waive', 'calls-end', '--because', because];
    await w.run('plan', '--out', 'p.plan', ...waiver);
    await w.run('apply', '--auto-approve', ...waiver);
    const texts = ['p.plan', '.voxform/test.history.jsonl'].map((file) =>
      readFileSync(path.join(w.folder.root, file), 'utf8'),
    );
    expect(texts.map((text) => [text.includes('it is (secret)'), text.includes(API_KEY)])).toEqual([
      [true, false],
      [true, false],
    ]);
  });

  it('has no fingerprint and no digest that a rule can compare', async () => {
    await using w = await project(`
  - { name: a, on: plan, deny: 'resource.observed_digest == "x"' }
  - { name: b, on: plan, deny: 'resource.changes.exists(c, has(c.fingerprints.after))' }
`);
    const { stdout } = await w.run('validate');
    expect(stdout).toContain('a: unknown field "observed_digest"');
    expect(stdout).toContain('b: unknown field "fingerprints"');
  });

  it.each([
    'spec.url.startsWith("https://")',
    `spec.url == "${secret}"`,
    'spec.url.size() == 43',
    'resource.changes.exists(c, c.path == "url" && c.after == "x")',
  ])('is not revealed by %s', { tags: ['long'] }, async (rule) => {
    await using w = await project(`\n  - { name: nosy, kind: Webhook, on: plan, deny: '${rule}' }\n`, {
      'manifests/h.yaml': HOOK,
    });
    const results = [
      await w.runWith({ HOOK_URL: secret }, 'plan', '--output', 'json'),
      await w.runWith({ HOOK_URL: `${secret}-2` }, 'plan', '--output', 'json'),
    ].map(({ stdout, stderr }) => ({ stderr, ...(JSON.parse(stdout) as PlanDocument) }));
    expect(JSON.stringify(results)).not.toContain('very-secret');
    expect(results[0]?.violations).toHaveLength(1);
    expect(results[0]?.violations).toEqual(results[1]?.violations);
  });
});

it('policies apply to migrate and to the API', async () => {
  await using old = await testWorkspace({}, { workspaceId: '01JEMV1AT0RW0RKSPACE000002' });
  await using w = await testWorkspace({ 'manifests/a.yaml': AGENTS });
  const ends = [old, w].map(
    ({ emulator: { url, workspaceId } }, index) =>
      `  ws${index}: { base_url: "${url}", workspace_id: ${workspaceId}, api_key: { $secret: TEST_KEY } }\n`,
  );
  await w.folder.write('voxform.yaml', `version: 1\nworkspaces:\n${ends.join('')}policies:${CALLS_END}`);
  const env = { TEST_KEY: API_KEY };
  const { stdout, stderr, code } = await command(['migrate', '--from', 'ws0', '--to', 'ws1', '--auto-approve'], {
    cwd: w.folder.root,
    env,
  });
  expect(stdout, stderr).toContain('Policies: apply refuses this plan');
  expect([stderr.includes('denied by calls-end (Agent/day)'), code, w.writes()]).toEqual([true, 1, 0]);

  await w.folder.write('rules.yaml', `policies:${CALLS_END.replace('calls-end', 'of-file')}`);
  const args = ['migrate', '--from', 'ws0', '--to', 'ws1', '--auto-approve', '--policy', 'rules.yaml'];
  const withFile = await command(args, { cwd: w.folder.root, env });
  expect([withFile.stderr.includes('of-file (Agent/day)'), w.writes()]).toEqual([true, 0]);

  const program = await loadProject({ cwd: w.folder.root, env, workspace: 'ws1' });
  const planned = await plan(program);
  expect(planned.document.violations).toMatchObject([{ rule: 'calls-end', address: 'Agent/day' }]);
  await expect(apply(planned)).rejects.toThrow('denied by calls-end (Agent/day)');
  expect(w.writes()).toBe(0);
  const waiver = { rules: ['calls-end'], because: 'a test line' };
  expect(await apply(await plan(program, { waiver }))).toMatchObject({ complete: true });
});

it('fleet serve refuses a fleet file with invalid rules, with their location', async () => {
  await using w = await testWorkspace({
    'fleet.yaml': `version: 1
sources: { voices: { path: . } }
policies: [{ name: kind, deny: 'spec.nmae == "x"' }]
`,
  });
  const { stderr, code } = await w.run('fleet', 'serve');
  const { message } = JSON.parse(stderr.split('\n', 1)[0] ?? '') as { message: string };
  expect(message).toBe('fleet.yaml:3:38  kind: unknown field "nmae"; did you mean "name"?');
  expect(code).toBe(1);
});
