import { describe, expect, it } from 'vitest';
import { agentManifest, projectFile, testWorkspace } from './workspace.ts';

const FILES = {
  'manifests/agents.yaml': `${agentManifest('day')}---\n${agentManifest('night')}`,
  'manifests/user.yaml':
    'apiVersion: voxform/v1\nkind: WorkspaceUser\nmetadata: { name: ann }\nspec: { email: ann@example.com, role: member }\n',
};

interface Row {
  readonly address: string;
  readonly id: string;
  readonly status: string;
}

describe('status', () => {
  it('prints only the selected kinds and statuses', async () => {
    await using workspace = await testWorkspace(FILES);
    const shown = async (...flags: readonly string[]) => {
      const { stdout, code } = await workspace.run('status', '--output', 'json', '--detailed-exitcode', ...flags);
      return [code, ...(JSON.parse(stdout) as Row[]).map(({ address }) => address)];
    };
    expect(await shown('--kind', 'WorkspaceUser')).toEqual([2, 'WorkspaceUser/ann']);
    expect(await shown('--only', 'changed', 'drifted')).toEqual([2, 'Agent/day', 'Agent/night']);
    expect(await shown('--only', 'changed,drifted', '--kind', 'Agent,Webhook')).toEqual([
      2,
      'Agent/day',
      'Agent/night',
    ]);
    expect(await shown('--target', 'Agent/{day,night},WorkspaceUser/ann', '--kind', 'WorkspaceUser')).toEqual([
      2,
      'WorkspaceUser/ann',
    ]);
    expect(await shown('--only', 'manual', '--only', 'in-sync', '--kind', 'Agent')).toEqual([0]);
    expect(await shown('--target', '*/n*')).toEqual([2, 'Agent/night']);
    expect((await workspace.run('status', '--only', 'drifted')).stdout).toBe('No resource matches.\n');
    for (const [flags, says] of [
      [['--only', 'drift'], 'did you mean "drifted"'],
      [['--only', 'changed,drift'], 'did you mean "drifted"'],
      [['--target', ','], 'Expected an address'],
      [['--kind', 'Agnet'], 'unknown kind "Agnet"; did you mean "Agent"'],
      [['--only', 'manual', '--wait-published'], 'are mutually exclusive'],
      [['--timeout', '5m'], '--timeout needs --wait-published'],
    ] as const) {
      const { code, stderr } = await workspace.run('status', ...flags);
      expect([code, stderr]).toEqual([64, expect.stringContaining(says)]);
    }
    const idle = await workspace.run('plan', '--target', 'Webhook/*');
    expect([idle.code, idle.stderr]).toEqual([64, expect.stringContaining('--target Webhook/* matches no resource')]);
  });

  it('prints the status of each resource, and writes nothing', async () => {
    await using workspace = await testWorkspace(FILES);
    const { dashboard } = workspace.emulator;
    const rows = async (): Promise<Row[]> =>
      JSON.parse((await workspace.run('status', '--output', 'json')).stdout) as Row[];
    const statuses = async () => (await rows()).map(({ address, status }) => `${address} ${status}`);
    expect(await statuses()).toEqual(['Agent/day changed', 'Agent/night changed', 'WorkspaceUser/ann manual']);

    await workspace.run('apply', '--auto-approve');
    const [day, night] = await rows();
    dashboard.publishAgent(day?.id ?? '');
    dashboard.publishAgent(night?.id ?? '');
    dashboard.inviteUser({ email: 'ann@example.com', role: 'member' });
    await workspace.run('apply', '--auto-approve');
    const writes = workspace.writes();
    expect(await statuses()).toEqual(['Agent/day in sync', 'Agent/night in sync', 'WorkspaceUser/ann in sync']);
    expect((await workspace.run('status', '--detailed-exitcode')).code).toBe(0);

    dashboard.edit('agents', day?.id ?? '', { prompt_config: { prompt: 'Be rude.' } });
    expect((await statuses())[0]).toBe('Agent/day drifted');
    const text = await workspace.run('status', '--detailed-exitcode');
    expect(text.code).toBe(2);
    expect(text.stdout).toMatch(
      /^ADDRESS +STATUS +DETAIL\nAgent\/day +drifted +prompt_config\.prompt; publishing would change prompt_config\.prompt\n/,
    );
    expect(workspace.writes()).toBe(writes);

    await workspace.run('apply', '--auto-approve');
    expect((await statuses())[0], 'the draft equals the published version, although it was edited').toBe(
      'Agent/day in sync',
    );
  });

  it('counts fields that cannot be verified as in sync, like plan', async () => {
    const spec = '  tts_config: { voice_id: v1, speed: fast }\n';
    await using workspace = await testWorkspace({ 'manifests/a.yaml': `${agentManifest('day')}${spec}` });
    await workspace.run('apply', '--auto-approve');
    const [agent] = workspace.emulator.world.agents.keys();
    workspace.emulator.dashboard.publishAgent(agent ?? '');
    const fields = ['tts_config.speed', 'tts_config.voice_id'];
    const { stdout } = await workspace.run('status', '--output', 'json');
    expect(JSON.parse(stdout)).toMatchObject([{ status: 'in sync', unverified: fields }]);
    expect((await workspace.run('status')).stdout).toMatch(/Agent\/day +in sync +2 fields unverified\n/);
    expect((await workspace.run('status', '--detailed-exitcode')).code).toBe(0);
    expect((await workspace.run('plan')).stdout).toMatch(/in sync\s+\(2 fields unverified\)/);
  });

  it('prints the command that shows the steps in the selected workspace', async () => {
    const number =
      'apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: desk }\nspec: { number: "+12025550120", inbound_agent_id: { $ref: Agent/day } }\n';
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('day'),
      'manifests/n.yaml': number,
    });
    await workspace.run('apply', '--auto-approve');
    expect((await workspace.run('status')).stderr).toMatch(/voxform plan$/m);
    const more = '  other: { base_url: http://127.0.0.1:9, workspace_id: other, api_key: { $secret: OTHER } }\n';
    await workspace.folder.write('voxform.yaml', projectFile(workspace.emulator, more));
    expect((await workspace.run('status', '-w', 'test')).stderr).toMatch(/voxform plan -w test$/m);
  });

  it('waits for a publication until a timeout', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': agentManifest('day') });
    await workspace.run('apply', '--auto-approve');
    const late = await workspace.run('status', '--wait-published', '--timeout', '0');
    expect(late.code).toBe(1);
    expect(late.stderr).toContain('timed out waiting');
    const agent = [...workspace.emulator.world.agents.values()][0];
    workspace.emulator.dashboard.edit('agents', agent?.id ?? '', { prompt_config: { prompt: 'Be rude.' } });
    const drifted = await workspace.run('status', '--wait-published', '--timeout', '0');
    expect(drifted.code).toBe(1);
    expect(drifted.stdout).toMatch(/drifted +prompt_config\.prompt; never published/);
    workspace.emulator.dashboard.publishAgent(agent?.id ?? '');
    expect((await workspace.run('status', '--wait-published', '--timeout', '0')).code).toBe(0);
  });
});
