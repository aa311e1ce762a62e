import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentManifest, type TestWorkspace, testWorkspace } from './workspace.ts';

const FILES = { 'manifests/a.yaml': `${agentManifest('day')}---\n${agentManifest('night')}` };

async function agentIn({ emulator }: TestWorkspace, name: string): Promise<string> {
  const answer = await fetch(`${emulator.url}/api/v1/agents`, {
    method: 'POST',
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  return ((await answer.json()) as { data: { id: string } }).data.id;
}

async function stateOf({ folder }: TestWorkspace): Promise<[string, string][]> {
  const text = await readFile(path.join(folder.root, '.voxform/test.state.json'), 'utf8');
  const { resources } = JSON.parse(text) as { resources: Record<string, { id: string }> };
  return Object.entries(resources).map(([address, { id }]) => [address, id]);
}

describe('import --from', () => {
  it('imports all rows with one save', async () => {
    await using workspace = await testWorkspace(FILES);
    const day = await agentIn(workspace, 'day');
    const night = await agentIn(workspace, 'night');
    const { id: user } = workspace.emulator.dashboard.inviteUser({ email: 'ann@example.com' });
    await workspace.folder.write(
      'ids.csv',
      `address,id\nAgent/day,${day}\nAgent/night,${night}\nWorkspaceUser/ann,${user}\n`,
    );
    const first = await workspace.run('import', '--from', 'ids.csv');
    expect(first.stdout).toContain('3 imported.');
    expect(first.stderr).toContain('no manifest declares WorkspaceUser/ann yet');
    expect(first.code).toBe(0);
    expect(await stateOf(workspace)).toEqual([
      ['Agent/day', day],
      ['Agent/night', night],
      ['WorkspaceUser/ann', user],
    ]);
    const files = await readdir(path.join(workspace.folder.root, '.voxform'));
    expect(files.filter((file) => file.includes('backup')).sort()).toEqual([
      'test.state.json.backup-0',
      'test.state.json.backup-1',
    ]);
    const again = await workspace.run('import', '--from', 'ids.csv');
    expect(again.stdout).toContain('0 imported. 3 were already managed.');
  });

  it('reports every wrong row with its line, and saves nothing', async () => {
    await using workspace = await testWorkspace(FILES);
    const day = await agentIn(workspace, 'day');
    const night = await agentIn(workspace, 'night');
    await workspace.run('import', 'Agent/night', night);
    await workspace.folder.write(
      'ids.csv',
      `address,id\nAgent/day,${day}\nAgnet/x,1\nAgent/gone,01NOTHERE0000000000000000A\nAgent/other,${night}\nWorkspaceUser/ann,${day}\n`,
    );
    const { code, stderr } = await workspace.run('import', '--from', 'ids.csv');
    expect(code).toBe(1);
    expect(stderr).toContain('ids.csv:3  unknown kind "Agnet"; did you mean "Agent"?');
    expect(stderr).toContain('ids.csv:4  the platform has no Agent with the id 01NOTHERE0000000000000000A');
    expect(stderr).toContain(`ids.csv:5  ${night} is already managed as Agent/night`);
    expect(stderr).toContain(`ids.csv:6  the platform has no WorkspaceUser with the id ${day}`);
    expect(await stateOf(workspace)).toEqual([['Agent/night', night]]);
  });

  it.each([
    [['import'], 64, 'import needs ADDRESS and ID, or --from FILE'],
    [['import', 'Agent/day'], 64, 'import needs ADDRESS and ID, or --from FILE'],
    [['import', 'Agent/day', 'x', '--from', 'ids.csv'], 64, 'import needs ADDRESS and ID, or --from FILE'],
    [['import', '--from', 'nothing.csv'], 1, 'cannot read nothing.csv'],
  ])('reports the problem of %j', async (args, expected, message) => {
    await using workspace = await testWorkspace(FILES);
    const { code, stderr } = await workspace.run(...args);
    expect(stderr).toContain(message);
    expect(code).toBe(expected);
  });

  it('prints where it looked for a missing file', async () => {
    await using workspace = await testWorkspace(FILES);
    await writeFile(path.join(workspace.folder.root, 'utf-16.csv'), new Uint8Array([0xff, 0xfe]));
    const hintOf = async (file: string) =>
      /hint: *(.*)$/.exec((await workspace.run('import', '--from', file)).stderr.replaceAll(/\s+/g, ' '))?.[1];
    expect(await hintOf('lists/nothing.csv')).toBe(
      `Looked for ${path.join(workspace.folder.root, 'lists/nothing.csv')}. `,
    );
    expect(await hintOf('utf-16.csv')).toBe('Save it as UTF-8. ');
  });
});
