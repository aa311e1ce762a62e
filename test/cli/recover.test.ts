import { readdir, readFile, rm, truncate } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentManifest, type TestWorkspace, testWorkspace, webhookManifest } from './workspace.ts';

const FILES = {
  'manifests/agents.yaml': `${agentManifest('day')}---\n${agentManifest('night', 'Be quiet.')}`,
  'manifests/hook.yaml': webhookManifest('hook', 'https://example.com/hook'),
  'manifests/number.yaml': `apiVersion: voxform/v1
kind: PhoneNumber
metadata: { name: main }
spec: { number: "+12025550120", inbound_agent_id: { $ref: Agent/day } }
`,
};

interface Report {
  readonly resources: readonly {
    readonly address: string;
    readonly taken: string | null;
    readonly candidates: readonly {
      readonly id: string;
      readonly exact: boolean;
      readonly evidence: readonly string[];
    }[];
  }[];
  readonly unanswered: readonly string[];
}

/** Replaces line breaks, which depend on the width, by spaces. */
function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

function stateFile({ folder }: TestWorkspace): string {
  return path.join(folder.root, '.voxform', 'test.state.json');
}

/** Returns the ids in the saved state by address. */
async function idsOf(workspace: TestWorkspace): Promise<Record<string, string>> {
  const text = await readFile(stateFile(workspace), 'utf8').catch(() => '{ "resources": {} }');
  const { resources } = JSON.parse(text) as { resources: Record<string, { id: string }> };
  return Object.fromEntries(Object.entries(resources).map(([address, { id }]) => [address, id]));
}

/** Applies the project, links the number in the dashboard, and records a call to the agent without other references. */
async function applied(workspace: TestWorkspace): Promise<Record<string, string>> {
  await workspace.run('apply', '--auto-approve');
  const ids = await idsOf(workspace);
  const { dashboard } = workspace.emulator;
  dashboard.linkNumber(ids['PhoneNumber/main'] ?? '', { inbound_agent_id: ids['Agent/day'] });
  dashboard.recordCall({ agent_id: ids['Agent/night'] ?? '' });
  return ids;
}

describe('recover', () => {
  it('finds agents through numbers and calls after the state is lost', async () => {
    await using workspace = await testWorkspace(FILES);
    const ids = await applied(workspace);
    await rm(path.join(workspace.folder.root, '.voxform'), { recursive: true });
    const writes = workspace.writes();

    const asked = await workspace.run('recover', '--auto');
    expect(asked.code).toBe(1);
    expect(flat(asked.stdout)).toContain(
      `${ids['Agent/day']}: all shown fields match: name, prompt_config.prompt; number +12025550120 is linked to it`,
    );
    expect(asked.stderr).toContain('approval needs a terminal');
    expect(await idsOf(workspace)).toEqual({});

    const { code, stdout } = await workspace.run('recover', '--auto', '--auto-approve');
    expect(code).toBe(2);
    expect(stdout).toContain('3 records imported.');
    expect(flat(stdout)).toContain('voxform import Webhook/hook ID');
    expect(flat(stdout)).toContain('as a duplicate if it exists');
    const { 'Webhook/hook': hook, ...found } = ids;
    expect(await idsOf(workspace)).toEqual(found);

    const named = await workspace.run('recover', '--webhooks', hook ?? '', '--auto-approve', '--output', 'json');
    const report = JSON.parse(named.stdout) as Report;
    expect(report.resources).toMatchObject([{ address: 'Webhook/hook', taken: hook, candidates: [{ exact: true }] }]);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
    expect(workspace.writes()).toBe(writes);
    const done = await workspace.run('recover');
    expect(done.stderr).toContain('Nothing to recover');
    expect(done.code).toBe(0);
  });

  it.each([
    ['gone', (file: string) => rm(file)],
    ['cut off', (file: string) => truncate(file, 100)],
  ])('restores all entries from the backups of a state that is %s', async (_, harm) => {
    await using workspace = await testWorkspace(FILES);
    const ids = await applied(workspace);
    await workspace.run('state', 'rm', 'Agent/night');
    const { 'Agent/night': released, ...rest } = ids;
    await harm(stateFile(workspace));
    const refused = await workspace.run('plan');
    expect(refused.code).toBe(1);
    expect(flat(refused.stderr)).toContain('voxform recover finds');

    const { code, stdout, stderr } = await workspace.run('recover', '--auto-approve');
    expect(code).toBe(2);
    expect(flat(stdout)).toContain('under this address');
    expect(flat(stderr)).toMatch(/is kept in .*test\.state\.json\.lost-/);
    expect(await idsOf(workspace)).toEqual(rest);
    const { stdout: orphans } = await workspace.run('orphans', '--output', 'json');
    expect(JSON.parse(orphans)).toMatchObject([{ id: released, reason: 'removed' }]);
    expect((await readdir(path.dirname(stateFile(workspace)))).some((name) => name.includes('.lost-'))).toBe(true);
  });

  it('keeps an unknown create from being sent again', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
    workspace.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
    await workspace.run('apply', '--auto-approve');
    await rm(stateFile(workspace));
    const { stdout } = await workspace.run('recover', '--auto-approve');
    expect(flat(stdout)).toContain('voxform state resolve Agent/day --not-created');
    await workspace.run('apply', '--auto-approve');
    expect(workspace.emulator.world.agents.size).toBe(1);
  });

  it('keeps a state if only its journal is damaged', async () => {
    await using workspace = await testWorkspace(FILES);
    const ids = await applied(workspace);
    const before = await readFile(stateFile(workspace), 'utf8');
    await workspace.folder.write('.voxform/test.state.json.journal', 'rubbish\nmore of it\n');
    expect((await workspace.run('plan')).code).toBe(1);
    const { code, stderr } = await workspace.run('recover', '--auto-approve');
    expect(code).toBe(0);
    expect(flat(stderr)).toMatch(/is kept in .+\.journal\.aside-/);
    expect(await idsOf(workspace)).toEqual(ids);
    expect(await readFile(stateFile(workspace), 'utf8')).toBe(before);
    expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(0);
  });

  it.each([
    ['imports one of the records', 'nothing', ['import', 'Agent/other', 'ID'], 'already managed as Agent/other'],
    ['creates a record without an answer', 'nothing', ['apply', '--auto-approve'], 'unknown create'],
    ['recovers the state', 'a backup', ['recover', '--auto-approve'], 'restored'],
  ])('records nothing if another run %s during the search', async (_, kept, command, problem) => {
    let meanwhile: (() => Promise<unknown>) | undefined;
    await using workspace = await testWorkspace(
      { 'manifests/a.yaml': agentManifest('day') },
      {
        async onRequest() {
          const run = meanwhile;
          meanwhile = undefined;
          await run?.();
          return undefined;
        },
      },
    );
    await workspace.run('apply', '--auto-approve');
    const { 'Agent/day': id = '' } = await idsOf(workspace);
    await (kept === 'nothing' ? rm(path.dirname(stateFile(workspace)), { recursive: true }) : rm(stateFile(workspace)));
    let state = '';
    meanwhile = async () => {
      workspace.emulator.faults.add({ match: { method: 'POST' }, fault: { cut: 'after' } });
      await workspace.run(...command.map((word) => (word === 'ID' ? id : word)));
      state = await readFile(stateFile(workspace), 'utf8');
    };
    const { code, stderr } = await workspace.run('recover', '--auto-approve', '--agents', id);
    expect([code, flat(stderr)]).toEqual([1, expect.stringContaining(problem)]);
    expect(await readFile(stateFile(workspace), 'utf8')).toBe(state);
  });

  it('does not replace the state of another workspace', async () => {
    await using workspace = await testWorkspace(FILES);
    await applied(workspace);
    await rm(stateFile(workspace));
    const { code, stderr } = await workspace.runWith(
      { VOXFORM_WORKSPACE_ID: '01ANOTHER' },
      ...['recover', '--auto-approve'],
    );
    expect(code).toBe(1);
    expect(flat(stderr)).toContain('but 01ANOTHER is configured');
    expect((await readdir(path.dirname(stateFile(workspace)))).some((name) => name.includes('.lost-'))).toBe(false);
  });

  it('searches only for resources that are missing from the state', async () => {
    await using workspace = await testWorkspace(FILES);
    const ids = await applied(workspace);
    await workspace.folder.write(
      'manifests/copy.yaml',
      agentManifest('copy').replace('name: copy\n  prompt', 'name: day\n  prompt'),
    );
    const { code, stdout } = await workspace.run('recover', '--auto-approve', '--output', 'json');
    expect(code).toBe(2);
    expect((JSON.parse(stdout) as Report).resources).toEqual([
      { address: 'Agent/copy', taken: null, certain: null, candidates: [] },
    ]);
    expect(await idsOf(workspace)).toEqual(ids);
  });

  it('skips records of another workspace, and fails if there are no others', async () => {
    await using workspace = await testWorkspace(FILES);
    const ids = await applied(workspace);
    await rm(path.join(workspace.folder.root, '.voxform'), { recursive: true });
    const { world, dashboard } = workspace.emulator;
    for (const name of ['agents', 'numbers', 'webhooks', 'calls'] as const) {
      for (const id of world.records[name].keys()) dashboard.edit(name, id, { workspace_id: '01ANOTHER' });
    }
    const none = await workspace.run('recover', '--auto-approve');
    expect(none.code).toBe(1);
    expect(flat(none.stderr)).toContain('belongs to workspace 01ANOTHER');
    expect(await idsOf(workspace)).toEqual({});
    const night = ids['Agent/night'] ?? '';
    dashboard.edit('agents', night, { workspace_id: workspace.emulator.workspaceId });
    const some = await workspace.run('recover', '--auto-approve', '--agents', night);
    expect(some.code, some.stderr).toBe(2);
    expect(await idsOf(workspace)).toEqual({ 'Agent/night': night });
  });
});
