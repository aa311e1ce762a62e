import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { ciWorkflow } from '../../src/cli/actions/init-settings.ts';
import { VERSION } from '../../src/version.ts';
import { agentManifest } from '../cli/workspace.ts';
import { step } from '../step.ts';
import { GithubProject, type Request, sharedProject } from './github-project.ts';
import type { Workflow } from './workflow.ts';

const workflow = parse(ciWorkflow(VERSION)) as Workflow;
const request: Request = { number: 8, branch: 'night', title: 'Night' };

it('the workflow of a new project plans what is proposed, and applies what is merged, one job at a time', async () => {
  const held = { method: '', reached: Promise.withResolvers<void>(), goOn: Promise.withResolvers<void>() };
  const hold = (method: string) =>
    Object.assign(held, { method, reached: Promise.withResolvers(), goOn: Promise.withResolvers() });
  await using project = await GithubProject.open(
    (emulator) => sharedProject(emulator).replace('VOXFORM_API_KEY', 'LOCAL_API_KEY'),
    async ({ method }) => {
      if (method !== held.method) return undefined;
      held.method = '';
      held.reached.resolve();
      await held.goOn.promise;
      return undefined;
    },
  );
  const { repository, runner } = project;
  // In place of npm's: runs the voxform of this test where the one of this version is asked for.
  const npx = `#!/bin/sh\n[ "$1 $2" = "--yes voxform@${VERSION}" ] || exit 9\nshift 2\nexec voxform "$@"\n`;
  writeFileSync(path.join(repository.bin, 'npx'), npx, { mode: 0o755 });
  /** What the next job says that waits for the lock. */
  const waiting = () =>
    new Promise<string>((resolve) => {
      runner.onLog = (text) => {
        if (text.includes('waiting for the lock')) resolve(text);
      };
    });

  await step('a request is proposed', async () => {
    const proposed = await project.propose(workflow, request, {
      'manifests/night.yaml': agentManifest('night'),
    });
    expect(proposed.plan?.result, proposed.plan?.log).toBe('success');
    expect(proposed.plan?.summary).toContain('Agent/night');
    expect(project.writes()).toBe(0);
  });

  const edit = { 'manifests/day.yaml': agentManifest('day', 'Be brief.') };
  const { merged, pushed } = await step(
    'it is merged, and another push meanwhile: that job waits',
    async () => {
      hold('POST');
      const merged = project.merge(workflow, request);
      await held.reached.promise;
      const said = waiting();
      const pushed = project.push(workflow, edit);
      expect(await said).toContain('https://github.example/acme/voices/actions/runs/');
      return { merged, pushed };
    },
  );

  await step('the first job ends: the next one goes on', async () => {
    const first = held.goOn;
    hold('PUT');
    first.resolve();
    const { apply } = await merged;
    expect(apply?.result, apply?.log).toBe('success');
    await held.reached.promise;
    expect(project.created()).toEqual(['day', 'night']);
  });

  await step('it is killed: the one after it goes on once somebody has removed the lock', async () => {
    process.kill(repository.holderOf('test'), 'SIGKILL');
    expect((await pushed).apply?.result).toBe('failure');
    held.goOn.resolve();
    const said = waiting();
    const next = project.push(workflow, { 'manifests/dusk.yaml': agentManifest('dusk') });
    const [, id = ''] = /, lock ([0-9a-f-]+)/.exec(await said) ?? [];
    repository.voxform('state', 'unlock', id);
    const { apply } = await next;
    expect(apply?.result, apply?.log).toBe('success');
    expect(project.created()).toEqual(['day', 'dusk', 'night']);
    expect(repository.inState('test')).toEqual(['Agent/day', 'Agent/dusk', 'Agent/night']);
  });
});
