import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Fault } from '../../src/emulator/faults.ts';
import type { RequestHook } from '../../src/emulator/request-pipeline.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { type UnmanagedWorkspace, unmanagedWorkspace } from '../runs/unmanaged-workspace.ts';
import { type CommandResult, command } from '../trust/in-process.ts';
import { type Folder, temporaryFolder } from './voxform-process.ts';
import { agentManifest, webhookManifest } from './workspace.ts';

const KEYS = { OLD_API_KEY: 'key-of-the-old-one', NEW_API_KEY: 'key-of-the-new-one' };

/** Two workspaces, a project with both, and the commands that run in it. */
interface MigrationProject extends AsyncDisposable {
  readonly old: UnmanagedWorkspace;
  readonly empty: Emulator;
  readonly folder: Folder;
  hook: RequestHook;
  run(...args: readonly string[]): Promise<CommandResult>;
  /** Runs migrate between the two workspaces, with approval. */
  migrate(...args: readonly string[]): Promise<CommandResult>;
  summaryOf(workspace: string): Promise<Readonly<Record<string, number>>>;
  text(file: string): string;
}

async function migrationProject(files: Readonly<Record<string, string>> = {}, more = ''): Promise<MigrationProject> {
  const old = await unmanagedWorkspace();
  const empty = await startEmulator({
    seed: 2,
    workspaceId: '01JEMV1AT0RW0RKSPACE000002',
    onRequest: (request) => result.hook(request),
  });
  const project = `version: 1
workspaces:
  old:
    base_url: ${old.emulator.url}
    workspace_id: ${old.emulator.workspaceId}
    api_key: { $secret: OLD_API_KEY }
  new:
    base_url: ${empty.url}
    workspace_id: ${empty.workspaceId}
    api_key: { $secret: NEW_API_KEY }
${more}`;
  const folder = await temporaryFolder({ 'voxform.yaml': project, ...files });
  const run: MigrationProject['run'] = (...args) => command(args, { cwd: folder.root, env: KEYS });
  const result: MigrationProject = {
    old,
    empty,
    folder,
    hook: () => undefined,
    run,
    migrate: (...args) => run('migrate', '--from', 'old', '--to', 'new', '--auto-approve', ...args),
    async summaryOf(workspace) {
      const { stdout } = await run('plan', '-w', workspace, '--output', 'json');
      const { summary } = JSON.parse(stdout) as { readonly summary: Record<string, number> };
      return Object.fromEntries(Object.entries(summary).filter(([, count]) => count > 0));
    },
    text: (file) => readFileSync(path.join(folder.root, file), 'utf8'),
    async [Symbol.asyncDispose]() {
      await old[Symbol.asyncDispose]();
      await empty.close();
      await folder[Symbol.asyncDispose]();
    },
  };
  return result;
}

/** Returns the ids in the states of both workspaces. */
async function stateIds(h: MigrationProject): Promise<Readonly<Record<string, string>>> {
  const ids: Record<string, string> = {};
  for (const name of ['old', 'new']) {
    const { stdout } = await h.run('state', 'list', '-w', name, '--output', 'json');
    for (const { address, id } of JSON.parse(stdout) as { address: string; id: string }[])
      ids[`${name}:${address}`] = id;
  }
  return ids;
}

function flat({ stdout, stderr }: CommandResult): string {
  return `${stdout}\n${stderr}`.replaceAll(/\s+/g, ' ');
}

function withBase(name: string, base: string, id = ''): string {
  return `${agentManifest(name)}  llm_config:
    knowledge_base_ids: [{ $ref: KnowledgeBase/${base} }] # the one with the prices
`.replace(`name: ${name}\nspec`, `name: ${name}\n${id}spec`);
}

const REFUSED: Fault = { status: 422 };

describe('migrate', () => {
  it('reads a live workspace, writes manifests for both workspaces, and continues from them', {
    tags: ['long'],
  }, async () => {
    await using h = await migrationProject();
    const base = h.old.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    h.empty.dashboard.addKnowledgeBase({ name: 'FAQ' });
    const agent = await h.old.agent({ name: 'Desk', llm_config: { knowledge_base_ids: [base.id] } });
    const unheard = await h.old.agent({ name: 'Night' });
    await h.old.number('+4930111', { inbound_agent_id: agent });
    const hook = await h.old.webhook({ url: 'https://hooks.example.com/calls?token=abc' });
    const flags = ['--agents', unheard, '--webhooks', hook];
    const ahead = await h.migrate('--dry-run', ...flags);
    expect(ahead).toMatchObject({ code: 0 });
    expect(flat(ahead)).toContain('Files written first: manifests/');
    expect(flat(ahead)).toContain('Agent: the API cannot list them');
    const written = readdirSync(h.folder.root, { recursive: true }).map(String);
    expect(written.filter((file) => /^manifests|state\.json|\.csv/.test(file))).toEqual([]);

    h.hook = ({ path: at }) => (at.endsWith('/numbers') ? REFUSED : undefined);
    const broken = await h.migrate(...flags);
    expect(broken.code, flat(broken)).toBe(1);
    h.hook = () => undefined;
    const again = await h.migrate('--source', 'live', ...flags);
    expect(again, flat(again)).toMatchObject({ code: 0 });
    expect([h.empty.world.agents.size, h.empty.world.numbers.size, h.empty.world.webhooks.size]).toEqual([2, 1, 1]);
    expect(flat(again)).toContain(
      `[ ] In the dashboard of old, delete or disable webhook ${hook} (hooks.example.com).`,
    );
    expect(await h.summaryOf('new')).toEqual({ manual: 1, noop: 3 });
    expect(await h.summaryOf('old')).toEqual({ noop: 4 });
    expect(h.text('manifests/agents/desk.yaml')).not.toContain(' id:');
    expect(h.text('.voxform/migrations/old-to-new.csv')).toContain(`Agent/night,${unheard},`);
  });

  it('creates no number that may have lost its plus sign until a person confirms it', async () => {
    await using h = await migrationProject();
    h.old.emulator.setBehaviour({ numericNumbers: true });
    await h.old.number('+4930111');
    await h.old.number('112');
    const live = await h.migrate('--source', 'live');
    expect([live.code, flat(live)]).toEqual([1, expect.stringContaining('returns it as a JSON number')]);
    expect(h.empty.world.numbers.size).toBe(0);

    await h.run('export', '-w', 'old', '--out', 'out', '--layout', 'kind');
    const exported = h.text('out/manifests/phone-numbers.yaml');
    expect(exported).toMatch(/# The API returns a JSON number.*\n +number: "4930111"/);
    const manifests = exported.replaceAll(/\n +id: .*/g, '');
    await h.folder.write('manifests/numbers.yaml', manifests);
    for (const source of ['readable', 'without a key']) {
      const env = { ...KEYS, ...(source === 'readable' ? {} : { OLD_API_KEY: '' }) };
      const args = ['migrate', '--from', 'old', '--to', 'new', '--auto-approve'];
      const refused = await command(args, { cwd: h.folder.root, env });
      expect({ source, code: refused.code, count: h.empty.world.numbers.size }).toEqual({
        source,
        code: 1,
        count: 0,
      });
      expect(flat(refused)).toContain('Write number in full');
    }
    await h.folder.write('manifests/numbers.yaml', manifests.replace('number: "4930111"', 'number: "+4930111"'));
    const project = h.text('voxform.yaml').trimEnd();
    await h.folder.write('voxform.yaml', `${project}\n    patches: { PhoneNumber/112: { number: "112" } }\n`);
    const confirmed = await h.migrate();
    expect(confirmed, flat(confirmed)).toMatchObject({ code: 0 });
    expect([...h.empty.world.numbers.values()].map(({ number }) => number).sort()).toEqual(['+4930111', '112']);
  });

  it('writes nothing if the state of the new workspace is an older one', async () => {
    const agents = ['a', 'b'].map((name) => agentManifest(name)).join('---\n');
    await using h = await migrationProject({ 'manifests/a.yaml': agents });
    await h.run('apply', '-w', 'new', '--auto-approve', '--target', 'Agent/a');
    await h.run('apply', '-w', 'new', '--auto-approve');
    const state = path.join(h.folder.root, '.voxform/new.state.json');
    copyFileSync(`${state}.backup-1`, state);
    const refused = await h.migrate();
    expect([refused.code, flat(refused)]).toEqual([1, expect.stringContaining('is older than')]);
    expect(h.empty.world.agents.size).toBe(2);
  });

  it('shows its progress', async () => {
    const agents = ['a', 'b', 'c'].map((name) => agentManifest(name)).join('---\n');
    await using h = await migrationProject({ 'manifests/a.yaml': agents });
    const args = ['migrate', '--from', 'old', '--to', 'new', '--auto-approve'];
    const { stderr } = await command(args, { cwd: h.folder.root, env: KEYS, columns: 120 });
    expect(stderr).toContain('Applying: 0 of 3, in flight: Agent/');
  });

  it('writes nothing until secrets are set and names and ids are unambiguous, and lists all of this', async () => {
    await using h = await migrationProject({
      'manifests/a.yaml': withBase('a', 'FAQ'),
      'manifests/b.yaml': agentManifest('b').concat(
        '  llm_config: { knowledge_base_ids: [01KBOFTHEOLDONE], api_key: { $secret: MODEL_KEY } }\n',
      ),
      'manifests/c.yaml': withBase('c', 'Prices'),
    });
    for (let count = 0; count < 2; count++) h.empty.dashboard.addKnowledgeBase({ name: 'FAQ' });
    const refused = await h.migrate();
    expect(refused.code).toBe(1);
    expect(flat(refused)).toMatch(
      /Required first: nothing .* \[ \] new has 2 records named KnowledgeBase\/FAQ: \w+, \w+\. Rename .* Agent\/a/,
    );
    expect(flat(refused)).toContain('[ ] Set the secret MODEL_KEY. Agent/b');
    expect(flat(refused)).toContain('contains the KnowledgeBase id 01KBOFTHEOLDONE');
    expect(h.empty.requests.every(({ method }) => method === 'GET')).toBe(true);
    expect(flat(refused), 'the requirements of other resources are listed too').toContain(
      '[ ] In the dashboard, add the knowledge base "Prices".',
    );
    h.empty.dashboard.addKnowledgeBase({ name: 'Prices' });
    const json = await h.migrate('--output', 'json');
    expect(json.code).toBe(1);
    const { summary, checklist } = JSON.parse(json.stdout) as {
      readonly summary: unknown;
      readonly checklist: readonly { readonly moment: string }[];
    };
    expect(summary).toBeNull();
    expect(checklist.filter(({ moment }) => moment === 'must')).toHaveLength(3);
    expect(await h.migrate('--exclude', 'Agent/a', '*/b')).toMatchObject({ code: 0 });
    expect([...h.empty.world.agents.values()].map(({ name }) => name)).toEqual(['c']);
  });

  it('writes the map into the new workspace, and moves ids from manifests to the old workspace', async () => {
    await using h = await migrationProject();
    const faq = h.old.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    const agent = await h.old.agent({
      name: 'a',
      prompt_config: { prompt: 'Be kind.' },
      llm_config: { knowledge_base_ids: [faq.id] },
    });
    await h.folder.write('manifests/a.yaml', `# the only one\n${withBase('a', 'FAQ', `  id: ${agent}\n`)}`);
    await h.folder.write('map.yaml', 'FAQ: Questions\nFQA: Questions\n');
    const early = await h.migrate('--map', 'map.yaml');
    expect(flat(early)).toContain('which is neither in the state of old nor in the state of new');
    expect(flat(early)).toContain('voxform apply -w old');
    await h.run('apply', '-w', 'old', '--auto-approve');
    const { id } = h.empty.dashboard.addKnowledgeBase({ name: 'Questions' });
    const moved = await h.migrate('--map', 'map.yaml');
    expect(moved, flat(moved)).toMatchObject({ code: 0 });
    expect(flat(moved)).toContain('the map has an unused line: no manifest of old refers to "FQA"');
    expect(h.text('manifests/a.yaml')).toBe(`# the only one\n${withBase('a', 'FAQ')}`);
    expect(parse(h.text('voxform.yaml'))).toMatchObject({
      workspaces: {
        old: { ids: { 'Agent/a': agent } },
        new: { knowledge_bases: { FAQ: 'Questions' } },
      },
    });
    expect(h.text('voxform.yaml')).not.toContain('patches');
    expect([...h.empty.world.agents.values()][0]?.llm_config?.knowledge_base_ids).toEqual([id]);
    expect(await h.summaryOf('new')).toEqual({ noop: 1 });
    expect(await h.summaryOf('old')).toEqual({ noop: 1 });
    const before = h.text('voxform.yaml');
    const again = await h.migrate('--map', 'map.yaml');
    expect(again).toMatchObject({ code: 0 });
    expect(flat(again), 'a used line of the map is not reported as unused').not.toContain('names "FAQ"');
    expect(h.text('voxform.yaml')).toBe(before);

    await h.folder.write('voxform.yaml', before.replace('  old:\n', '  old:\n    skip: ["*/*"]\n'));
    const freeBuffer = await h.migrate();
    expect(freeBuffer.code).toBe(1);
    expect(flat(freeBuffer)).toContain('old skips every resource of the manifests');
  });

  it('creates live resources last, and no number before its agent', async () => {
    const number = (name: string, agent: string, more = '') => `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: ${name} }
spec: { number: "+4930${more}111", inbound_agent_id: { $ref: Agent/${agent} } }
`;
    await using h = await migrationProject({
      'manifests/agents.yaml': `${agentManifest('ready')}---\n${agentManifest('refused')}---\n${withBase('late', 'FAQ')}`,
      'manifests/hook.yaml': webhookManifest('hook', 'https://example.com/hook'),
      'manifests/numbers.yaml': [
        number('n1', 'ready', '1'),
        number('n2', 'refused', '2'),
        number('n3', 'late', '3'),
      ].join('---\n'),
    });
    for (const n of [1, 2, 3]) {
      const id = await h.old.number(`+4930${n}111`);
      await h.run('import', `PhoneNumber/n${n}`, id, '-w', 'old');
    }
    const ahead = JSON.parse((await h.migrate('--dry-run', '--output', 'json')).stdout) as {
      readonly summary: Readonly<Record<string, number>>;
      readonly checklist: readonly {
        readonly moment: string;
        readonly text: string;
        readonly addresses: readonly string[];
      }[];
    };
    expect(ahead.summary).toMatchObject({ create: 5, manual: 2 });
    const numbers = ['PhoneNumber/n1', 'PhoneNumber/n2', 'PhoneNumber/n3'];
    const live = ahead.checklist.filter(({ text }) => /\blive\b.*\bold\b|\bold\b.*\blive\b/.test(text));
    expect(live).toMatchObject([
      { moment: 'know', addresses: numbers },
      { moment: 'after', addresses: ['PhoneNumber/n1', 'PhoneNumber/n2'] },
    ]);

    const order: string[] = [];
    h.hook = ({ method, path: at, body }) => {
      if (method !== 'POST') return undefined;
      order.push(at.split('/').at(-1) ?? '');
      return JSON.stringify(body).includes('"refused"') ? REFUSED : undefined;
    };
    const first = await h.migrate();
    expect(first.code, flat(first)).toBe(1);
    expect([order.slice(0, 2), order.slice(2).sort()]).toEqual([
      ['agents', 'agents'],
      ['numbers', 'webhooks'],
    ]);
    h.hook = () => undefined;
    h.empty.dashboard.addKnowledgeBase({ name: 'FAQ' });
    expect(await h.migrate()).toMatchObject({ code: 0 });
    expect(await h.summaryOf('new')).toEqual({ manual: 3, noop: 4 });
  });

  it('records the ids of both workspaces for recover and import', async () => {
    const files = Object.fromEntries(
      ['a', 'b'].map((name) => [
        `manifests/${name}.yaml`,
        agentManifest(name).replace(`spec:\n  name: ${name}`, 'spec:\n  name: Desk'),
      ]),
    );
    await using h = await migrationProject(files);
    for (const address of ['Agent/a', 'Agent/b']) {
      const id = await h.old.agent({ name: 'Desk', prompt_config: { prompt: 'Be kind.' } });
      await h.run('import', address, id, '-w', 'old');
    }
    expect(await h.migrate()).toMatchObject({ code: 0 });
    const expected = await stateIds(h);
    expect(Object.keys(expected)).toHaveLength(4);
    const map = '.voxform/migrations/old-to-new.csv';
    const text = h.text(map);

    rmSync(path.join(h.folder.root, '.voxform'), { recursive: true });
    const blind = await h.run('recover', '-w', 'new', '--auto-approve');
    expect([blind.code, await stateIds(h)]).toEqual([2, {}]);
    await h.folder.write(map, text);
    const sighted = await h.run('recover', '-w', 'new', '--auto-approve');
    expect(sighted, flat(sighted)).toMatchObject({ code: 0 });
    const imported = await h.run('import', '-w', 'old', '--from', map);
    expect(imported, flat(imported)).toMatchObject({ code: 0 });
    expect(await stateIds(h)).toEqual(expected);
  });

  it('stops after a batch with too many failures, and continues when it is run again', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    await using h = await migrationProject(
      Object.fromEntries(names.map((name) => [`manifests/${name}.yaml`, agentManifest(name)])),
    );
    let posts = 0;
    h.hook = ({ method }) => (method === 'POST' && ++posts <= 2 ? { status: 422 } : undefined);
    const tolerant = ['--batch', '2', '--max-failures', '1'];
    const stopped = await h.migrate(...tolerant, '--concurrency', '1');
    expect(stopped.code).toBe(1);
    expect(flat(stopped)).toContain('failures after batch 1 of 3: 2; --max-failures allows 1');
    expect(h.empty.world.agents.size).toBe(0);
    h.hook = ({ method }) => (method === 'POST' && ++posts === 4 ? { status: 422 } : undefined);
    expect(await h.migrate(...tolerant)).toMatchObject({ code: 1 });
    expect(h.empty.world.agents.size, 'one failure is allowed').toBe(5);
    expect(await h.migrate(...tolerant)).toMatchObject({ code: 0 });
    expect([...h.empty.world.agents.values()].map(({ name }) => name).sort()).toEqual(names);
  });

  it('names the workspace once in each command that it prints', async () => {
    await using h = await migrationProject({ 'manifests/a.yaml': agentManifest('a') });
    h.hook = ({ method }) => (method === 'POST' ? { status: 502 } : undefined);
    await h.migrate();
    h.hook = () => undefined;
    const { checklist } = JSON.parse((await h.migrate('--output', 'json')).stdout) as {
      readonly checklist: readonly { readonly text: string }[];
    };
    const commands = checklist.flatMap(({ text }) => text.match(/voxform (import|state) .*?(?=voxform|$)/g) ?? []);
    expect(commands.map((text) => text.split(' -w new').length)).toEqual([2, 2]);
  });

  it('lists unknown creates once, with the command that resolves all of them', async () => {
    const names = ['a', 'b', 'c'];
    await using h = await migrationProject({
      'manifests/a.yaml': names.map((name) => agentManifest(name)).join('---\n'),
    });
    h.hook = ({ method }) => (method === 'POST' ? { status: 502 } : undefined);
    await h.migrate();
    h.hook = () => undefined;
    const { checklist } = JSON.parse((await h.migrate('--dry-run', '--output', 'json')).stdout) as {
      readonly checklist: readonly { readonly text: string; readonly addresses: readonly string[] }[];
    };
    const about = checklist.filter(({ text }) => text.includes('voxform state resolve'));
    expect(about.map(({ addresses }) => addresses)).toEqual([names.map((name) => `Agent/${name}`)]);
    const resolve = /voxform (state resolve .*)/.exec(about[0]?.text ?? '')?.[1]?.split(' ') ?? [];
    expect(await h.run(...resolve, '--auto-approve')).toMatchObject({ code: 0 });
    expect(await h.migrate()).toMatchObject({ code: 0 });
    expect(h.empty.world.agents.size).toBe(3);
  });

  it('prints commands that run unchanged', async () => {
    await using h = await migrationProject({ 'manifests/a.yaml': agentManifest('a') });
    expect(flat(await h.migrate())).toContain('Run voxform plan -w new to check.');
    expect(await h.run('plan', '-w', 'new')).toMatchObject({ code: 0 });
    await h.folder.write('manifests/b.yaml', agentManifest('b'));
    await h.migrate();
    const state = path.join(h.folder.root, '.voxform/new.state.json');
    copyFileSync(`${state}.backup-1`, state);
    const refused = await h.migrate();
    expect(refused.code).toBe(1);
    const push = /voxform (state push \S+ -w new)/.exec(flat(refused))?.[1]?.split(' ') ?? [];
    expect(await h.run(...push)).toMatchObject({ code: 0 });
    expect(await h.migrate()).toMatchObject({ code: 0 });
    expect(h.empty.world.agents.size).toBe(2);

    await using used = await migrationProject({ 'manifests/notes.txt': 'mine' });
    expect(flat(await used.migrate('--source', 'live'))).toContain('voxform export --out DIR -w old. ');
  });

  it('migrates selected resources, and leaves undeclared ones alone', async () => {
    const number = `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: main }
spec: { number: "+4930111", inbound_agent_id: { $ref: Agent/a } }
`;
    await using h = await migrationProject({
      'manifests/a.yaml': agentManifest('a'),
      'manifests/gone.yaml': agentManifest('gone'),
    });
    await h.run('apply', '-w', 'new', '--auto-approve', '--target', 'Agent/gone');
    await h.folder.write('manifests/gone.yaml', number);
    const part = await h.migrate('--include', 'PhoneNumber/*', '--output', 'json');
    expect(part.code).toBe(0);
    const { checklist, resources } = JSON.parse(part.stdout) as {
      readonly checklist: readonly {
        readonly moment: string;
        readonly text: string;
        readonly addresses: readonly string[];
      }[];
      readonly resources: readonly {
        readonly address: string;
        readonly action: string;
        readonly to_id: string;
      }[];
    };
    expect(checklist).toContainEqual(
      expect.objectContaining({
        moment: 'know',
        text: expect.stringContaining('Agent/a is left out'),
        addresses: ['PhoneNumber/main'],
      }),
    );
    expect(resources).toMatchObject([
      { address: 'PhoneNumber/main', action: 'create', to_id: [...h.empty.world.numbers.keys()][0] },
    ]);
    expect(await h.summaryOf('new')).toEqual({ create: 1, forget: 1, manual: 1 });
  });

  it('imports records that already exist, and lists pending steps and skipped resources', async () => {
    const files = {
      'manifests/a.yaml': agentManifest('a'),
      'manifests/c.yaml': agentManifest('c'),
      'manifests/people.yaml': `apiVersion: voxform/v1
kind: WorkspaceUser
metadata: { name: ann }
spec: { email: ann@example.com, role: admin, agent_ids: [{ $ref: Agent/a }] }
---
apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: main }
spec: { number: "+4930111", nickname: Main }
`,
    };
    await using h = await migrationProject(files, '    skip: [Agent/c]\n');
    const there = h.empty.dashboard;
    const created = await fetch(`${h.empty.url}/api/v1/numbers`, {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      body: JSON.stringify({ number: '+4930111', nickname: 'Main' }),
    });
    expect(created.status).toBe(201);
    const first = await h.migrate();
    expect(first, flat(first)).toMatchObject({ code: 0 });
    expect(flat(first)).toContain('- already in new: imported, not created PhoneNumber/main');
    expect(flat(first)).toContain('- not migrated: skipped by the settings of new Agent/c');
    expect(flat(first)).toContain('[ ] In the dashboard, invite ann@example.com to the workspace.');
    expect(flat(first)).toContain('[ ] In the dashboard, publish it when it is ready. Agent/a');
    expect(h.empty.world.numbers.size).toBe(1);
    there.inviteUser({ email: 'Ann@example.com' });
    expect(await h.migrate()).toMatchObject({ code: 0 });
    expect([...h.empty.world.users.values()]).toMatchObject([
      { role: 'admin', agent_ids: [...h.empty.world.agents.keys()] },
    ]);
    expect(await h.summaryOf('new')).toEqual({ noop: 3 });
  });

  it.each([
    {
      reason: 'no terminal and no approval',
      args: ['--from', 'old', '--to', 'new'],
      code: 1,
      says: 'approval needs a terminal',
    },
    {
      reason: 'one workspace twice',
      args: ['--from', 'old', '--to', 'old'],
      code: 64,
      says: 'the same workspace',
    },
    {
      reason: 'an unknown workspace',
      args: ['--from', 'odl', '--to', 'new'],
      code: 1,
      says: 'did you mean "old"',
    },
    {
      reason: '-w',
      args: ['--from', 'old', '--to', 'new', '-w', 'new'],
      code: 64,
      says: 'use --from and --to',
    },
    {
      reason: 'failures without batches',
      args: ['--from', 'old', '--to', 'new', '--max-failures', '1'],
      code: 64,
      says: 'needs --batch',
    },
    {
      reason: 'a live source together with manifests',
      args: ['--from', 'old', '--to', 'new', '--source', 'live'],
      code: 1,
      says: 'project without manifests',
    },
    {
      reason: 'a missing map',
      args: ['--from', 'old', '--to', 'new', '--map', 'no.yaml'],
      code: 1,
      says: 'cannot read no.yaml',
    },
    {
      reason: 'a glob without a match',
      args: ['--from', 'old', '--to', 'new', '--include', 'X/*'],
      code: 64,
      says: 'matches no resource',
    },
  ])('refuses $reason before anything is written', async ({ args, code, says }) => {
    await using h = await migrationProject({ 'manifests/a.yaml': agentManifest('a') });
    const refused = await h.run('migrate', ...args);
    expect(refused.code, flat(refused)).toBe(code);
    expect(flat(refused)).toContain(says);
    expect(h.empty.requests.every(({ method }) => method === 'GET')).toBe(true);
  });
});
