import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { step } from '../step.ts';
import { agentManifest, testWorkspace } from './workspace.ts';

const FILE = 'manifests/day.yaml';

describe('versions and rollback', () => {
  it('lists, shows and compares versions, and brings one back through the manifest', async () => {
    await using workspace = await testWorkspace({
      [FILE]: `# Who answers by day.\n${agentManifest('day', 'Be kind.')}`,
    });
    await workspace.run('apply', '--auto-approve');
    const agent = [...workspace.emulator.world.agents.values()][0]?.id ?? '';
    workspace.emulator.dashboard.publishAgent(agent);
    await workspace.folder.write(FILE, `# Who answers by day.\n${agentManifest('day', 'Be brief.')}`);
    await workspace.run('apply', '--auto-approve');
    workspace.emulator.dashboard.publishAgent(agent);

    await step('versions are listed, shown and compared', async () => {
      const listed = JSON.parse(
        (await workspace.run('versions', 'Agent/day', '--output', 'json')).stdout,
      ) as object[];
      expect(listed).toHaveLength(2);
      expect((await workspace.run('versions', 'Agent/day', '1')).stdout).toContain('prompt: Be kind.');
      const { stdout } = await workspace.run('versions', 'Agent/day', '1', '--diff', '2');
      expect(stdout).toMatch(/^-\s+prompt: Be kind\.$/m);
      expect(stdout).toMatch(/^\+\s+prompt: Be brief\.$/m);
      expect(stdout).toContain('--- Agent/day version 1\n+++ Agent/day version 2\n');
      expect(stdout, 'when a version was made is no difference').not.toMatch(
        /published_at|updated_at|^[-+]version/m,
      );
      const data = JSON.parse(
        (await workspace.run('versions', 'Agent/day', '1', '--diff', '2', '--output', 'json')).stdout,
      ) as object;
      expect(data).toMatchObject({ before: { version: 1 }, after: { version: 2 } });
      expect((await workspace.run('versions', 'Agent/day', '2', '--diff', '2')).stdout).toContain(
        'are identical',
      );
    });

    await step('a rollback edits the manifest alone, once approved', async () => {
      const dry = await workspace.run('rollback', 'Agent/day', '--to', '1', '--dry-run');
      expect(dry.stdout).toContain('+    prompt: "Be kind."');
      const file = path.join(workspace.folder.root, FILE);
      expect(await readFile(file, 'utf8')).toContain('Be brief.');
      const writes = workspace.writes();
      expect((await workspace.run('rollback', 'Agent/day', '--to', '1')).code).toBe(1);
      expect((await workspace.run('rollback', 'Agent/day', '--to', '1', '--auto-approve')).code).toBe(0);
      expect(await readFile(file, 'utf8')).toBe(`# Who answers by day.\n${agentManifest('day', 'Be kind.')}`);
      expect(workspace.writes()).toBe(writes);
      expect((await workspace.run('plan', '--detailed-exitcode')).code).toBe(2);
      expect((await workspace.run('rollback', 'Agent/day', '--to', '1', '--auto-approve')).stdout).toContain(
        'No managed field of Agent/day differs',
      );
    });

    await step('a version of another workspace is refused', async () => {
      workspace.emulator.dashboard.edit('agents', agent, { workspace_id: '01ANOTHER' });
      workspace.emulator.dashboard.publishAgent(agent);
      const foreign = await workspace.run('rollback', 'Agent/day', '--to', '3', '--auto-approve');
      expect(foreign).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('belongs to workspace 01ANOTHER'),
      });
    });
  });

  it('says what is wrong', async () => {
    await using workspace = await testWorkspace({ [FILE]: agentManifest('day') });
    await workspace.run('apply', '--auto-approve');
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['versions', 'Webhook/x'], 64, 'has no versions'],
      [['versions', 'Agent/dya'], 64, 'did you mean "Agent/day"?'],
      [['versions', 'Agent/day', '7'], 1, 'Agent/day has no published version 7'],
      [['versions', 'Agent/day', '--diff', '1'], 64, '--diff needs a version'],
      [['rollback', 'Agent/day', '--to', '7'], 1, 'Agent/day has no published version 7'],
      [['rollback', 'Agent/day'], 64, '--to'],
      [['rollback', 'Agent/nobody', '--to', '1'], 64, 'no manifest declares Agent/nobody'],
    ];
    for (const [args, expected, message] of cases) {
      const { code, stderr } = await workspace.run(...args);
      expect(stderr, args.join(' ')).toContain(message);
      expect(code, args.join(' ')).toBe(expected);
    }
  });
});
