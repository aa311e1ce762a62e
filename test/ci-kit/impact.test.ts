import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { agentManifest, testWorkspace } from '../cli/workspace.ts';
import { root, shipped, type Workflow } from './workflow.ts';

const workflow = shipped<Workflow>('examples/ci/github/impact.yml');

it('the daily check fails when a version made its calls worse, and not before', async () => {
  const worse = { session_outcome: { resolved: 0.5, escalated: 0.5 } };
  await using workspace = await testWorkspace(
    {
      'manifests/support.yaml': agentManifest('support-line'),
      'bin/voxform': `#!/bin/sh\nexec "${process.execPath}" "${root}/src/main.ts" "$@"\n`,
    },
    { seed: undefined, behaviour: { calls: { perDay: 50, days: 3, versions: { '3': worse } } } },
  );
  const bin = path.join(workspace.folder.root, 'bin');
  await chmod(path.join(bin, 'voxform'), 0o755);
  await workspace.run('apply', '--auto-approve');
  const publish = () =>
    workspace.emulator.dashboard.publishAgent([...workspace.emulator.world.agents.keys()][0] ?? '');
  const script = workflow.jobs.impact?.steps.find(({ run }) => run !== undefined)?.run ?? 'false';
  const check = () =>
    promisify(execFile)('bash', ['-e', '-c', script], {
      cwd: workspace.folder.root,
      env: {
        PATH: `${bin}:${process.env.PATH}`,
        HOME: workspace.folder.root,
        VOXFORM_API_KEY: 'key-of-the-test',
      },
    }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    );
  publish();
  expect(await check()).toMatchObject({ code: 0 });
  publish();
  expect(await check()).toMatchObject({ code: 0, stdout: expect.stringContaining('Version 1 to version 2') });
  publish();
  expect(await check()).toMatchObject({
    code: 2,
    stdout: expect.stringContaining('session_outcome=escalated'),
  });
});
