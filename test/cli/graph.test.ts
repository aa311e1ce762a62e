import { describe, expect, it } from 'vitest';
import { command } from '../trust/in-process.ts';
import { type Folder, temporaryFolder } from './voxform-process.ts';
import { agentManifest } from './workspace.ts';

const number = (name: string, agent: string) =>
  `apiVersion: voxform/v1\nkind: PhoneNumber\nmetadata: { name: ${name} }\nspec: { number: "+49${name.length}", inbound_agent_id: { $ref: Agent/${agent} } }\n`;

/** No key is set, and nothing listens at the address. */
function project(files: Readonly<Record<string, string>>): Promise<Folder> {
  return temporaryFolder({
    'voxform.yaml':
      'version: 1\nworkspaces: { test: { base_url: "http://127.0.0.1:9", workspace_id: 01J, api_key: { $secret: K } } }\n',
    ...files,
  });
}

const graph = (folder: Folder, ...args: string[]) => command(['graph', ...args], { cwd: folder.root });

describe('graph', () => {
  it('draws what the manifests say in every form, without a key and without a network', async () => {
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
    const { stdout } = await graph(folder, 'Agent/night');
    expect(stdout).toBe('flowchart LR\n  subgraph k0["Agent"]\n    n0["night"]\n  end\n');
  });

  it('says what is wrong: with an address, and with a manifest', async () => {
    await using folder = await project({ 'manifests/a.yaml': agentManifest('day') });
    const unknown = await graph(folder, 'Agent/dya');
    expect([unknown.code, unknown.stdout]).toEqual([64, '']);
    expect(unknown.stderr).toContain('unknown resource Agent/dya; did you mean "Agent/day"?');
    await folder.write('manifests/b.yaml', number('main', 'nobody'));
    const dangling = await graph(folder);
    expect([dangling.code, dangling.stdout]).toEqual([1, '']);
    expect(dangling.stderr).toMatch(/manifests\/b\.yaml:4:\d+ {2}.*Agent\/nobody/);
  });

  it('says that it drew many as one', async () => {
    const agents = Array.from({ length: 80 }, (_, index) => agentManifest(`agent-${index}`)).join('---\n');
    await using folder = await project({ 'manifests/a.yaml': agents });
    const { stdout, stderr } = await graph(folder);
    expect(stdout).toContain('agent-0 and 79 more');
    expect(stderr).toContain('80 resources, of which those that are alike are drawn as one');
    expect((await graph(folder, '--output', 'dot')).stderr).toBe('');
  });
});
