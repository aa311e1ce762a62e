import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { BehaviourPatch } from '../../src/emulator/behaviour.ts';
import type { DraftDiffDocument } from '../../src/runs/draft-diff.ts';
import { schemaProblems } from '../schema-problems.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { API_KEY, agentManifest, testWorkspace } from './workspace.ts';

const FILE = 'manifests/day.yaml';

describe('versions and rollback', () => {
  it('list, show and compare versions, and restore one in the manifest', async () => {
    await using workspace = await testWorkspace({
      [FILE]: `# Who answers by day.\n${agentManifest('day', 'Be kind.')}`,
    });
    await workspace.run('apply', '--auto-approve');
    const agent = [...workspace.emulator.world.agents.values()][0]?.id ?? '';
    workspace.emulator.dashboard.publishAgent(agent);
    await workspace.folder.write(FILE, `# Who answers by day.\n${agentManifest('day', 'Be brief.')}`);
    await workspace.run('apply', '--auto-approve');
    workspace.emulator.dashboard.publishAgent(agent);

    await step('versions are listed, shown and compared', async () => {
      const listed = JSON.parse((await workspace.run('versions', 'Agent/day', '--output', 'json')).stdout) as object[];
      expect(listed).toHaveLength(2);
      expect((await workspace.run('versions', 'Agent/day', '1')).stdout).toContain('prompt: Be kind.');
      const { stdout } = await workspace.run('versions', 'Agent/day', '1', '--diff', '2');
      expect(stdout).toMatch(/^-\s+prompt: Be kind\.$/m);
      expect(stdout).toMatch(/^\+\s+prompt: Be brief\.$/m);
      expect(stdout).toContain('--- Agent/day version 1\n+++ Agent/day version 2\n');
      expect(stdout, 'timestamps of versions are not compared').not.toMatch(/published_at|updated_at|^[-+]version/m);
      const data = JSON.parse(
        (await workspace.run('versions', 'Agent/day', '1', '--diff', '2', '--output', 'json')).stdout,
      ) as object;
      expect(data).toMatchObject({ before: { version: 1 }, after: { version: 2 } });
      expect((await workspace.run('versions', 'Agent/day', '2', '--diff', '2')).stdout).toContain('are identical');
    });

    await step('a rollback edits only the manifest, after approval', async () => {
      const dry = await workspace.run('rollback', 'Agent/day', '--to', '1', '--dry-run');
      expect(dry.stdout).toContain('+    prompt: "Be kind."');
      const file = path.join(workspace.folder.root, FILE);
      expect(await readFile(file, 'utf8')).toContain('Be brief.');
      const writes = workspace.writes();
      expect((await workspace.run('rollback', 'Agent/day', '--to', '1')).code).toBe(1);
      expect((await workspace.run('rollback', 'Agent/day', '--to', '1', '--auto-approve')).code).toBe(0);
      expect(await readFile(file, 'utf8')).toBe(`# Who answers by day.\n${agentManifest('day', 'Be kind.')}`);
      expect(workspace.writes()).toBe(writes);
      expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(2);
      expect((await workspace.run('rollback', 'Agent/day', '--to', '1', '--auto-approve')).stdout).toContain(
        'No managed field of Agent/day differs',
      );
    });

    await step('without a version, a rollback lists them and suggests the previous one', async () => {
      const unnamed = await workspace.run('rollback', 'Agent/day', '--auto-approve');
      expect(unnamed).toMatchObject({ code: 64, stdout: expect.stringMatching(/ 2 .*\n +1 /) });
      expect(unnamed.stderr).toContain('voxform rollback Agent/day --to 1');
      const file = path.join(workspace.folder.root, FILE);
      const before = await readFile(file, 'utf8');
      await workspace.folder.write(FILE, before.replace('Be kind.', 'Be quick.'));
      const env = { VOXFORM_API_KEY: API_KEY, NO_COLOR: '1' };
      const { code, stdout } = await command(['rollback', 'Agent/day'], {
        ...{ cwd: workspace.folder.root, env, columns: 80, typed: 'yes\n' },
      });
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/ 2 .*\n +1 /) });
      expect(await readFile(file, 'utf8')).toBe(before);
    });

    await step('a version of another workspace is refused', async () => {
      workspace.emulator.dashboard.edit('agents', agent, { workspace_id: '01ANOTHER' });
      workspace.emulator.dashboard.publishAgent(agent);
      const foreign = await workspace.run('rollback', 'Agent/day', '--to', '3', '--auto-approve');
      expect(foreign).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('belongs to workspace 01ANOTHER'),
      });
    });
  });

  it('restore the fields of a version, and report fields that versions never contain', async () => {
    const hidden = '  knowledge_base_config: { chunks_to_retrieve: 3 }\n';
    await using workspace = await testWorkspace({ [FILE]: agentManifest('day', 'Be kind.') + hidden });
    await workspace.run('apply', '--auto-approve');
    const agent = [...workspace.emulator.world.agents.values()][0]?.id ?? '';
    workspace.emulator.dashboard.publishAgent(agent);
    await workspace.folder.write(FILE, agentManifest('day', 'Be brief.') + hidden);
    const rollback = ['rollback', 'Agent/day', '--to', '1', '--auto-approve'] as const;
    expect(await workspace.run(...rollback)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('knowledge_base_config.chunks_to_retrieve'),
    });
    const file = path.join(workspace.folder.root, FILE);
    expect(await readFile(file, 'utf8')).toBe(agentManifest('day', 'Be kind.') + hidden);
    const again = await workspace.run(...rollback, '--output', 'json');
    expect(again.code).toBe(0);
    const unshown = ['knowledge_base_config.chunks_to_retrieve'];
    expect(JSON.parse(again.stdout)).toMatchObject({ refused: [], unshown, written: false });
  });

  it('report wrong usage and missing versions', async () => {
    await using workspace = await testWorkspace({ [FILE]: agentManifest('day') });
    await workspace.run('apply', '--auto-approve');
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['versions', 'Webhook/x'], 64, 'has no versions'],
      [['versions', 'Agent/dya'], 64, 'did you mean "Agent/day"?'],
      [['versions', 'Agent/day', '7'], 64, 'Agent/day has no published version 7'],
      [['versions', 'Agent/day', '--diff', '1'], 64, '--diff needs a version'],
      [['versions', 'Agent/day', '1', '--diff', 'published'], 64, 'compares the draft: omit the version'],
      [['versions', 'Agent/day', '--output', 'markdown'], 64, '--output markdown needs --diff published'],
      [['versions', 'Agent/day', '--detailed-exitcode'], 64, '--detailed-exitcode needs --diff published'],
      [['rollback', 'Agent/day', '--to', '7'], 64, 'Agent/day has no published version 7'],
      [['rollback', 'Agent/day'], 64, 'never published'],
      [['rollback', 'Agent/nobody', '--to', '1'], 64, 'no manifest declares Agent/nobody'],
    ];
    for (const [args, expected, message] of cases) {
      const { code, stderr } = await workspace.run(...args);
      expect(stderr, args.join(' ')).toContain(message);
      expect(code, args.join(' ')).toBe(expected);
    }
  });
});

describe('versions --diff published', () => {
  const DIFF = ['versions', 'Agent/day', '--diff', 'published'] as const;
  const day = (prompt: string, more = '') => `${agentManifest('day', prompt)}${more}`;
  const VOICE = '  tts_config: { voice_id: warm-1 }\n';
  const KEY = '  llm_config: { provider: openai, api_key: { $secret: PROVIDER_KEY } }\n';
  const SECRET = { PROVIDER_KEY: 'sk-provider-key' };

  async function published(spec: string, behaviour: BehaviourPatch = {}) {
    const workspace = await testWorkspace({ [FILE]: spec }, { behaviour });
    await workspace.runWith(SECRET, 'apply', '--auto-approve');
    const agent = [...workspace.emulator.world.agents.keys()][0] ?? '';
    const publish = () => workspace.emulator.dashboard.publishAgent(agent);
    const run = (...args: string[]) => workspace.runWith(SECRET, ...args);
    const apply = async (next: string) => {
      await workspace.folder.write(FILE, next);
      await run('apply', '--auto-approve');
    };
    const json = async () => JSON.parse((await run(...DIFF, '--output', 'json')).stdout) as DraftDiffDocument;
    return { workspace, agent, publish, run, apply, json };
  }

  it('prints the changes of a publication with two requests', { tags: ['long'] }, async () => {
    const { workspace, publish, run, apply, json } = await published(day('Be kind.', KEY));
    await using _ = workspace;

    const never = await run(...DIFF, '--detailed-exitcode');
    expect(never.stdout).toContain('Agent/day was never published');
    expect(never.code).toBe(2);
    expect((await json()).published).toBeNull();

    publish();
    const same = await run(...DIFF, '--detailed-exitcode');
    expect(same.stdout.replace(/\s+/g, ' ')).toContain(
      'Publishing Agent/day would change nothing that can be compared.',
    );
    expect(same.code).toBe(0);
    expect(await json()).toMatchObject({ changes: [], unknown: ['llm_config.api_key'] });

    await apply(day('Be brief.', KEY));
    workspace.emulator.clearRequests();
    const differs = await run(...DIFF, '--detailed-exitcode');
    expect(workspace.emulator.requests.map(({ path }) => path.replace(/.*agents\/\w+/, ''))).toEqual([
      '',
      '/versions/latest',
    ]);
    expect(differs.stdout).toMatch(/^- version 1 published .*\n\+ draft {5}updated /);
    expect(differs.stdout).toContain('prompt_config.prompt: Be kind. -> Be brief.');
    expect(differs.stdout).toContain('Publishing Agent/day would change 1 field.');
    expect(differs.code).toBe(2);
    const document = await json();
    expect(schemaProblems('draft-diff', document)).toEqual([]);
    expect(document).toMatchObject({
      address: 'Agent/day',
      published: { version: 1 },
      changes: [{ path: 'prompt_config.prompt', before: 'Be kind.', after: 'Be brief.', verified: true }],
    });
    const { stdout: comment } = await run(...DIFF, '--output', 'markdown');
    expect(comment).toContain('```diff\n- prompt_config.prompt: Be kind.\n+ prompt_config.prompt: Be brief.\n```');
    expect((await run(...DIFF)).code, 'only with --detailed-exitcode').toBe(0);
  });

  it('is correct whichever fields reads and versions return', async () => {
    const { workspace, agent, publish, apply, json } = await published(day('Be kind.', VOICE), {
      shows: { read: ['call_config'], update: [] },
    });
    await using _ = workspace;
    publish();
    expect((await json()).changes, 'the draft equals the published version').toEqual([]);
    await apply(day('Be kind.', '  tts_config: { voice_id: cold-1 }\n  stt_config: { model: nova-2 }\n'));
    expect((await json()).changes).toMatchObject([
      { path: 'stt_config.model', after: 'nova-2', verified: false },
      { path: 'tts_config.voice_id', before: 'warm-1', after: 'cold-1', verified: false },
    ]);
    workspace.emulator.dashboard.edit('agents', agent, { tts_config: { voice_id: 'theirs' } });
    publish();
    expect((await json()).changes, 'hidden fields that changed before the publication').toEqual([]);
    // The field was set in the dashboard before the publication, and is neither returned nor recorded.
    workspace.emulator.dashboard.edit('agents', agent, { stt_config: { provider: 'theirs' } });
    publish();
    expect(await json()).toMatchObject({ changes: [], unknown: ['stt_config.provider'] });

    const hiding = { times: 9, match: { path: `/api/v1/agents/${agent}/versions/latest` } };
    workspace.emulator.faults.add({
      ...hiding,
      fault: { status: 200, body: { data: { id: agent, name: 'day', version: 2 } } },
    });
    expect(await json(), 'a version without its configuration').toMatchObject({
      changes: [],
      unknown: ['prompt_config.prompt', 'stt_config.model', 'tts_config.voice_id'],
    });
  });

  it('prints no secret, and prints names of knowledge bases', async () => {
    const { workspace, agent, publish, run, apply, json } = await published(
      day('Be kind.').replace('"Be kind."', '{ $join: [Call, { $secret: PROVIDER_KEY }] }'),
    );
    await using _ = workspace;
    publish();
    await apply(day('Be kind.').replace('"Be kind."', '{ $join: [Ring, { $secret: PROVIDER_KEY }] }'));
    const { id } = workspace.emulator.dashboard.addKnowledgeBase({ name: 'FAQ' });
    workspace.emulator.dashboard.edit('agents', agent, { llm_config: { knowledge_base_ids: [id] } });
    const { stdout } = await run(...DIFF);
    expect(stdout).toContain('(secret) -> (different secret)');
    expect(stdout).toContain(`KnowledgeBase/FAQ (${id})`);
    expect(stdout).not.toMatch(/sk-provider|Call|Ring/);
    const secret = (await json()).changes.find(({ path }) => path === 'prompt_config.prompt');
    expect(secret).toEqual({
      path: 'prompt_config.prompt',
      cause: 'manifest',
      verified: true,
      sensitive: true,
    });
  });

  it('refuses a record that is missing or belongs to another workspace', async () => {
    const { workspace, agent, run } = await published(day('Be kind.'));
    await using _ = workspace;
    workspace.emulator.dashboard.edit('agents', agent, { workspace_id: '01ANOTHER' });
    expect((await run(...DIFF)).stderr).toContain('belongs to workspace 01ANOTHER');
    workspace.emulator.world.agents.delete(agent);
    const missing = await run(...DIFF);
    expect(missing.code).toBe(1);
    expect(missing.stderr.replace(/\s+/g, ' ')).toContain(`Agent/day is missing: the platform has no record ${agent}`);
  });
});
