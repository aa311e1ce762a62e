import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { start } from '../cli/voxform-process.ts';
import { leakIn } from './planted-secrets.ts';
import { SecretWorkspace } from './secret-workspace.ts';

/** Runs with a umask that lets everyone read all files. */
async function withOpenUmask<T>(run: () => Promise<T>): Promise<T> {
  const before = process.umask(0);
  try {
    return await run();
  } finally {
    process.umask(before);
  }
}

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8);
}

/** Returns the files that voxform wrote, without the project's own files. */
function ownFiles(workspace: SecretWorkspace): Map<string, string> {
  const isOwn = ([name]: [string, string]) => name !== 'voxform.yaml' && !name.startsWith('manifests/');
  return new Map([...workspace.written()].filter(isOwn));
}

/** Kills an apply while it waits for the platform, and returns its output until then. */
async function killedApply(workspace: SecretWorkspace): Promise<string> {
  const asked = Promise.withResolvers<void>();
  let waiting = 0;
  workspace.platform.misbehave = ({ method }) => {
    if (method !== 'POST') return undefined;
    if (++waiting === 2) asked.resolve();
    return true;
  };
  const options = { cwd: workspace.root, env: workspace.env };
  const { child, ended } = start(['apply', '--auto-approve', '-v'], options);
  await asked.promise;
  child.kill('SIGKILL');
  const { signal, stdout, stderr } = await ended;
  expect(signal).toBe('SIGKILL');
  workspace.platform.misbehave = undefined;
  return stdout + stderr;
}

describe('files of a run', () => {
  it('are readable only by their owner, for any umask and after a kill, and contain no secret', async () => {
    await using workspace = await SecretWorkspace.open({ few: true });
    await withOpenUmask(async () => {
      const planFile = path.join(workspace.root, 'a.plan');
      writeFileSync(planFile, '', { mode: 0o644 });
      expect((await workspace.run(['plan', '--out', 'a.plan'])).code).toBe(0);
      expect(leakIn(await killedApply(workspace))).toBeUndefined();
      const afterKill = ownFiles(workspace);
      expect([...afterKill.keys()].sort()).toEqual([
        '.voxform/test.history.jsonl',
        '.voxform/test.state.json',
        '.voxform/test.state.json.backup-0',
        '.voxform/test.state.json.journal',
        '.voxform/test.state.json.lock',
        'a.plan',
      ]);
      expect(afterKill.get('.voxform/test.state.json.journal')).toContain('"type":"creating"');
      for (const name of afterKill.keys()) {
        expect([name, modeOf(path.join(workspace.root, name))]).toEqual([name, '600']);
      }
      expect(modeOf(path.join(workspace.root, '.voxform'))).toBe('700');
      expect([...workspace.written()].filter(([, text]) => leakIn(text) !== undefined)).toEqual([]);

      for (const address of ['Agent/a', 'Webhook/hook']) {
        expect((await workspace.run(['state', 'resolve', address, '--not-created'])).code).toBe(0);
      }
      expect((await workspace.run(['apply', '--auto-approve'])).code).toBe(0);
      for (const name of ownFiles(workspace).keys()) {
        expect([name, modeOf(path.join(workspace.root, name))]).toEqual([name, '600']);
      }
      expect(await workspace.leaksInFiles()).toEqual([]);
    });
  });
});

describe('reads of a project', () => {
  it.each([
    { reason: 'braces', glob: '{..,manifests}/*.yaml' },
    { reason: 'an escaped pattern', glob: '\\.\\./*.yaml' },
    { reason: 'one of several', glob: '@(..|manifests)/*.yaml' },
    { reason: 'a linked folder', glob: 'linked/**/*.yaml' },
    { reason: 'a linked file', glob: 'linked.yaml' },
    { reason: 'any folder', glob: '**/*.yaml' },
  ])('stay inside it: $reason', async ({ glob }) => {
    await using workspace = await SecretWorkspace.open();
    const outside = path.join(workspace.root, 'outside');
    const project = path.join(workspace.root, 'project');
    mkdirSync(outside);
    const foreign = 'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: foreign }\nspec: { name: x }\n';
    writeFileSync(path.join(outside, 'foreign.yaml'), foreign);
    workspace.write({
      'above.yaml': foreign,
      'project/voxform.yaml': `version: 1\nmanifests: [${JSON.stringify(glob)}]\nworkspaces: { test: { base_url: "https://example.com", workspace_id: x } }\n`,
    });
    symlinkSync(outside, path.join(project, 'linked'));
    symlinkSync(path.join(outside, 'foreign.yaml'), path.join(project, 'linked.yaml'));
    const { stdout, stderr } = await workspace.run(['-C', 'project', 'validate']);
    expect(stdout + stderr).not.toContain('1 Agent');
    expect(stdout + stderr).toMatch(/expected a glob|outside|leads out|no file matches|must be an object|unknown/);
  });

  it('exclude a project file elsewhere', async () => {
    await using workspace = await SecretWorkspace.open();
    mkdirSync(path.join(workspace.root, 'project'));
    symlinkSync(path.join(workspace.root, 'voxform.yaml'), path.join(workspace.root, 'project/voxform.yaml'));
    const { code, stdout, stderr } = await workspace.run(['-C', 'project', 'validate']);
    expect(code).toBe(1);
    expect(stdout + stderr).toContain('outside the project folder');
  });
});
