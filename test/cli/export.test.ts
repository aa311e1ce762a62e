import { readdir, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { tokenPart } from '../../src/runs/export/token-urls.ts';
import type { JsonObject } from '../../src/values/json.ts';
import { API_KEY, agentManifest, type TestWorkspace, testWorkspace } from './workspace.ts';

const FILES = { 'manifests/a.yaml': agentManifest('reception', 'Be kind.') };

async function post(workspace: TestWorkspace, what: string, body: JsonObject): Promise<string> {
  const answer = await fetch(`${workspace.emulator.url}/api/v1/${what}`, {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return ((await answer.json()) as { data: { id: string } }).data.id;
}

/** Creates two agents, a number and a webhook as people do in the dashboard. No record refers to the second agent. */
async function byHand(workspace: TestWorkspace): Promise<{ agent: string; unheard: string; hook: string }> {
  const { dashboard } = workspace.emulator;
  const base = dashboard.addKnowledgeBase({ name: 'FAQ' });
  const agent = await post(workspace, 'agents', {
    name: 'Support line',
    llm_config: { knowledge_base_ids: [base.id] },
    prompt_config: { prompt: 'One\nTwo\nThree\nFour\n' },
  });
  const unheard = await post(workspace, 'agents', { name: 'Support line' });
  const number = await post(workspace, 'numbers', { number: '+12025550120', nickname: 'Main' });
  dashboard.linkNumber(number, { inbound_agent_id: agent });
  return { agent, unheard, hook: await post(workspace, 'webhooks', { url: 'https://example.com/hook' }) };
}

/** Returns every file of a folder with its content. */
async function tree(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(
      files.sort().map(async (file) => [path.relative(folder, file), await readFile(file, 'utf8')] as const),
    ),
  );
}

function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

describe('export', () => {
  it('requests only keys that the platform needs, and warns of tokens in URLs', async () => {
    await using workspace = await testWorkspace(FILES);
    const agent = (name: string, provider: string) =>
      post(workspace, 'agents', { name, llm_config: { provider, model: 'm' } });
    const ids = [await agent('Own', 'openai'), await agent('Other', 'openai'), await agent('Theirs', 'internal')];
    const url = 'https://hooks.example.com/services/T00/B00/XyZ1xyz2XYZ3xyz4';
    const hook = await post(workspace, 'webhooks', { url });
    const flags = ['--agents', ...ids, '--webhooks', hook];
    const { code, stdout, stderr } = await workspace.run('export', '--out', 'out', ...flags);
    expect(code, stderr).toBe(0);
    const files = await tree(path.join(workspace.folder.root, 'out'));
    expect(flat(stdout)).toContain('OPENAI_API_KEY: llm_config.api_key of Agent/other and 1 more');
    expect(files['.env.example']?.match(/^\w+=/gm)).toEqual(['VOXFORM_API_KEY=', 'OPENAI_API_KEY=']);
    expect(files['manifests/agents/own.yaml']).toContain('# api_key: { $secret: OPENAI_API_KEY }');
    expect(files['manifests/agents/other.yaml']).toContain('# api_key: { $secret: OPENAI_API_KEY }');
    expect(files['manifests/agents/theirs.yaml']).not.toContain('api_key');
    expect(`${stdout}${files['.env.example']}`).not.toContain('THEIRS_API_KEY');
    const chosen = await workspace.run('export', '--out', 'set', ...flags, '--api-key-secret', 'MODEL_KEY');
    expect(chosen.code, chosen.stderr).toBe(0);
    const set = await tree(path.join(workspace.folder.root, 'set'));
    expect(set['manifests/agents/own.yaml']).toMatch(/^ {4}api_key: { \$secret: MODEL_KEY }$/m);
    expect(set['manifests/agents/theirs.yaml']).not.toContain('api_key');
    expect(set['.env.example']).toMatch(/Required by llm_config.api_key of Agent\/other, and 1 more.\nMODEL_KEY=/);
    const validated = await workspace.run('-C', 'set', 'validate');
    expect(validated.code, validated.stdout).toBe(0);
    const mistaken = await workspace.run('export', '--out', 'no', '--api-key-secret', 'VOXFORM_API_KEY');
    expect(mistaken.code).toBe(64);
    const [file = '', text = ''] = Object.entries(files).find(([name]) => name.includes('webhooks/')) ?? [];
    const line = text.split('\n').findIndex((each) => each.includes('url:')) + 1;
    expect(flat(stderr)).toContain(`${file}:${line} url may contain a token in its path`);
  });

  it.each([
    ['https://hooks.example.com/calls', undefined],
    ['https://example.com/voice-agents/incoming-calls-of-the-support-line-2024', undefined],
    ['https://example.com/api/handleIncomingVoiceCallEvents?team=support', undefined],
    ['https://ann:pass@example.com/', 'user info'],
    ['https://token@example.com/', 'user info'],
    ['https://example.com/calls?access_token=abc', 'query'],
    ['https://example.com/calls?x=9f8e7d6c5b4a39281706', 'query'],
    ['https://hooks.example.com/services/T0000/B0000/XyZ1xyz2XYZ3xyz4abcd', 'path'],
    ['https://example.com/hook/0d0e7b2a-1f5c-4f0e-9a3b-0123456789ab/in', 'path'],
    ['https://example.com/hook/aBcDeFgHiJkLmNoPqRsTuV', 'path'],
  ])('finds a token in %s: %s', (url, part) => {
    expect(tokenPart(url)).toBe(part);
  });

  it('writes a project whose plan adopts every record, with the same files each time', async () => {
    await using workspace = await testWorkspace(FILES);
    await workspace.run('apply', '--auto-approve');
    const { unheard, hook } = await byHand(workspace);
    await workspace.folder.write('ids.txt', `# kept by hand\n${unheard}\n`);
    const writes = workspace.writes();
    const flags = ['--agents-from', 'ids.txt', '--webhooks', hook];
    const { code, stdout } = await workspace.run('export', '--out', 'out/one', ...flags);
    expect(code).toBe(0);
    expect(flat(stdout)).toContain('Exported to out/one: 3 Agent, 1 PhoneNumber, 1 Webhook.');
    expect(flat(stdout)).toContain('SUPPORT_LINE_API_KEY: llm_config.api_key of Agent/support-line');
    const out = path.join(workspace.folder.root, 'out/one');
    const files = await tree(out);
    expect(Object.keys(files)).toEqual([
      '.env.example',
      '.gitignore',
      '.vscode/settings.json',
      'manifests/agents/reception.yaml',
      'manifests/agents/support-line-2.yaml',
      'manifests/agents/support-line.prompt.md',
      'manifests/agents/support-line.yaml',
      'manifests/phone-numbers/main.yaml',
      'manifests/webhooks/example-com.yaml',
      'schemas/manifest.schema.json',
      'schemas/project.schema.json',
      'voxform.yaml',
    ]);
    expect(Object.values(files).join('\n')).not.toContain(API_KEY);
    const plan = await workspace.run('-C', 'out/one', 'plan', '--output', 'json');
    const { summary } = JSON.parse(plan.stdout) as { summary: Record<string, number> };
    expect(summary).toMatchObject({ adopt: 5, create: 0, update: 0, manual: 0, blocked: 0 });
    expect(workspace.writes()).toBe(writes);

    await workspace.run('export', '--out', 'out/two', ...flags);
    expect(await tree(path.join(workspace.folder.root, 'out/two'))).toEqual(files);
  });

  it('reads a workspace from a folder above its project', async () => {
    await using workspace = await testWorkspace({ 'client/manifests/a.yaml': agentManifest('reception') });
    const { url, workspaceId } = workspace.emulator;
    await rename(`${workspace.folder.root}/voxform.yaml`, `${workspace.folder.root}/client/voxform.yaml`);
    const home = { XDG_STATE_HOME: `${workspace.folder.root}/home` };
    await workspace.runWith(home, '-C', 'client', 'apply', '--auto-approve');
    const env = {
      ...home,
      VOXFORM_BASE_URL: url,
      VOXFORM_WORKSPACE_ID: workspaceId,
      VOXFORM_API_KEY: API_KEY,
    };
    const { code, stderr } = await workspace.runWith(env, 'export', '--out', 'copy');
    expect(code, stderr).toBe(0);
    expect(Object.keys(await tree(`${workspace.folder.root}/copy`))).toContain('voxform.yaml');
  });

  it('keeps the names of the project, and writes one file per kind on request', async () => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('front-desk').replace(
        '\n  name: front-desk\n  prompt',
        '\n  name: Reception\n  prompt',
      ),
      'manifests/n.yaml':
        'apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: hotline }\nspec: { number: "12025550120" }\n',
    });
    await workspace.run('apply', '--auto-approve', '--target', 'Agent/front-desk');
    await post(workspace, 'numbers', { number: '+12025550120', nickname: 'Main' });
    await workspace.run('export', '--out', 'out', '--layout', 'kind');
    const files = await tree(path.join(workspace.folder.root, 'out/manifests'));
    expect(Object.keys(files)).toEqual(['agents.yaml', 'phone-numbers.yaml']);
    expect(files['agents.yaml']).toContain('name: front-desk');
    expect(files['phone-numbers.yaml']).toContain('name: hotline');
    expect((await workspace.run('-C', 'out', 'validate')).code).toBe(0);
    const again = await workspace.run('export', '--out', 'out', '--layout', 'kind', '--force');
    expect(again.code).toBe(0);
    expect(flat(again.stdout)).toContain('Overwritten: - .env.example');
    expect(await tree(path.join(workspace.folder.root, 'out/manifests'))).toEqual(files);
    expect(again.stderr).not.toContain('manifests of before');

    const other = await workspace.run('export', '--out', 'out', '--force');
    expect(flat(other.stdout)).toContain(
      'Already in the project, left unchanged: - manifests/agents.yaml - manifests/phone-numbers.yaml',
    );
    expect(flat(other.stderr)).toContain('older manifests may declare the same records');
  });

  it('shortens long lists, and prints them in full with --verbose', async () => {
    await using workspace = await testWorkspace({});
    const ids = Array.from({ length: 25 }, (_, index) => `01GONE${index}`);
    const short = await workspace.run('export', '--out', 'one', '--agents', ...ids);
    expect(flat(short.stdout)).toMatch(/01GONE3: .* and 7 more \(--verbose lists them\)/);
    const whole = await workspace.run('export', '--verbose', '--out', 'two', '--agents', ...ids);
    for (const id of ids) expect(whole.stdout).toContain(`Agent ${id}:`);
    expect(whole.stdout).not.toContain('more');
  });

  it('suggests each secret of the project once', async () => {
    const withKey = (name: string) => `${agentManifest(name)}  llm_config: { api_key: { $secret: OPENAI_API_KEY } }\n`;
    await using workspace = await testWorkspace({
      'manifests/a.yaml': withKey('day'),
      'manifests/b.yaml': withKey('night'),
    });
    const env = { OPENAI_API_KEY: 'sk-real-key-0001' };
    await workspace.runWith(env, 'apply', '--auto-approve');
    expect((await workspace.runWith(env, 'export', '--out', 'out')).code).toBe(0);
    const files = await tree(path.join(workspace.folder.root, 'out'));
    expect(files['manifests/agents/night.yaml']).toMatch(/^ *# +api_key: \{ \$secret: OPENAI_API_KEY \}$/m);
    expect(files['.env.example']?.match(/^\w+=/gm)).toEqual(['VOXFORM_API_KEY=', 'OPENAI_API_KEY=']);
    expect(Object.values(files).join('\n')).not.toContain(env.OPENAI_API_KEY);
  });

  it('overwrites a voxform.yml and does not create a second project file', async () => {
    await using workspace = await testWorkspace(FILES);
    await byHand(workspace);
    await workspace.folder.write('out/voxform.yml', 'version: 1\n');
    expect(await workspace.run('export', '--out', 'out', '--force')).toMatchObject({ code: 0 });
    const files = await tree(path.join(workspace.folder.root, 'out'));
    expect(Object.keys(files).filter((file) => file.startsWith('voxform.'))).toEqual(['voxform.yml']);
    expect(files['voxform.yml']).toContain('workspace_id');
    expect((await workspace.run('-C', 'out', 'validate')).stdout).toContain('Valid');
  });

  it('reports records that it did not find', async () => {
    await using workspace = await testWorkspace({});
    workspace.emulator.dashboard.recordCall({ agent_id: '01GONE' });
    const { code, stdout } = await workspace.run('export', '--out', 'out');
    expect(code).toBe(0);
    expect(flat(stdout)).toContain('Exported to out: nothing was found.');
    expect(flat(stdout)).toContain('Webhook: the API cannot list them');
    expect(flat(stdout)).toContain('Agent 01GONE: not found on the platform (it had a call at');
  });

  it.each([
    ['a folder that is not empty', ['--out', '.'], 1, 'is not empty'],
    ['a file', ['--out', 'voxform.yaml'], 1, 'not a folder'],
    ['no folder', [], 64, '--out <dir>'],
    ['a folder without a name', ['--out', ''], 64, '--out <dir>'],
    ['an invalid date', ['--out', 'out', '--calls-from', 'monday'], 64, '2026-01-31'],
    ['a missing list', ['--out', 'out', '--agents-from', 'none.txt'], 1, 'cannot read none.txt'],
  ])('refuses %s', async (_, args, expected, message) => {
    await using workspace = await testWorkspace({});
    const before = await tree(workspace.folder.root);
    const { code, stderr } = await workspace.run('export', ...args);
    expect(flat(stderr)).toContain(message);
    expect(code).toBe(expected);
    expect(await tree(workspace.folder.root)).toEqual(before);
    expect(workspace.emulator.requests).toEqual([]);
  });

  it('writes nothing if the records belong to another workspace', async () => {
    await using workspace = await testWorkspace({});
    const { agent } = await byHand(workspace);
    const { dashboard, world } = workspace.emulator;
    dashboard.edit('agents', agent, { workspace_id: '01ANOTHER' });
    for (const id of world.numbers.keys()) dashboard.edit('numbers', id, { workspace_id: '01ANOTHER' });
    for (const id of world.knowledgeBases.keys()) {
      dashboard.edit('knowledge-bases', id, { workspace_id: '01ANOTHER' });
    }
    const { code, stderr } = await workspace.run('export', '--out', 'out');
    expect(code).toBe(1);
    expect(flat(stderr)).toContain('belongs to workspace 01ANOTHER');
    expect(await readdir(workspace.folder.root)).toEqual(['voxform.yaml']);
  });

  it('skips records of other workspaces, and reports those that were named', async () => {
    await using workspace = await testWorkspace({}, { behaviour: { seesOtherWorkspace: true } });
    const { agent, unheard } = await byHand(workspace);
    workspace.emulator.dashboard.edit('agents', unheard, { workspace_id: '01ANOTHER' });
    const { code, stdout, stderr } = await workspace.run('export', '--out', 'out', '--agents', unheard, '-v');
    expect(code).toBe(0);
    expect(flat(stdout + stderr)).toContain(`${unheard}: belongs to workspace 01ANOTHER`);
    expect(flat(stderr)).toMatch(/Records of other workspaces skipped: [3-9]/);
    const files = JSON.stringify(await tree(workspace.folder.root));
    expect(files.match(/kind: (Agent|PhoneNumber)/g)?.sort()).toEqual(['kind: Agent', 'kind: PhoneNumber']);
    expect(files).toContain(agent);
  });
});

describe('an export that is killed', () => {
  it('leaves no file, also after it read many records', { tags: ['long'] }, async () => {
    const arrived = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    await using workspace = await testWorkspace(
      { 'tmp/.keep': '' },
      {
        // This request is the last one: the export has read everything else by then.
        async onRequest({ path: asked }) {
          if (!asked.includes('/knowledge-bases')) return undefined;
          arrived.resolve();
          await opened.promise;
          return undefined;
        },
      },
    );
    const prompt = 'Be kind to everybody who calls.\n'.repeat(7000);
    const ids = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        post(workspace, 'agents', { name: `a ${index}`, prompt_config: { prompt } }),
      ),
    );
    const before = await tree(workspace.folder.root);
    const { child, ended } = workspace.start(['export', '--out', 'out', '--agents', ...ids], {
      env: { TMPDIR: path.join(workspace.folder.root, 'tmp') },
    });
    await arrived.promise;
    child.kill('SIGKILL');
    expect(await ended).toMatchObject({ signal: 'SIGKILL' });
    opened.resolve();
    expect(await tree(workspace.folder.root)).toEqual(before);
  });
});

describe('the placeholder of an export', () => {
  it.each([
    [
      'for a secret',
      { OPENAI_API_KEY: 'voxform-export-placeholder' },
      'the secret OPENAI_API_KEY still has the placeholder',
    ],
    ['for the API key', { VOXFORM_API_KEY: 'voxform-export-placeholder' }, 'VOXFORM_API_KEY still has the placeholder'],
  ])('is never sent %s', async (_, env, message) => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': `${agentManifest('a')}  llm_config: { api_key: { $secret: OPENAI_API_KEY } }\n`,
    });
    const variables = { OPENAI_API_KEY: 'sk-real-key-0001', ...env };
    const { code, stderr } = await workspace.runWith(variables, 'apply', '--auto-approve');
    expect(flat(stderr)).toContain(message);
    expect(code).toBe(1);
    expect(workspace.emulator.requests).toEqual([]);
  });
});
