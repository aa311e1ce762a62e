import { describe, expect, it } from 'vitest';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { command } from '../trust/in-process.ts';
import { API_KEY, agentManifest, type TestWorkspace, testWorkspace } from './workspace.ts';

/** Runs the command on a terminal with this many columns, without colors. */
function onTerminal({ folder }: TestWorkspace, columns: number | undefined, ...args: string[]) {
  const env = { VOXFORM_API_KEY: API_KEY, NO_COLOR: '1' };
  return command(args, { cwd: folder.root, env, columns });
}

const widest = (text: string): number => Math.max(...text.split('\n').map((line) => line.length));

describe('validate on a terminal', () => {
  const wrong = `${agentManifest('day')}  voise: x\n  llm_config: { api_key: 9f86d081884c7d65 }\n`;

  it('prints the line of each problem with a caret, and no key', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': wrong });
    const { stdout } = await onTerminal(workspace, 80, 'validate');
    expect(stdout).toMatch(/unknown field "voise".*\n +\d+ \| voise: x\n +\| \^\n/);
    expect(stdout).toContain('api_key');
    expect(stdout).not.toContain('9f86d081884c7d65');
    const plan = await onTerminal(workspace, 80, 'plan');
    expect(plan.stderr).toContain('| voise: x');
  });

  it('prints no source lines in a pipe, in JSON and in a log of JSON lines', async () => {
    await using workspace = await testWorkspace({ 'manifests/a.yaml': wrong });
    for (const args of [['validate'], ['plan']]) {
      const { stdout, stderr } = await onTerminal(workspace, undefined, ...args);
      expect(stdout + stderr).toContain('unknown field "voise"');
      expect(stdout + stderr).not.toContain('| voise');
    }
    const json = await onTerminal(workspace, 80, 'validate', '--output', 'json');
    const lines = await onTerminal(workspace, 80, 'plan', '--log-format', 'json');
    expect(json.stdout + lines.stderr).not.toContain('| voise');
  });
});

describe('a plan of many resources', () => {
  it('is compact, and complete with --full, with the same JSON', async () => {
    const all = Array.from({ length: 20 }, (_, index) => agentManifest(`a${index}`)).join('---\n');
    await using workspace = await testWorkspace({ 'manifests/a.yaml': all });
    const { stdout: short } = await workspace.run('plan');
    const { stdout: full } = await workspace.run('plan', '--full');
    expect(short).toMatch(/ADDRESS +SETS\n {2}\+ Agent\/a0 +\d+ field/);
    expect(full.split('\n').length).toBeGreaterThan(2 * short.split('\n').length);
    for (let index = 0; index < 20; index++) expect(short).toMatch(new RegExp(`Agent/a${index}\\b`));
    const resources = async (...args: string[]) =>
      (JSON.parse((await workspace.run('plan', '--output', 'json', ...args)).stdout) as PlanDocument).resources;
    expect(await resources('--full')).toEqual(await resources());
    expect((await workspace.run('apply', '--full', '--auto-approve')).code).toBe(0);
    expect((await workspace.run('drift', '--full')).code).toBe(0);
  });
});

describe('status', () => {
  const user =
    'apiVersion: voxform/v1\nkind: WorkspaceUser\nmetadata: { name: a-user-with-quite-a-long-name }\nspec: { email: ann@example.com, role: member }\n';

  it.each([80, 120, 200])('truncates nothing at %i columns', async (columns) => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('day'),
      'manifests/u.yaml': user,
    });
    await workspace.run('apply', '--auto-approve');
    const { stdout } = await onTerminal(workspace, columns, 'status');
    const { stdout: piped } = await onTerminal(workspace, undefined, 'status');
    const words = (text: string) => text.split(/\s+/);
    expect(words(stdout)).toEqual(words(piped));
    expect(stdout).not.toContain('…');
    expect(widest(stdout)).toBeLessThanOrEqual(columns);
    expect(piped.trimEnd().split('\n')).toHaveLength(3);
  });
});
