/** @module-tag long */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';
import { projectFile } from '../cli/workspace.ts';
import type { FakeRequest } from '../hosting/code-host-fake.ts';
import { selfSigned } from '../platform/connect-proxy.ts';
import { step } from '../step.ts';
import { ADDRESS, agents, MANIFEST, type PullScene, pullScene } from './pull-scene.ts';
import { KEY } from './server-options.ts';

const PROJECT = 'clients/acme/voxform.yaml';
const SECOND = 'voices/clients/acme:second';
const APPLY = 'mode: apply';
const SECRET = 'secret-of-the-language-model';

/** Starts a server of the request's author. Nothing may contact it. */
async function hostileServer(): Promise<{ readonly url: string; readonly requests: readonly string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const withSecret = (prompt: string, name = 'day'): string =>
  `${agents(prompt, name)}  llm_config: { api_key: { $secret: LLM_KEY } }\n`;

interface StoredPlan {
  readonly number: number;
  readonly address: string;
  readonly result: string;
  readonly digest: string | null;
  readonly notes: readonly string[];
  readonly places: readonly string[];
}

async function plansOf({ database }: PullScene, { number }: FakeRequest): Promise<readonly StoredPlan[]> {
  const rows = await database.query(
    `SELECT address, result, digest, details->'notes' AS notes, details->'problem'->'places' AS places
FROM voxform_fleet.pull_plans WHERE number = $1 ORDER BY address`,
    number,
  );
  return rows as unknown as readonly StoredPlan[];
}

/** Returns everything that runs of a workspace write. */
async function writtenIn({ database, emulator }: PullScene): Promise<unknown> {
  const rows = await Promise.all(
    [
      'SELECT name, epoch, revision, write, state, lock::text FROM voxform_fleet.states ORDER BY name',
      'SELECT name, revision, nth FROM voxform_fleet.journal ORDER BY 1, 2, 3',
      'SELECT name, revision, line FROM voxform_fleet.history ORDER BY 1, 2, 3',
      'SELECT id, address, result FROM voxform_fleet.runs ORDER BY id',
      'SELECT address, id, state FROM voxform_fleet.plans ORDER BY 1, 2',
      'SELECT * FROM voxform_fleet.documents ORDER BY 1, 2',
    ].map((statement) => database.query(statement)),
  );
  return { rows, writes: emulator.requests.filter(({ method }) => method !== 'GET').length };
}

/** Makes no more runs of these workspaces due. */
async function paused(scene: PullScene, addresses: readonly string[]): Promise<void> {
  const { control, until } = scene;
  const isSynced = async (address: string) => {
    const { workspaces } = await control.status({ address }).catch(() => ({ workspaces: [] }));
    return workspaces[0]?.status === 'in-sync';
  };
  for (const address of addresses) await until(() => isSynced(address), `${address} is in sync`);
  await control.pause(addresses, { by: 'carol' });
  const busy = `SELECT 1 FROM voxform_fleet.claims UNION ALL SELECT 1 FROM voxform_queue.job WHERE state = 'active'`;
  await until(async () => (await scene.database.query(busy)).length === 0, 'all runs have ended');
}

const statusOf = ({ host }: PullScene, request: FakeRequest) => host.statuses(host.headOf(request) ?? '').at(-1)?.state;
const commentOf = ({ host }: PullScene, { number }: FakeRequest) => host.comments(number)[0]?.body ?? '';

it('plans a hostile request with the settings, certificates, commands and policies of its base, and writes nothing', async () => {
  const hostile = await hostileServer();
  const second = await startEmulator({ seed: 2, workspaceId: 'SECOND', apiKey: KEY });
  onTestFinished(() => second.close());
  const traces = await temporaryFolder();
  onTestFinished(() => traces[Symbol.asyncDispose]());
  const executed = path.join(traces.root, 'executed');
  const [certificate, forged] = [selfSigned().cert, selfSigned('hostile.example.com').cert];
  const more = `  second:
    base_url: ${second.url}
    workspace_id: ${second.workspaceId}
    api_key: { $secret: KEY_OF_SECOND }
    ca_file: ca.pem
secrets:
  - environment
  - command: ["sh", "./secret.sh", "{name}"]
`;
  const policies = `policies:
  - { name: no-insults, kind: Agent, deny: "spec.prompt_config.prompt.contains('insult')" }
  - { name: night-stays, on: plan, deny: "resource.action == 'update' && name == 'night'" }
`;
  const scene = await pullScene('github', {
    rule: APPLY,
    source: '    allow_commands: true\n',
    fleet: `policies:
  - { name: no-threats, kind: Agent, deny: "spec.prompt_config.prompt.contains('threat')" }
`,
    files: {
      [MANIFEST]: `${withSecret('One.')}---\n${agents('One.', 'night')}`,
      'clients/acme/secret.sh': `case $1 in KEY_OF_SECOND) echo ${KEY} ;; *) echo ${SECRET} ;; esac\n`,
      'clients/acme/ca.pem': certificate,
    },
    project: () => more + policies,
  });
  const { host, emulator } = scene;
  await scene.serve();
  await paused(scene, [ADDRESS, SECOND]);
  const before = await writtenIn(scene);
  const base = host.repository.text('main', PROJECT) ?? '';
  const open = (branch: string, files: Readonly<Record<string, string | null>>) =>
    host.openRequest({ branch, files, author: 'mallory' });

  const settings = open('settings', {
    [MANIFEST]: withSecret('Two.'),
    [PROJECT]: `version: 1
workspaces:
  test:
    base_url: ${hostile.url}
    workspace_id: STOLEN
    api_key: { $secret: LLM_KEY }
    ca_file: mine.pem
    dashboard: { agent: "${hostile.url}/{id}" }
    secrets: [{ command: ["touch", ${JSON.stringify(executed)}], names: [LLM_KEY] }]
    state: { backend: http, address: "${hostile.url}/state", username: mallory, password: { $secret: LLM_KEY } }
  second:
    base_url: ${hostile.url}
    workspace_id: STOLEN_TOO
notify: [{ url: "${hostile.url}/notify" }]
limits: { timeout_seconds: 0.1 }
`,
    'clients/acme/mine.pem': forged,
  });
  const files = open('files', {
    [MANIFEST]: `${withSecret('Two.')}---\n${agents('One.', 'night')}`,
    'clients/acme/secret.sh': `touch ${executed}\necho mine\n`,
    'clients/acme/ca.pem': forged,
  });
  const without = open('without-policies', {
    [MANIFEST]: `${withSecret('An insult.')}---\n${agents('Two.', 'night')}`,
    [PROJECT]: base.replace(policies, ''),
  });
  const weaker = open('weaker-policies', {
    [MANIFEST]: `${withSecret('Two.')}---\n${agents('Two.', 'night')}`,
    [PROJECT]: base
      .replace("name == 'night'", 'false')
      .replace('no-insults, kind: Agent, deny', 'no-insults, kind: Agent, warn'),
  });
  const threat = open('threat', { [MANIFEST]: `${withSecret('A threat.')}---\n${agents('One.', 'night')}` });
  const fresh = open('fresh', {
    [PROJECT]: `default_workspace: third
${base.replace(/ {2}second:\n(?: {4}.*\n)+/, '')}`.replace(
      'workspaces:\n',
      `workspaces:
  third: { base_url: "${hostile.url}", workspace_id: THIRD, api_key: { $secret: LLM_KEY } }
  constructor: { base_url: "${hostile.url}", workspace_id: FOURTH, api_key: { $secret: LLM_KEY } }
`,
    ),
    'clients/mine/voxform.yaml': projectFile({ url: hostile.url, workspaceId: 'MINE' }),
    'clients/mine/manifests/a.yaml': agents('An agent of mine.'),
  });
  const one = open('one', {
    [PROJECT]: base.replace('    ca_file', '    patches: { Agent/day: { name: Day } }\n    ca_file'),
  });
  const requests = [settings, files, without, weaker, threat, fresh, one];
  for (const { number } of requests) await scene.planned(number);

  await step('the settings of the request are ignored, and the report states this', async () => {
    const plans = await plansOf(scene, settings);
    expect(plans).toMatchObject([
      { address: SECOND, result: 'changes', digest: null },
      { address: ADDRESS, result: 'changes', digest: null },
    ]);
    for (const name of [
      'base_url',
      'workspace_id',
      'api_key',
      'ca_file',
      'dashboard',
      'secrets',
      'state',
      'notify',
      'limits',
    ])
      expect(plans[1]?.notes.join('\n')).toContain(name);
    expect(commentOf(scene, settings)).toContain('This request changes');
    expect(commentOf(scene, settings)).toContain('Two.');
  });

  await step('scripts and certificates of the base are used', async () => {
    expect(await plansOf(scene, files)).toMatchObject([
      { address: SECOND, result: 'changes', digest: null, notes: [expect.stringContaining('ca_file')] },
      { address: ADDRESS, result: 'changes', digest: expect.any(String), notes: [] },
    ]);
  });

  await step('policies of the base and of the fleet apply', async () => {
    for (const [request, rules] of [
      [without, ['no-insults', 'night-stays']],
      [weaker, ['night-stays']],
      [threat, ['no-threats']],
    ] as const) {
      const plans = await plansOf(scene, request);
      expect(plans.map(({ result, digest }) => [result, digest])).toEqual([
        ['denied', null],
        ['denied', null],
      ]);
      expect(statusOf(scene, request)).toBe('failure');
      for (const rule of rules) expect(commentOf(scene, request)).toContain(rule);
    }
  });

  await step('new workspaces and projects are listed, but not planned', async () => {
    const plans = await plansOf(scene, fresh);
    expect(plans.map(({ address, result, digest }) => [address, result, digest])).toEqual([
      ['voices/clients/acme:constructor', 'new', null],
      [SECOND, 'removed', null],
      [ADDRESS, 'unchanged', expect.any(String)],
      ['voices/clients/acme:third', 'new', null],
      ['voices/clients/mine:test', 'new', null],
    ]);
    expect(commentOf(scene, fresh)).toContain('Agent/day');
  });

  await step('an unchanged workspace is not planned', async () => {
    expect(await plansOf(scene, one)).toMatchObject([{ address: SECOND, result: 'changes' }]);
  });

  await step('nothing was sent, executed or written', async () => {
    expect(hostile.requests).toEqual([]);
    expect(existsSync(executed)).toBe(false);
    expect(await writtenIn(scene)).toEqual(before);
    expect(second.requests.filter(({ method }) => method !== 'GET')).toHaveLength(2);
    const posted = JSON.stringify([requests.map((each) => commentOf(scene, each)), host.calls]);
    for (const secret of [KEY, SECRET, SECRET.slice(3)]) expect(posted).not.toContain(secret);
    expect(emulator.requests.some(({ path: at }) => at.includes('STOLEN'))).toBe(false);
  });
});

/** Pushes a commit with a symbolic link on top of a request. */
function pushLink({ host, folder }: PullScene, request: FakeRequest, [file, target]: readonly [string, string]): void {
  const env = {
    ...process.env,
    GIT_DIR: host.repository.folder,
    GIT_INDEX_FILE: path.join(folder.root, 'index'),
    ...{
      GIT_AUTHOR_NAME: 'm',
      GIT_AUTHOR_EMAIL: 'm@example.com',
      GIT_COMMITTER_NAME: 'm',
      GIT_COMMITTER_EMAIL: 'm@example.com',
    },
  };
  const git = (args: readonly string[], input = '') =>
    execFileSync('git', args, { env, input, encoding: 'utf8' }).trim();
  const head = host.headOf(request) ?? '';
  git(['read-tree', head]);
  git(['update-index', '--add', '--cacheinfo', `120000,${git(['hash-object', '-w', '--stdin'], target)},${file}`]);
  const commit = git(['commit-tree', '-p', head, '-m', 'A link', git(['write-tree'])]);
  if (request.fork === undefined) host.repository.set(request.branch, commit);
  else request.forkHead = commit;
}

it('validates requests from forks without secrets, environment, commands and platform, and projects of any form', async () => {
  const traces = await temporaryFolder({
    'secrets/clients/acme/LLM_KEY': SECRET,
    'secrets/clients/acme/TRAP': 'voxform-export-placeholder\n',
    outside: withSecret('A file of the machine.'),
  });
  onTestFinished(() => traces[Symbol.asyncDispose]());
  const executed = path.join(traces.root, 'executed');
  const policies = `policies: [{ name: no-insults, kind: Agent, deny: "spec.prompt_config.prompt.contains('insult')" }]\n`;
  const broken = projectFile({ url: 'https://unused.example.com', workspaceId: 'BROKEN' });
  const scene = await pullScene('gitlab', {
    rule: APPLY,
    source: `    allow_commands: true\n    secrets: ${traces.root}/secrets/{project}\n`,
    files: {
      [MANIFEST]: withSecret('One.'),
      'clients/broken/voxform.yaml': `${broken}unknown: true\n`,
      'clients/broken/manifests/a.yaml': agents('One.'),
      'clients/twice/voxform.yaml': broken.replace('BROKEN', 'TWICE'),
      'clients/twice/voxform.yml': broken.replace('BROKEN', 'TWICE'),
      'clients/twice/manifests/a.yaml': agents('One.'),
    },
    project: () => policies,
  });
  const { host, emulator } = scene;
  await scene.serve();
  await paused(scene, [ADDRESS]);
  const before = await writtenIn(scene);
  const sent = emulator.requests.length;
  const base = host.repository.text('main', PROJECT) ?? '';
  const fork = (branch: string, files: Readonly<Record<string, string | null>>, title = 'A change') =>
    host.openRequest({ branch, files, author: 'mallory', fork: 'mallory', title });

  const hostile = 'Nice\u0000 \u001b[2J\u202e<script>@ann\n/merge\ud800';
  const secrets = fork(
    'secrets',
    {
      [MANIFEST]: [
        withSecret('Two.'),
        withSecret('One.', 'trap').replace('LLM_KEY', 'TRAP'),
        agents('One.', 'key').replace('  name: key\n  prompt', '  name: { $env: VOXFORM_API_KEY }\n  prompt'),
      ].join('---\n'),
      [PROJECT]: `${base}secrets: [{ command: [touch, ${JSON.stringify(executed)}], names: [LLM_KEY] }]\n`,
    },
    hostile,
  );
  const insult = fork('insult', { [MANIFEST]: withSecret('An insult.'), [PROJECT]: base.replace(policies, '') });
  const forms = fork('forms', {
    [MANIFEST]: 'kind: [\n',
    'clients/large/voxform.yaml': broken,
    'clients/large/manifests/a.yaml': '#'.repeat(1_100_000),
    'clients/links/voxform.yaml': broken,
    'clients/manifest-link/voxform.yaml': broken,
    'clients/none/voxform.yaml': '',
    'clients/two/voxform.yaml': broken,
    'clients/two/voxform.yml': broken,
  });
  pushLink(scene, forms, ['clients/links/voxform.yml', '/etc/passwd']);
  pushLink(scene, forms, ['clients/link/voxform.yaml', '../acme/voxform.yaml']);
  pushLink(scene, forms, ['clients/manifest-link/manifests/a.yaml', path.join(traces.root, 'outside')]);
  const repaired = host.openRequest({
    branch: 'repaired',
    files: { 'clients/broken/voxform.yaml': broken, 'clients/twice/voxform.yml': null },
  });
  for (const { number } of [secrets, insult, forms, repaired]) await scene.planned(number);

  await step('a fork is validated', async () => {
    const [plan, ...others] = await plansOf(scene, secrets);
    expect([plan?.address, plan?.result, plan?.digest, others]).toEqual([ADDRESS, 'validated', null, []]);
    expect(statusOf(scene, secrets)).toBe('success');
    const { title } = (await scene.pull(secrets.number)) ?? {};
    expect(title).toContain('<script>');
    expect(commentOf(scene, secrets)).not.toMatch(/<script>|@ann|^\/merge/m);
  });

  await step('a fork cannot make the fleet check out an unlimited number of projects', async () => {
    const files = Array.from(
      { length: 21 },
      (_, index) => [`clients/many-${index}/voxform.yaml`, 'version: 1\n'] as const,
    );
    const many = fork('many', Object.fromEntries(files));
    const head = host.headOf(many) ?? '';
    await scene.until(() => host.statuses(head).at(-1)?.state === 'failed', 'the status fails');
    const isTold = async () =>
      (await scene.pull(many.number))?.problem?.includes('21 projects; the maximum is 20') === true;
    await scene.until(isTold, 'the problem is shown');
  });

  await step('a fork cannot remove a policy', async () => {
    expect(await plansOf(scene, insult)).toMatchObject([{ address: ADDRESS, result: 'denied' }]);
    expect(statusOf(scene, insult)).toBe('failed');
    expect(commentOf(scene, insult)).toContain('no-insults');
  });

  await step('unreadable projects are invalid, and no file outside is read', async () => {
    const plans = await plansOf(scene, forms);
    expect(plans.map(({ address, result }) => [address, result])).toEqual([
      [ADDRESS, 'invalid'],
      ['voices/clients/large', 'invalid'],
      ['voices/clients/link', 'invalid'],
      ['voices/clients/links', 'invalid'],
      ['voices/clients/manifest-link:test', 'invalid'],
      ['voices/clients/none', 'invalid'],
      ['voices/clients/two', 'invalid'],
    ]);
    for (const { places } of plans) expect(places).not.toEqual([]);
    expect(statusOf(scene, forms)).toBe('failed');
    expect(JSON.stringify(plans)).not.toContain('of the machine');
  });

  await step('a request that repairs a project of its base is valid, and planned after the merge', async () => {
    expect(await plansOf(scene, repaired)).toMatchObject([
      { address: 'voices/clients/broken:test', result: 'validated' },
      { address: 'voices/clients/twice:test', result: 'validated' },
    ]);
    expect(statusOf(scene, repaired)).toBe('success');
  });

  await step('nothing was sent, executed or written', async () => {
    expect(existsSync(executed)).toBe(false);
    expect(emulator.requests.length).toBe(sent);
    expect(await writtenIn(scene)).toEqual(before);
    expect(JSON.stringify(host.calls)).not.toContain(KEY);
  });
});

const BETA = ['voices/clients/beta:test', 'changes'];

it('plans forks if the fleet file says so, and waits for the lock of a state', async () => {
  const beta = await startEmulator({ seed: 2, workspaceId: 'BETA', apiKey: KEY });
  onTestFinished(() => beta.close());
  const scene = await pullScene('github', {
    rule: APPLY,
    settings: ', forks: true',
    files: { 'clients/beta/voxform.yaml': projectFile(beta), 'clients/beta/manifests/a.yaml': agents('One.') },
  });
  const { host, database } = scene;
  await scene.serve();
  await paused(scene, [ADDRESS, 'voices/clients/beta:test']);
  const lock = {
    ...{ id: 'lock-1', operation: 'apply', who: 'ann@laptop', host: 'laptop', pid: 1 },
    ...{ since: new Date().toISOString(), voxform_version: '1.0.0' },
  };
  await database.query(
    `UPDATE voxform_fleet.states SET lock = $2::json, heard = now() + interval '1 hour' WHERE name = $1`,
    ADDRESS,
    JSON.stringify(lock),
  );
  const request = host.openRequest({
    branch: 'fork',
    fork: 'mallory',
    author: 'mallory',
    files: { [MANIFEST]: agents('Two.'), 'clients/beta/manifests/a.yaml': agents('Two.') },
  });
  const resultsNow = async () => (await plansOf(scene, request)).map(({ address, result }) => [address, result]);
  await scene.until(async () => (await resultsNow()).length > 0, 'the other workspace is planned');
  expect(await resultsNow()).toEqual([BETA]);
  expect(host.statuses(host.headOf(request) ?? '').map(({ state }) => state)).toEqual(['pending']);
  await database.query('UPDATE voxform_fleet.states SET lock = NULL WHERE name = $1', ADDRESS);
  await scene.planned(request.number);
  expect(await resultsNow()).toEqual([[ADDRESS, 'changes'], BETA]);
  expect(host.statuses(host.headOf(request) ?? '').map(({ state }) => state)).toEqual(['pending', 'success']);
});
