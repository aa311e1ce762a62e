import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type TestWorkspace, testWorkspace } from './workspace.ts';

const manifest = (temperature: number) => `apiVersion: voxform/v1
kind: Agent
metadata: { name: day }
spec:
  name: Day
  llm_config: { temperature: ${temperature} }
`;

const KEPT = 'The platform ignored the last update of llm_config.temperature and kept 0.7.';

/** Returns a workspace whose platform kept 0.7 although a manifest now has 0.2. */
async function refused(): Promise<TestWorkspace> {
  const ignoredByPut = { fields: ['llm_config.temperature'] };
  const workspace = await testWorkspace({ 'manifests/a.yaml': manifest(0.7) }, { behaviour: { ignoredByPut } });
  await workspace.run('apply', '--auto-approve');
  const [id = ''] = workspace.emulator.world.agents.keys();
  workspace.emulator.dashboard.publishAgent(id);
  await writeFile(path.join(workspace.folder.root, 'manifests/a.yaml'), manifest(0.2));
  return workspace;
}

describe('a field that the platform did not apply', () => {
  it('is reported in the text, the JSON and the exit codes of every command', async () => {
    await using workspace = await refused();
    const applied = await workspace.run('apply', '--auto-approve', '--strict');
    expect(applied.code, '--strict').toBe(1);
    expect(applied.stdout.replaceAll(/\s+/g, ' ')).toContain(KEPT);
    expect(applied.stdout).toContain('Applied: 1 updated. 1 not applied by the platform.');
    const writes = workspace.writes();

    const plan = await workspace.run('plan', '--detailed-exitcode');
    expect(plan.code).toBe(0);
    expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain(`Agent/day: ${KEPT}`);
    expect(plan.stdout).toContain('1 not applied by the platform.');
    expect((await workspace.run('plan', '--strict')).code).toBe(1);
    expect(JSON.parse((await workspace.run('plan', '--output', 'json')).stdout)).toMatchObject({
      summary: { noop: 1 },
      resources: [{ action: 'noop', not_applied: ['llm_config.temperature'] }],
    });

    const status = await workspace.run('status', '--detailed-exitcode');
    expect(status.code).toBe(2);
    expect(status.stdout).toMatch(/Agent\/day +not applied +kept by the platform: llm_config\.temperature/);
    expect(JSON.parse((await workspace.run('status', '--output', 'json')).stdout)).toMatchObject([
      { status: 'not applied', not_applied: ['llm_config.temperature'] },
    ]);

    const drift = await workspace.run('drift');
    expect(drift.code).toBe(0);
    expect(drift.stdout.replaceAll(/\s+/g, ' ')).toContain(KEPT);
    expect(drift.stdout).toContain('No drift. 1 not applied by the platform.');
    for (const { stdout } of [applied, plan, status, drift]) expect(stdout).not.toMatch(/in sync|as applied/);

    const again = await workspace.run('apply', '--auto-approve', '--output', 'json');
    expect(JSON.parse(again.stdout)).toMatchObject({
      resources: [{ action: 'noop', not_applied: ['llm_config.temperature'] }],
    });
    expect(workspace.writes()).toBe(writes);
  });

  it('is sent again with --retry-ignored, also by a saved plan', async () => {
    await using workspace = await refused();
    await workspace.run('apply', '--auto-approve');
    const writes = workspace.writes();
    const applied = await workspace.run('apply', '--auto-approve', '--retry-ignored', '--output', 'json');
    expect(JSON.parse(applied.stdout)).toMatchObject({
      resources: [{ action: 'update', result: 'done', not_applied: ['llm_config.temperature'] }],
    });
    expect(workspace.writes()).toBe(writes + 1);

    workspace.emulator.setBehaviour({ ignoredByPut: { fields: [] } });
    await workspace.run('plan', '--retry-ignored', '--out', 'plan.json');
    const misplaced = await workspace.run('apply', 'plan.json', '--auto-approve', '--retry-ignored');
    expect(misplaced.code).toBe(64);
    expect((await workspace.run('apply', 'plan.json', '--auto-approve')).code).toBe(0);
    expect((await workspace.run('plan')).stdout).toContain('1 resource is in sync.');
  });

  it('is accepted with the value of the platform', async () => {
    await using workspace = await refused();
    await workspace.run('apply', '--auto-approve');
    const accepted = await workspace.run('accept', '--auto-approve');
    expect(accepted.code).toBe(0);
    expect(await readFile(path.join(workspace.folder.root, 'manifests/a.yaml'), 'utf8')).toBe(manifest(0.7));
    expect((await workspace.run('plan')).stdout).toContain('1 resource is in sync.');
  });
});
