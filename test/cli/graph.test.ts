import { describe, expect, it } from 'vitest';
import { command } from '../trust/in-process.ts';
import { type Folder, temporaryFolder } from './voxform-process.ts';
import { agentManifest } from './workspace.ts';

const number = (name: string, agent: string) =>
  `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: ${name} }\nspec: { number: "+49${name.length}", inbound_agent_id: { $ref: Agent/${agent} } }\n`;

/** A project without a key, whose address no server listens at. */
function project(files: Readonly<Record<string, string>>): Promise<Folder> {
  return temporaryFolder({
    'voxform.yaml':
      'version: 1\nworkspaces: { test: { base_url: "http://127.0.0.1:9", workspace_id: 01J, api_key: { $secret: K } } }\n',
    ...files,
  });
}

const graph = (folder: Folder, ...args: string[]) => command(['graph', ...args], { cwd: folder.root });

describe('graph', () => {
  it('draws the manifests in every format, without a key or a network', async () => {
    await using folder = await project({
      'manifests/a.yaml': `${agentManifest('day')}---\n${agentManifest('night')}---\n${number('main', 'day')}`,
    });
    const forms = {
      mermaid: /^flowchart LR\n[\s\S]*n2 --> n0\n$/,
      dot: /^digraph references \{\n[\s\S]*"PhoneNumber\/main" -> "Agent\/day" \[tooltip="inbound_agent_id"\];\n\}\n$/,
      svg: /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"[\s\S]*PhoneNumber\/main refers to Agent\/day: inbound_agent_id[\s\S]*<\/svg>\n$/,
      html: /^<!doctype html>[\s\S]*3 resources and 1 reference between them\./,
    };
    for (const [form, pattern] of Object.entries(forms)) {
      const { code, stdout, stderr } = await graph(folder, '--output', form);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(pattern);
    }
    const shown = await command(['graph'], { cwd: folder.root, columns: 80 });
    expect(shown.stderr, 'a hint names the formats with a picture').toContain('--output html');
    const { stdout } = await graph(folder, 'Agent/night');
    expect(stdout).toBe('flowchart LR\n  subgraph g0["Agent"]\n    n0["night"]\n  end\n');
  });

  it('reports an unknown address and an invalid manifest', async () => {
    await using folder = await project({ 'manifests/a.yaml': agentManifest('day') });
    const unknown = await graph(folder, 'Agent/dya');
    expect([unknown.code, unknown.stdout]).toEqual([64, '']);
    expect(unknown.stderr).toContain('Agent/dya: no such resource; did you mean "Agent/day"?');
    await folder.write('manifests/b.yaml', number('main', 'nobody'));
    const dangling = await graph(folder);
    expect([dangling.code, dangling.stdout]).toEqual([1, '']);
    expect(dangling.stderr).toMatch(/manifests\/b\.yaml:4:\d+ {2}.*Agent\/nobody/);
  });

  it('groups many resources by a label, by folder or by number, and prints the grouping', async () => {
    const agents = (team: string) =>
      Array.from({ length: 25 }, (_, index) =>
        agentManifest(`${team}-${index}`).replace('metadata:', `metadata:\n  labels: { team: ${team} }`),
      ).join('---\n');
    await using folder = await project({
      'manifests/north/a.yaml': `${agents('sales')}---\n${number('line', 'sales-0')}`,
      'manifests/south/a.yaml': agents('support'),
    });
    const groupsOf = ({ stdout }: { readonly stdout: string }) =>
      [...stdout.matchAll(/^ {2}subgraph \w+\["(.*)"\]$/gm)].map(([, name]) => name);
    const automatic = await graph(folder);
    expect(groupsOf(automatic)).toEqual(['sales', 'support']);
    expect(automatic.stderr).toContain('Grouped by label team (--group-by changes this).');
    const byFolder = await graph(folder, '--group-by', 'folder');
    expect([groupsOf(byFolder), byFolder.stderr]).toEqual([['north', 'south'], '']);
    expect(groupsOf(await graph(folder, '--group-by', 'number'))).toEqual(['line']);
    expect(groupsOf(await graph(folder, '--group-by', 'none'))).toEqual(['Agent', 'PhoneNumber']);
    const dot = await graph(folder, '--output', 'dot', '--group-by', 'label:team');
    expect(dot.stdout.match(/subgraph cluster_/g)).toHaveLength(2);
  });

  it('suggests existing labels for a misspelt label, and the groupings for a misspelt grouping', async () => {
    await using folder = await project({
      'manifests/a.yaml': agentManifest('day').replace('metadata:', 'metadata:\n  labels: { team: a }'),
    });
    const unknown = await graph(folder, '--group-by', 'label:taem');
    expect([unknown.code, unknown.stdout]).toEqual([64, '']);
    expect(unknown.stderr).toContain('no resource has a label "taem"; did you mean "team"?');
    const wrong = await graph(folder, '--group-by', 'colour');
    expect([wrong.code, wrong.stdout]).toEqual([64, '']);
    expect(wrong.stderr).toMatch(/Expected\s+label:KEY,\s+folder, number or none\./);
  });
});
