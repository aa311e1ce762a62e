import { symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProject } from '../../src/project/load-project.ts';
import { strayManifests } from '../../src/project/stray-manifests.ts';
import { command } from '../trust/in-process.ts';
import { type Files, manifest, PLAIN_PROJECT, TemporaryProject } from './temporary-project.ts';

const AGENT = manifest('Agent', 'a', 'name: A');
const JSON_AGENT = '{\n  "apiVersion": "voxform/v1", "kind": "Agent" }\n';

async function straysIn(files: Files, links: Readonly<Record<string, string>> = {}): Promise<string[]> {
  using project = new TemporaryProject(files);
  for (const [name, target] of Object.entries(links)) symlinkSync(target, path.join(project.root, name));
  return strayManifests(await loadProject({ cwd: project.root, env: {} })).map(({ file }) => file);
}

const patterns = (list: string) => ({ 'voxform.yaml': `manifests: ${list}\n${PLAIN_PROJECT}` });

describe('manifests that match no pattern', () => {
  it.each<{ reason: string; files: Files; links?: Record<string, string>; expected: string[] }>([
    {
      reason: 'one beside the folder',
      files: { 'a.yaml': AGENT, 'agents/b.yml': AGENT },
      expected: ['a.yaml', 'agents/b.yml'],
    },
    { reason: 'JSON', files: { 'agents/a.json': JSON_AGENT }, expected: ['agents/a.json'] },
    {
      reason: 'one with another extension',
      files: { ...patterns('[manifests/*.yaml]'), 'manifests/a.yml': AGENT },
      expected: ['manifests/a.yml'],
    },
    {
      reason: 'a file that matches a pattern',
      files: { 'manifests/deep/a.yaml': AGENT, 'manifests/b.json': JSON_AGENT },
      expected: [],
    },
    {
      reason: 'a file that a pattern excludes',
      files: { ...patterns('["**/*.yaml", "!drafts/**"]'), 'drafts/a.yaml': AGENT },
      expected: [],
    },
    {
      reason: 'other files',
      files: { 'compose.yaml': 'apiVersion: v1\nkind: Pod\n', 'a.md': AGENT },
      expected: [],
    },
    {
      reason: 'skipped folders',
      files: { '.github/a.yaml': AGENT, 'node_modules/x/a.yaml': AGENT },
      expected: [],
    },
    {
      reason: 'another project',
      files: { 'other/voxform.yml': PLAIN_PROJECT, 'other/manifests/a.yaml': AGENT },
      expected: [],
    },
    {
      reason: 'links that point outside',
      files: {},
      links: { out: '/', 'host.yaml': '/etc/hostname' },
      expected: [],
    },
    {
      reason: 'a file that matches a pattern through a link',
      files: { ...patterns('[linked/*.yaml]'), 'real/a.yaml': AGENT },
      links: { linked: 'real' },
      expected: [],
    },
    {
      reason: 'a manifest with its kind too late',
      files: { 'a.yaml': `${'# x\n'.repeat(2_000)}${AGENT}` },
      expected: [],
    },
  ])('are found: $reason', async ({ files, links, expected }) => {
    expect(await straysIn(files, links)).toEqual(expected);
  });

  it.runIf(process.platform === 'linux')('are found beside a file whose name is not UTF-8', async () => {
    using project = new TemporaryProject({ 'a.yaml': AGENT, 'manifests/b.yaml': AGENT });
    writeFileSync(Buffer.from(path.join(project.root, 'manifests', '\xff.yaml'), 'latin1'), '');
    const strays = strayManifests(await loadProject({ cwd: project.root, env: {} }));
    expect(strays.map(({ file }) => file)).toEqual(['a.yaml']);
  });

  it('are warnings of validate, with a pattern that matches them', async () => {
    using project = new TemporaryProject({ 'manifests/a.yaml': AGENT, 'agents/b.yaml': AGENT });
    const one = await command(['validate'], { cwd: project.root });
    expect(one.code).toBe(0);
    expect(one.stdout).toContain('agents/b.yaml  warning: this manifest is ignored');
    expect(one.stdout).toContain('add "agents/*.yaml"');
    const all = await command(['validate', '--all-workspaces', '--json'], { cwd: project.root });
    expect(JSON.parse(all.stdout)).toMatchObject({ errors: 0, warnings: 1 });
    project.write(patterns('["manifests/*.yaml", "agents/*.yaml"]'));
    expect((await command(['validate'], { cwd: project.root })).stdout).toContain('Agent/a is already declared');
  });
});
