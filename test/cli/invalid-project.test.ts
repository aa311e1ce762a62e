import { describe, expect, it } from 'vitest';
import { command } from '../trust/in-process.ts';
import { temporaryFolder } from './voxform-process.ts';
import { agentManifest } from './workspace.ts';

const FILES = {
  'voxform.yaml': `version: 1
workspaces:
  test: { base_url: "http://127.0.0.1:9", workspace_id: w }
limit: {}
default_workspace: tset
defaults: { Agnt: {} }
`,
  'manifests/a.yaml': agentManifest('a').replace('prompt:', 'promt:'),
};

describe('a project file with several problems', () => {
  it('is reported by validate in one run, together with the manifests', async () => {
    await using folder = await temporaryFolder(FILES);
    const { code, stdout } = await command(['validate', '--output', 'json'], { cwd: folder.root });
    expect(code).toBe(1);
    const { diagnostics } = JSON.parse(stdout) as {
      readonly diagnostics: readonly { readonly file: string; readonly line: number }[];
    };
    expect(diagnostics.map(({ file, line }) => `${file}:${line}`)).toEqual([
      'manifests/a.yaml:8',
      'voxform.yaml:4',
      'voxform.yaml:5',
      'voxform.yaml:6',
    ]);
  });

  it('is reported by other commands in one run, without the manifests', async () => {
    await using folder = await temporaryFolder(FILES);
    const { code, stdout, stderr } = await command(['state', 'list'], { cwd: folder.root });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect([...stderr.matchAll(/voxform\.yaml:(\d+):/g)].map(([, line]) => line)).toEqual(['4', '5', '6']);
    expect(stderr).not.toContain('manifests/a.yaml');
  });
});
